"""The commands that run no flow: people's labels, the store, the sandbox, the server, names.

Each is a Typer function; what it does is imported when it runs, so ``--help`` is quick.
"""

import inspect
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from flows import options as o
from flows.cli.commands import challenge_app
from flows.cli.help import Command, Group
from flows.cli.output import command, examples, print_document, say
from flows.options import settings_of
from infra.errors import SettingsError

if TYPE_CHECKING:
    from infra.settings import Settings
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


def _group(about: str) -> typer.Typer:
    return typer.Typer(cls=Group, rich_markup_mode="rich", no_args_is_help=True, help=about)


label_app = _group("Let people label samples of pairs on sheets, and read them back.")
store_app = _group("Check the store, back it up and restore it.")
suite_app = typer.Typer(
    cls=_Suites, rich_markup_mode="rich", no_args_is_help=True,
    help="Score other people's evaluation suites from their own files.",
)  # fmt: skip
sandbox_app = _group("Check the sandbox that untrusted code runs in, and clean it up.")

Kind = Literal[
    "sources", "filters", "formats", "encoders", "methods", "metrics", "models", "suites",
    "studies", "estimators", "languages", "configurations", "presets",
]  # fmt: skip
Annotators = Annotated[
    list[str],
    typer.Option(
        "--annotator",
        help="Name of a person who gets a sheet; letters, digits, and . _ - between them. Repeat "
        "it for several.",
    ),
]

Seed = Annotated[int | None, typer.Option(help="Seed of the draw; annotation.seed when not given.")]


def _of(folder: Path | None) -> "Settings":
    """Return the settings with another folder of the store, where one is given."""
    from infra.settings import load_settings

    return load_settings({"store": {"folder": folder}} if folder else None)


@command(
    label_app,
    "cosqa label sample --pairs 400 --annotator ann --annotator bob",
    "cosqa label sample --queries 50 --annotator ann",
    "cosqa label sample --answers 23 --benchmark DIR --annotator ann",
    "cosqa label sample --stratum undecided --criterion half --annotator ann",
    "cosqa label sample --conflicts-of s1f0c9a --annotator cam",
    name="sample",
)
def label_sample(
    annotators: Annotators,
    pairs: Annotated[int, typer.Option(min=1, help="Candidate pairs to draw.")] = 400,
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Draw this many queries, with all their judged pairs, instead."),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Draw this many queries of --benchmark, with each method's first code, instead.",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(help="Whose candidates are drawn, if the store has several collections."),
    ] = None,
    benchmark: Annotated[
        Path | None, typer.Option(help="Benchmark of --answers, exported or BEIR.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            help="Run of a method on the benchmark, in TREC's form; its file's name names the "
            "method. Those of cosqa leaderboard and evaluate when not given.",
        ),
    ] = None,
    stratum: Annotated[
        Literal["disagreement", "undecided", "top"] | None,
        typer.Option(
            help="Draw --pairs of candidates with several labels by rounds or former settings "
            "(disagreement), of those that the agents left undecided, or of the first ten results "
            "of each method on --benchmark (top); of all candidates when not given.",
        ),
    ] = None,
    criterion: Annotated[
        Literal["exact", "half"],
        typer.Option(
            help="What a grade of 1 says: the code answers the whole query, or meets half of its "
            "demands. A sample has one; results of half are not mixed with those of exact.",
        ),
    ] = "exact",
    graded: Annotated[
        bool, typer.Option("--graded", help="Ask for grades of 0 to 3 in place of 0 and 1.")
    ] = False,
    seed: Seed = None,
    sample: Annotated[
        str | None, typer.Option(help="Write further sheets of this sample; none is drawn.")
    ] = None,
    conflicts_of: Annotated[
        str | None,
        typer.Option(help="Write sheets of what people disagree on in this sample, for one more."),
    ] = None,
    output: o.Output = None,
    store: o.Store = None,
) -> None:
    """Draw pairs at random for people to label, and write a blind sheet for each person.

    A sheet has query and code and nothing that others say of them, in an order of the person's own.
    Fill in grade (? for undecided), notes (quality, ambiguity, project_specific,
    direction_reversed), comment, minutes, and a test program that may `import target`, the code.
    Two people label all pairs, a third what they disagree on.
    """
    settings = settings_of(label_sample, locals())
    if sample and conflicts_of:
        raise SettingsError("--sample and --conflicts-of: leave one of them out")
    if (answers or stratum == "top") and not benchmark:
        raise SettingsError(
            "--answers and --stratum top are of methods on a benchmark: name it with --benchmark"
        )
    if bool(queries) + bool(answers) + bool(stratum) > 1:
        raise SettingsError("--queries, --answers and --stratum: a sample has one of them")
    if graded and criterion == "half":
        raise SettingsError("--graded asks for grades of 0 to 3, which --criterion half has not")
    from flows.cli.label import names_of, write
    from infra.store import open_database, samples
    from tasks.stages.label.sample import Drawing, sample_candidates, sample_results
    from tasks.stages.label.sheets import positions_in_conflict

    names, database = names_of(annotators), open_database(settings.store)
    drawing = Drawing(
        number=queries or answers or pairs,
        stratum=stratum or ("queries" if queries else "answers" if answers else "pairs"),
        seed=settings.annotation.seed if seed is None else seed,
        scale="graded" if graded else "binary",
        criterion=criterion,
    )
    positions: Collection[int] = ()
    if further := sample or conflicts_of:
        drawn = samples.load_sample(database, further)
        positions = positions_in_conflict(database, drawn, names) if conflicts_of else ()
    elif benchmark and drawing.stratum in ("answers", "top"):
        drawn = sample_results(database, benchmark, runs or (), drawing, settings.publish)
    else:
        drawn = sample_candidates(database, collection or "", drawing)
    write(database, drawn, names, settings.publish.folder, positions)


@command(
    label_app,
    "cosqa label preference mine CoSQA/cosqa-dev.json --annotator ann",
    name="preference",
)
def label_preference(
    ours: Annotated[
        Path,
        typer.Argument(
            help="The benchmark whose share of wins is wanted: exported, BEIR, or a file of pairs."
        ),
    ],
    theirs: Annotated[Path, typer.Argument(help="The benchmark to compare with.")],
    annotators: Annotators,
    queries: Annotated[int, typer.Option(min=1, help="Queries to draw at most.")] = 1_000,
    seed: Seed = None,
    output: o.Output = None,
    store: o.Store = None,
) -> None:
    """Draw two codes a query, one of each benchmark, and write sheets on which people choose.

    Which code is A and which B is random. `cosqa label read` prints how often the first benchmark's
    is preferred, with an interval.
    """
    settings = settings_of(label_preference, locals())
    from flows.cli.label import names_of, write
    from infra.store import open_database
    from tasks.stages.label.sample import sample_preference

    names, database = names_of(annotators), open_database(settings.store)
    chosen = settings.annotation.seed if seed is None else seed
    drawn = sample_preference(database, ours, theirs, queries, chosen)
    write(database, drawn, names, settings.publish.folder)


@command(
    label_app,
    "cosqa label read ann.csv bob.csv",
    name="read",
)
def label_read(
    sheets: Annotated[
        list[Path],
        typer.Argument(help="Sheets that people filled in, of one sample.", metavar="FILE..."),
    ],
    store: o.Store = None,
) -> None:
    """Read sheets that people filled in; print how far they agree, and what they say.

    All rows of all files are stored, or none. Test programs run in a box of the sandbox, and are
    stored with their results. What one person says is not shown before all pairs given to that
    person have a label.
    """
    from flows.cli.label import read

    settings = _of(store)
    read(settings.store, settings.sandbox, sheets)


@command(
    label_app,
    "cosqa label results s1f0c9a",
    "cosqa label results s1f0c9a --truth people.jsonl",
    name="results",
)
def label_results(
    sample: Annotated[str, typer.Argument(help="Its id, as `cosqa label sample` printed it.")],
    truth: Annotated[
        Path | None,
        typer.Option(
            "--truth",
            help="File to write the majority's labels to, each person's beside, as "
            "`cosqa compare-annotators` reads them.",
        ),
    ] = None,
    epsilon: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="What the agents may be worse by than a person, in the test whether they may "
            "stand in for one: .2 in place of experts, .1 of a crowd.",
        ),
    ] = 0.2,
    estimate: Annotated[
        Path | None,
        typer.Option(
            help="Folder that `cosqa estimate` wrote, of the methods whose answers were labelled: "
            "prints KAPE's order of them beside the people's.",
        ),
    ] = None,
    store: o.Store = None,
) -> None:
    """Print how far people agree on a sample, how right the agents are, and if these may stand in.

    Of annotators who have labelled all their items. Accuracy, precision and recall are by the
    people's majority; the alternative annotator test is that of Calderon et al. 2025.
    """
    from flows.cli.label import results

    results(_of(store).store, sample, truth, epsilon, estimate)


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

    show.pair(_of(store).store, query, code)


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
    from flows.cli.browse import serve
    from infra.store import open_database, require_store
    from tasks.browse.bundle import write_bundle
    from tasks.browse.labelling import Labelling
    from tasks.browse.opened import OneFolder, StoreCopies

    settings = _of(store)
    if not folder:
        require_store(settings.store)
    browsed = OneFolder(folder) if folder else StoreCopies(settings.store)
    if bundle:
        pages = write_bundle(browsed.current(), bundle)
        say(f"{pages:,} pages: {bundle}")
    else:
        labels = None if folder else Labelling(open_database(settings.store), settings.sandbox)
        serve(browsed, labels, host, port)


@command(store_app, "cosqa store check", "cosqa store check --store cosqa-data", name="check")
def store_check(store: o.Store = None) -> None:
    """Check the store: schema version, counts and references; say what is wrong.

    Nothing is changed. The exit status is 1 if something is lost or wrong.
    """
    from flows.cli.store import check

    check(_of(store).store)


Backup = Annotated[Path, typer.Argument(help="The folder of the backup.")]


@command(store_app, "cosqa store backup backups/monday", name="backup")
def store_backup(folder: Backup, store: o.Store = None) -> None:
    """Write a backup of the whole store into a new folder, while runs may go on.

    It has the database, the journal of replies and of what was spent, and vectors (by a second name
    where the disk is the same). It is there when it is whole, or not at all.
    """
    from flows.cli.store import backup

    backup(_of(store).store, folder)


@command(
    store_app,
    "cosqa store restore backups/monday",
    "cosqa store restore backups/monday --store another-store",
    name="restore",
)
def store_restore(folder: Backup, store: o.Store = None) -> None:
    """Put a backup into the store's folder, which must be empty or absent.

    Nothing is overwritten: move a store that is there away, or name another folder.
    """
    from flows.cli.store import restore

    restore(_of(store).store, folder)


@command(sandbox_app, "cosqa sandbox check", "cosqa sandbox check --language go", name="check")
def sandbox_check(
    language: Annotated[
        Literal["python", "javascript", "go"],
        typer.Option(help="The language whose boxes are checked; its image is made if need be."),
    ] = "python",
) -> None:  # fmt: skip
    """Check the Docker engine, the image and all behaviours that a sandbox must have."""
    from flows.cli.sandbox import check

    check(_of(None).sandbox, language)


@command(sandbox_app, "cosqa sandbox clean", "cosqa sandbox clean --all", name="clean")
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
    from flows.cli.sandbox import clean

    clean(_of(None).sandbox, everything=everything)


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
