"""Seconds and memory of publishing, evaluating and reporting at the published benchmark's size.

    python -m tests.bench.bench_full_store [--scale 1] [--folder FOLDER] [--methods bm25 made-up]

Runs the real commands over a made-up store (`tests.bench.made_up_store`), each in a process of its
own: `cosqa publish`, `cosqa evaluate` (with the report) for each method; then `publish`,
`evaluate`, `annotate` and all of them in one, `benchmark`, which find nothing to do. Memory is the
most that a command's processes held at once, Prefect's server and Ray's included, looked at from
outside every 0.2 s; shared pages count once. Limits: 4 GB each, 90 s to publish, 20 s for
`benchmark` with nothing to do. ``--folder`` keeps the store, and takes one that is
there, whose exports are removed first.
"""

import os
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from infra.settings import Settings
from tests.bench.commands import COSQA, Watch
from tests.bench.made_up_store import Sizes, made_up, options_of

LIMIT_GB, PUBLISH_S, NOTHING_S = 4, 90, 20


class Cost(NamedTuple):
    """What a command took, and what it printed."""

    seconds: float
    peak_gb: float
    printed: str


def measured(command: Sequence[str], settings: Settings, methods: Sequence[str] = ()) -> Cost:
    """Run a command of the product over a store to its end."""
    options = [
        *("--source", "jsonl", "--path", str(settings.source.options["path"])),
        *("--encoder", settings.search.encoders[0], "--top-k", str(settings.search.top_k)),
        *("--store", str(settings.store.folder)),
        *(() if "annotate" in command else ("--output", str(settings.publish.folder))),
        *(word for method in methods for word in ("--method", method)),
    ]
    watch = Watch(pause_s=0.2)
    done = watch.run([COSQA, *command, *options], _environment(settings))
    return Cost(done.seconds, watch.peak(done.started, done.ended) / 1e9, done.printed)


def _environment(settings: Settings) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COSQA_")}
    key = settings.llm.api_key
    return clean | {
        "COSQA_LLM__MODEL": settings.llm.model,
        "COSQA_LLM__API_KEY": key.get_secret_value() if key else "",
        "COSQA_ANNOTATION__CONFIGURATION": settings.annotation.configuration,
        "COSQA_ANNOTATION__GOLD_QUESTIONS": str(settings.annotation.gold_questions),
        "COSQA_STORE__LOCK_TIMEOUT_S": "120",
    }


def main() -> None:
    """Make the store, run the commands and print a row for each."""
    parser = options_of(__doc__)
    parser.add_argument("--methods", nargs="*", default=["bm25", "made-up"])
    parser.add_argument("--printed", action="store_true", help="show what the commands print")
    options = parser.parse_args()
    with made_up(options.folder, options.scale) as settings:
        shutil.rmtree(settings.publish.folder, ignore_errors=True)
        _measure(settings, options.methods, options.scale, show=options.printed)


def _measure(settings: Settings, methods: Sequence[str], scale: float, *, show: bool) -> None:
    encoder = settings.search.encoders[0]
    chosen = [encoder if method == "made-up" else method for method in methods]
    runs: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [("publish", ("publish",), ())]
    runs += [(f"evaluate {name}", ("evaluate",), (name,)) for name in chosen]
    runs += [
        ("publish, nothing to do", ("publish",), ()),
        ("evaluate, nothing to do", ("evaluate",), tuple(chosen)),
        ("annotate, nothing to do", ("annotate",), ()),
        ("benchmark, nothing to do", ("benchmark",), tuple(chosen)),
    ]
    limits = {"publish": PUBLISH_S, "benchmark, nothing to do": NOTHING_S}
    table = Table(title=f"{Sizes.of(scale)}, of a made-up store", title_justify="left")
    for column in ("command", "seconds", "peak GB", "limits"):
        table.add_column(column, justify="left" if column in ("command", "limits") else "right")
    for name, command, ranked in runs:
        cost = measured(command, settings, ranked)
        is_idle = "nothing" in name
        did = is_idle and "Nothing was left to do" not in cost.printed
        limit = f"{LIMIT_GB} GB" + (f", {limits[name]} s" if name in limits else "")
        shown = name.partition("=")[0] + (" (but did something)" if did else "")
        table.add_row(shown, f"{cost.seconds:.1f}", f"{cost.peak_gb:.2f}", limit)
        if show:
            print(cost.printed)
    Console().print(table)


if __name__ == "__main__":
    main()
