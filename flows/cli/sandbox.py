"""``cosqa sandbox``: checks the sandbox, runs a program in it, and removes what is left."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from flows.cli.lazy import examples
from flows.cli.output import console, say
from infra.settings import SandboxSettings, load_settings
from tasks.reports.text import visible
from tasks.stages import sandbox as stage

_LONGEST_CELL = 2_000

app = typer.Typer(
    name="sandbox",
    help="The sandbox that untrusted code runs in.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Program = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="The program to run.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
Code = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The code under test, which the program imports as target.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
Requirements = Annotated[
    list[str] | None,
    typer.Option(
        "--requirement",
        metavar="NAME",
        help="Distribution to install first. Repeat it for several.",
    ),
]
HashSeed = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of hashes and of random numbers."),
]
Clock = Annotated[
    datetime | None,
    typer.Option(
        metavar="TIME",
        help="Date and time at which the program begins, in UTC, such as 2026-01-31T12:00:00; "
        "2026-01-01 when not given.",
    ),
]
Everything = Annotated[
    bool,
    typer.Option(
        "--all", help="Also boxes of running processes, and the cache of downloaded wheels."
    ),
]


@app.command(epilog=examples("cosqa sandbox check"))
def check() -> None:
    """Check the Docker engine, the image and all behaviours that a sandbox must have."""
    settings = load_settings().sandbox
    if not asyncio.run(_check(settings)):
        raise typer.Exit(1)


async def _check(settings: SandboxSettings) -> bool:
    say(await stage.description(settings))
    console.print(_limits(settings))
    table = Table("behaviour", "", "problem", title_justify="left")
    failed = total = 0
    with console.status("checking behaviours"):
        async for finding in stage.check_behaviours(settings):
            total += 1
            failed += not finding.ok
            table.add_row(
                finding.name, "[green]ok[/]" if finding.ok else "[red]no[/]", _shown(finding.detail)
            )
    console.print(table)
    console.print(f"{total - failed} of {total} checks passed.")
    return not failed


def _limits(settings: SandboxSettings) -> Table:
    table = Table("limit", "value", title_justify="left")
    for name, field in SandboxSettings.model_fields.items():
        table.add_row(name, _shown(str(getattr(settings, name))), field.description or "")
    return table


def _shown(text: str) -> Text:
    """Return a cell of a table whose text is neither markup nor hidden."""
    return Text(visible(text, _LONGEST_CELL))


@app.command(
    epilog=examples(
        "cosqa sandbox run program.py --code function.py",
        "cosqa sandbox run program.py --requirement numpy --hash-seed 1",
    )
)
def run(
    program: Program,
    code: Code = None,
    requirement: Requirements = None,
    hash_seed: HashSeed = 0,
    clock: Clock = None,
) -> None:
    """Run a program in the sandbox and print its result as JSON; exit status 0 if it passed."""
    result = asyncio.run(
        stage.run_program(
            load_settings().sandbox,
            program,
            code,
            requirement or [],
            hash_seed,
            clock.replace(tzinfo=UTC).timestamp() if clock else None,
        )
    )
    # Nothing but ASCII: what a program prints must not steer the terminal or turn its text around.
    shown = json.dumps(result.model_dump(), indent=2).replace("\x7f", "\\u007f")
    console.print(shown, markup=False, emoji=False)
    if result.outcome != "passed":
        raise typer.Exit(1)


@app.command(epilog=examples("cosqa sandbox clean", "cosqa sandbox clean --all"))
def clean(*, everything: Everything = False) -> None:
    """Remove containers and volumes that processes which have ended left behind."""
    removed = asyncio.run(stage.clean(load_settings().sandbox, everything=everything))
    console.print(f"removed {removed} containers and volumes")
