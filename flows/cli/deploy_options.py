"""The options of ``cosqa deploy`` and ``cosqa server``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from infra.deploy import POOL
from infra.errors import SettingsError

_WHERE, _WHAT = "Where runs work", "What is registered"
_WORK_IN = (
    "Folder in which runs work: their cosqa.toml, and what relative paths start from, such as "
    "those of store and output."
)


@dataclass(frozen=True)
class DeployOptions:
    """What ``cosqa deploy`` is to do.

    Attributes:
        pool: Name of the work pool.
        pool_type: Its type.
        folder: Folder in which runs work.
        schedules: Whether schedules are active; None leaves those that are there.
        prune: Whether to remove what this program registered once and does not know any more.
        as_yaml: Whether to print prefect.yaml instead.
    """

    pool: str
    pool_type: Literal["process", "docker", "kubernetes"]
    folder: Path
    schedules: bool | None
    prune: bool
    as_yaml: bool


@dataclass(frozen=True)
class ServerOptions:
    """Where ``cosqa server`` listens and where its runs work."""

    port: int
    folder: Path


Folder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help=f"{_WORK_IN} For other pools than process, in the container.",
        show_default="this folder",
        rich_help_panel=_WHERE,
    ),
]
ServerFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help=_WORK_IN, show_default="this folder", rich_help_panel=_WHERE
    ),
]
Pool = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Work pool of the deployments; made if there is none of that name.",
        rich_help_panel=_WHERE,
    ),
]
PoolType = Annotated[
    Literal["process", "docker", "kubernetes"],
    typer.Option(
        help="How the pool's workers start runs; infra/deploy/README.md explains all three.",
        rich_help_panel=_WHERE,
    ),
]
Schedules = Annotated[
    bool | None,
    typer.Option(
        "--schedules/--no-schedules",
        help="Switch the nightly and weekly schedules on or off.",
        show_default="new ones on, others as they are",
        rich_help_panel=_WHAT,
    ),
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune",
        help="Remove deployments and automations that an earlier version registered and this one "
        "does not have.",
        rich_help_panel=_WHAT,
    ),
]
AsYaml = Annotated[
    bool,
    typer.Option(
        "--yaml",
        help="Print prefect.yaml for `prefect deploy --all`, and register nothing.",
        rich_help_panel="Instead of registering",
    ),
]
Port = Annotated[
    int, typer.Option(min=1024, max=65535, metavar="N", help="Port of the server on loopback.")
]


def deploy(
    *,
    folder: Folder = None,
    pool: Pool = POOL,
    pool_type: PoolType = "process",
    schedules: Schedules = None,
    prune: Prune = False,
    as_yaml: AsYaml = False,
) -> DeployOptions:
    """Return what ``cosqa deploy`` is to do.

    Raises:
        SettingsError: The folder is not there.
    """
    place = _existing(folder) if pool_type == "process" or not folder else folder
    return DeployOptions(pool, pool_type, place, schedules, prune, as_yaml)


def server(*, port: Port = 4200, folder: ServerFolder = None) -> ServerOptions:
    """Return what ``cosqa server`` is to do.

    Raises:
        SettingsError: The folder is not there.
    """
    return ServerOptions(port, _existing(folder))


def _existing(folder: Path | None) -> Path:
    found = (folder or Path.cwd()).absolute()
    if not found.is_dir():
        raise SettingsError(f"--folder {found} is not a folder: make it, or name another")
    return found
