"""``cosqa sandbox``: checks the sandbox, and removes what is left."""

from typing import Annotated, Literal

import typer

from flows.cli.output import command, console, group, say
from tasks.reports.text import visible

app = group("Check the sandbox that untrusted code runs in, and clean it up.")
_LONGEST_CELL = 2_000


@command(app, "cosqa sandbox check", "cosqa sandbox check --language go", name="check")
def sandbox_check(
    language: Annotated[
        Literal["python", "javascript", "go"],
        typer.Option(help="The language whose boxes are checked; its image is made if need be."),
    ] = "python",
) -> None:  # fmt: skip
    """Check the Docker engine, the image and all behaviours that a sandbox must have."""
    import asyncio

    from rich.table import Table
    from rich.text import Text

    from infra.settings import load_settings
    from tasks.stages import sandbox

    settings = load_settings().sandbox
    say(asyncio.run(sandbox.description(settings)))
    table = Table("behaviour", "", "problem", title_justify="left")
    with console.status("checking behaviours"):
        results = asyncio.run(sandbox.check_behaviours(settings, language))
    for result in results:
        ok = "[green]ok[/]" if result.ok else "[red]no[/]"
        table.add_row(result.name, ok, Text(visible(result.detail, _LONGEST_CELL)))
    console.print(table)
    passed = sum(result.ok for result in results)
    console.print(f"{passed} of {len(results)} checks passed.")
    if passed < len(results):
        raise typer.Exit(1)


@command(app, "cosqa sandbox clean", "cosqa sandbox clean --all", name="clean")
def sandbox_clean(
    *,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also boxes of running processes, and the cache of downloaded wheels."
        ),
    ] = False,
) -> None:
    """Remove containers and volumes that processes which have ended left behind."""
    import asyncio

    from infra.settings import load_settings
    from tasks.stages import sandbox

    removed = asyncio.run(sandbox.clean(load_settings().sandbox, everything=everything))
    console.print(f"removed {removed} containers and volumes")
