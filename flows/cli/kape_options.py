"""The options of ``cosqa study kape``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.input_options import default
from flows.cli.options import Checkpoints, Output, Store
from flows.cli.pairs import named_folders
from infra.errors import SettingsError
from infra.settings import SearchSettings, Settings, load_settings
from tasks.encoders import SYNTAX, encoders

Data = Annotated[
    list[str],
    typer.Option(
        "--data",
        metavar="NAME=FOLDER",
        help="Data set: a folder with training pairs (train, train.jsonl) and test pairs (test, "
        'test.jsonl), as JSON Lines of {"query": "...", "code": "..."}, as CodeSearchNet publishes '
        "them, or as a BEIR folder. Repeat it for several.",
        rich_help_panel="Input",
    ),
]
Encoders = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help=f"Model whose scores are estimated: one of {', '.join(encoders)}; or {SYNTAX}. "
        "Repeat it for several, which are then ordered by KAPE and by the truth.",
        show_default=default(SearchSettings, "encoders"),
        rich_help_panel="Scoring",
    ),
]


@dataclass(frozen=True)
class KapeOptions:
    """What ``cosqa study kape`` is to do."""

    data: dict[str, Path]
    settings: Settings


def study_kape(
    *,
    data: Data,
    encoder: Encoders = None,
    checkpoint: Checkpoints = None,
    store: Store = None,
    output: Output = None,
) -> KapeOptions:
    """Return what ``cosqa study kape`` is to do.

    Raises:
        SettingsError: A data set has no folder, or one name stands for two.
    """
    folders = {name: Path(folder) for name, folder in (named_folders("--data", data) or {}).items()}
    if len(folders) < len(data):
        names = [each.partition("=")[0] for each in data]
        repeated = next(name for name in names if names.count(name) > 1)
        raise SettingsError(f"--data {repeated} is given twice: give each folder a name of its own")
    settings = load_settings(
        {
            "search": {"encoders": encoder or None},
            "encoder": {"checkpoints": named_folders("--checkpoint", checkpoint or [])},
            "store": {"folder": store},
            "publish": {"folder": output},
        }
    )
    return KapeOptions(folders, settings)
