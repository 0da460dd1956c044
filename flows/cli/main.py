"""The command line: every flow as a command with the same options."""

import inspect
import logging
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from flows.cli import sandbox as sandbox_cli
from flows.cli.annotators import app as annotators
from flows.cli.leaderboard import diff, leaderboard
from flows.cli.options import settings_from
from flows.cli.suites import suite
from infra.errors import CosqaError
from infra.settings import Settings, load_settings
from infra.settings.reference import settings_reference

app = typer.Typer(
    name="cosqa",
    help="Builds, maintains and evaluates multi-choice code-search benchmarks.\n\n"
    "Each command does what is left to do and nothing twice: run it again after a crash, with new "
    "queries, or with another model. Settings that have no option here are read from cosqa.toml "
    "and from the environment (COSQA_LLM__API_KEY, COSQA_SANDBOX__MEMORY_MB, ...).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only print how many pairs there are and what they may cost."),
]
Replay = Annotated[
    bool,
    typer.Option(
        "--replay",
        help="Only derive all labels of the store again from stored replies and runs, and compare.",
    ),
]
Flow = Callable[[Settings], object]


def _flow(name: str) -> Flow:
    """Return a flow, imported on first use: ``--help`` must not wait for Prefect."""
    from importlib import import_module  # noqa: PLC0415

    flow: Flow = getattr(import_module(f"flows.{name}"), name)
    return flow


def _run(name: str, settings: Settings) -> None:
    from flows.runtime.prefect_server import prefect_api  # noqa: PLC0415 - see `_flow`

    with prefect_api(meanwhile=lambda: _flow(name)):
        from flows.cli.console import print_outcome, quieten_expected_errors  # noqa: PLC0415
        from tasks.stages.report import pieces_of_work  # noqa: PLC0415

        quieten_expected_errors()
        before = pieces_of_work(settings.store)
        outcome = _flow(name)(settings)
    print_outcome(outcome, worked=pieces_of_work(settings.store) > before)


def _command(name: str, **switches: object) -> Callable[..., None]:
    """Return a command with the options of `settings_from` and switches that print instead."""

    def command(
        *,
        dry_run: bool = False,
        replay: bool = False,
        **options: Any,  # noqa: ANN401 - see `settings_from`
    ) -> None:
        settings = settings_from(**options)
        if dry_run:
            from flows.cli.pipeline import print_estimate  # noqa: PLC0415 - see `_flow`

            print_estimate(settings)
        elif replay:
            from flows.cli.pipeline import print_replay  # noqa: PLC0415 - see `_flow`

            print_replay(settings)
        else:
            _run(name, settings)

    parameters = [
        *inspect.signature(settings_from).parameters.values(),
        *(
            inspect.Parameter(
                switch, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind
            )
            for switch, kind in switches.items()
        ),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


for _name, _help in {
    "benchmark": "The whole road: collect, annotate, publish, evaluate.",
    "collect": "Read queries and functions, embed them, find the candidates of every query.",
    "annotate": "Let the agents judge every candidate that they have not judged yet.",
    "publish": "Export the labelled benchmarks: Parquet, BEIR, manifest, dataset card.",
    "evaluate": "Score retrieval methods on the exported benchmarks and write the report.",
}.items():
    _more = {"replay": Replay} if _name == "annotate" else {}
    app.command(_name, help=_help)(_command(_name, dry_run=DryRun, **_more))

app.add_typer(annotators, name="annotators")
app.add_typer(sandbox_cli.app)
app.command("leaderboard")(leaderboard)
app.command("diff")(diff)
app.add_typer(suite, name="suite")


@app.command("settings")
def show_settings() -> None:
    """Print all settings in force as a commented cosqa.toml."""
    typer.echo(settings_reference(load_settings()))


def main() -> None:
    """Run the command line; an expected error is one message and exit status 1."""
    logging.captureWarnings(capture=True)
    try:
        app()
    except CosqaError as error:
        from flows.cli.console import errors  # noqa: PLC0415 - see `_flow`

        errors.print("error:", style="bold red", end=" ")
        errors.print(str(error), markup=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
