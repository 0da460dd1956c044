"""``cosqa sandbox``: checks the sandbox, and removes what is left."""

import asyncio

import typer
from rich.table import Table
from rich.text import Text

from flows.cli.output import console, say
from infra.settings import SandboxSettings
from tasks.reports.text import visible
from tasks.stages import sandbox as stage

_LONGEST_CELL = 2_000


def check(settings: SandboxSettings, language: str) -> None:
    """Check the Docker engine, the image and all behaviours that a language's boxes must have."""
    if not asyncio.run(_check(settings, language)):
        raise typer.Exit(1)


async def _check(settings: SandboxSettings, language: str) -> bool:
    say(await stage.description(settings))
    table = Table("behaviour", "", "problem", title_justify="left")
    with console.status("checking behaviours"):
        results = await stage.check_behaviours(settings, language)
    for result in results:
        ok = "[green]ok[/]" if result.ok else "[red]no[/]"
        table.add_row(result.name, ok, _shown(result.detail))
    console.print(table)
    passed = sum(result.ok for result in results)
    console.print(f"{passed} of {len(results)} checks passed.")
    return passed == len(results)


def _shown(text: str) -> Text:
    """Return a cell of a table whose text is neither markup nor hidden."""
    return Text(visible(text, _LONGEST_CELL))


def clean(settings: SandboxSettings, *, everything: bool) -> None:
    """Remove containers and volumes that processes which have ended left behind."""
    removed = asyncio.run(stage.clean(settings, everything=everything))
    console.print(f"removed {removed} containers and volumes")
