"""The commands that run no flow: the server, pages of pairs, names, suites.

Each is a Typer function; what it does is imported when it runs, so ``--help`` is quick.
"""

import inspect
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows import options as o
from flows.cli.commands import challenge_app
from flows.cli.help import Command, Group
from flows.cli.output import command, examples, group, print_document, say
from flows.options import settings_of
from infra.errors import SettingsError

if TYPE_CHECKING:
    from tasks.browse.labelling import Labelling
    from tasks.browse.opened import ExportSnapshot, StoreSnapshots
    from tasks.suites import Suite

app = typer.Typer(rich_markup_mode="rich")


class _Suites(Group):
    """The group of suites, whose commands are made when it is entered."""

    def complete(self) -> None:
        """Add a command for each suite."""
        from tasks.suites import suites

        made = typer.Typer()
        for name in suites:
            _add_suite(made, name, suites.get(name))
        self.commands.update(typer.main.get_group(made).commands)
        super().complete()

    def make_context(self, *words: Any, **more: Any) -> Any:  # noqa: ANN401 - as Typer's
        """Add the commands before one of them is looked up."""
        self.complete()
        return super().make_context(*words, **more)


suite_app = group("Score other people's evaluation suites from their own files.", _Suites)
Kind = Literal[
    "sources", "filters", "formats", "encoders", "methods", "metrics", "models", "suites",
    "studies", "estimators", "languages", "configurations", "presets",
]  # fmt: skip


@command(app, "cosqa server", "cosqa server --port 4300 --folder /srv/cosqa", panel="Run")
def server(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder in which runs work: their cosqa.toml, and what relative paths start from, "
            "such as those of store and output; this folder when not given."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1024, max=65535, help="Port of the server on loopback.")
    ] = 4200,
) -> None:
    """Run a Prefect server, its deployments and a worker on this machine, until Ctrl-C.

    The UI shows runs and starts them; those of annotate, each night's too, spend the budget that
    prefect.yaml names and no more; those of benchmark wait there until a person approves their
    plan. The server listens on loopback and
    keeps its database in PREFECT_HOME, or where PREFECT_API_DATABASE_CONNECTION_URL says. The
    deployments are those of prefect.yaml: what people changed of them in the UI is lost with each
    start.
    """
    place = (folder or Path.cwd()).absolute()
    if not place.is_dir():
        raise SettingsError(f"--folder {place} is not a folder: make it, or name another")
    from flows.cli.server import serve

    serve(place, port)


@command(app, "cosqa pair 1f0c9a 77b2e4", panel="Run")
def pair(
    query: Annotated[str, typer.Argument(help="How the query's id begins, or a part of its text.")],
    code: Annotated[str, typer.Argument(help="How the code's id begins, or a part of its text.")],
    store: o.Store = None,
) -> None:
    """Show how a pair was judged: its texts, each label, all calls and executions."""
    if not (query and code):
        raise SettingsError("a pair is named by the ids of its query and of its code")
    from flows.cli import show

    show.pair(settings_of(pair, locals()).store, query, code)


@command(
    app,
    "cosqa browse",
    "cosqa browse cosqa-benchmarks/cosqa-agents",
    "cosqa browse --bundle pages",
    panel="Run",
)
def browse(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="Exported folder, or one in BEIR's form, to show in place of the store."
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen at. Beyond this machine a token is demanded, which is printed."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1024, max=65535, help="Port to listen at.")] = 4280,
    bundle: Annotated[
        Path | None,
        typer.Option(
            help="Write the pages as a static folder, which a browser opens without a server."
        ),
    ] = None,
    store: o.Store = None,
) -> None:
    """Browse pairs with their evidence on local pages, and label samples there.

    Pages show pairs by status, label, path, model and text; a pair with its code, verdicts,
    programs, tests and mutants; a query with its candidates; methods by query. They answer from a
    copy of the store, which is renewed when the store has changed. Samples of `cosqa label sample`
    are labelled there by keyboard, blind first. Programs that people write run in a box.
    """
    from infra.store import open_database, require_store
    from tasks.browse.labelling import Labelling
    from tasks.browse.opened import ExportSnapshot, StoreSnapshots
    from tasks.browse.pages import write_bundle
    from tasks.reports.text import counted

    settings = settings_of(browse, locals())
    if not folder:
        require_store(settings.store)
    browsed = ExportSnapshot(folder) if folder else StoreSnapshots(settings.store)
    if bundle:
        pages = write_bundle(browsed.current(), bundle)
        say(f"{counted(pages, 'pages')}: {bundle}")
    else:
        labels = None if folder else Labelling(open_database(settings.store), settings.sandbox)
        _serve_pages(browsed, labels, host, port)


def _serve_pages(
    browsed: "ExportSnapshot | StoreSnapshots", labels: "Labelling | None", host: str, port: int
) -> None:
    """Serve the pages until Ctrl-C.

    Raises:
        SettingsError: The address cannot be listened at.
    """
    import uvicorn

    from tasks.browse.app import browse_app
    from tasks.browse.guard import Guard, is_loopback, new_token

    guard = Guard(host, port, "" if is_loopback(host) else new_token())
    config = uvicorn.Config(
        browse_app(browsed, guard, labels), log_level="warning", server_header=False,
        proxy_headers=False, ws="none",
    )  # fmt: skip
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"{host} port {port} cannot be listened at ({error.strerror}): end what does, or "
            "choose another with --host and --port"
        ) from error
    with bound:
        say(f"The pages are at {guard.address}\nCtrl-C ends them.")
        uvicorn.Server(config).run(sockets=[bound])


@command(
    app,
    "cosqa settings > cosqa.toml",
    "cosqa settings --preset cosqa-plus-v2",
    name="settings",
    panel="Run",
)
def print_settings(preset: o.Preset = None, sets: o.Set = None) -> None:
    """Print all settings in force as a commented cosqa.toml."""
    from flows.cli import show

    show.settings(settings_of(print_settings, locals()))


@command(app, "cosqa list methods", name="list", panel="Run")
def list_names(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
) -> None:
    """List the registered names of one kind, with what they mean."""
    from flows.cli import show

    show.names(kind)


def _add_suite(app: typer.Typer, name: str, kind: type["Suite"]) -> None:
    """Add the command of a suite, whose options are the fields of the suite's model."""

    def run(**values: object) -> None:
        from tasks.reports.document import Document, Table

        figures = kind().figures(kind.Options(**values))
        document = Document("", [Table(figures.columns, figures.rows), *figures.notes])
        print_document(document, rest="a wider terminal, or a file: `cosqa suite ... > file`")

    parameters, words = [], ["cosqa suite", name]
    for key, field in kind.Options.model_fields.items():
        shown: Mapping[str, Any] = {"help": field.description}
        is_placed = key in kind.Options.arguments
        asked = typer.Argument(**shown) if is_placed else typer.Option(**shown)
        default = inspect.Parameter.empty if field.is_required() else field.default
        parameters.append(
            inspect.Parameter(
                key, inspect.Parameter.KEYWORD_ONLY, default=default,
                annotation=Annotated[field.annotation, asked],
            )
        )  # fmt: skip
        if field.is_required():
            words += [] if is_placed else [f"--{key.replace('_', '-')}"]
            words += map(str, (field.examples or [key])[:1])
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    summary = (kind.__doc__ or "").partition("\n")[0]
    app.command(name, cls=Command, help=summary, epilog=examples(" ".join(words)))(run)


@command(
    challenge_app,
    "cosqa challenge write-corpus repositories data",
    name="write-corpus",
)
def write_corpus(
    repositories: Annotated[Path, typer.Argument(help="Folder of unpacked repositories.")],
    data: Annotated[
        Path,
        typer.Argument(
            help="Folder that gets the corpus; its list of repositories, if it has one, names them."
        ),
    ],
) -> None:
    """Cut the Java files of repositories into methods, as Neural Code Search's corpus lists them.

    The corpus holds places of methods and no text; `--source neural-code-search` reads both.
    """
    from tasks.corpus.neural_code_search import write_corpus as write
    from tasks.reports.text import tally

    say(f"{data}: {tally(write(repositories, data))}")
