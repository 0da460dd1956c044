"""``cosqa label``: samples for people, their sheets, and people's labels."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from flows import options as o
from flows.cli.output import command, group, print_document, say
from flows.options import settings_of
from infra.errors import SettingsError
from tasks.reports.text import counted

if TYPE_CHECKING:
    from infra.store import Database
    from infra.store.samples import Sample

app = group("Let people label samples of pairs on sheets, and read them back.")

Annotators = Annotated[
    list[str],
    typer.Option(
        "--annotator",
        help="Name of a person who gets a sheet; letters, digits, and . _ - between them. Repeat "
        "it for several.",
    ),
]

Seed = Annotated[int | None, typer.Option(help="Seed of the draw; annotation.seed when not given.")]


@command(
    app,
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
    from infra.store import open_database, require_store, samples
    from tasks.stages.label.sample import Drawing, sample_candidates, sample_results
    from tasks.stages.label.sheets import positions_in_conflict

    names = _names_of(annotators)
    is_of_files = runs and (answers or stratum == "top") and not (sample or conflicts_of)
    if not is_of_files:  # a benchmark and runs of it are all that such a sample is drawn from
        require_store(settings.store)
    database = open_database(settings.store)
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
    _write_sheets(database, drawn, names, settings.publish.folder, positions)


@command(
    app,
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
    from infra.store import open_database
    from tasks.stages.label.sample import sample_preference

    names, database = _names_of(annotators), open_database(settings.store)
    chosen = settings.annotation.seed if seed is None else seed
    drawn = sample_preference(database, ours, theirs, queries, chosen)
    _write_sheets(database, drawn, names, settings.publish.folder)


@command(
    app,
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
    from infra.store import open_database, require_store
    from tasks.reports.text import tally
    from tasks.stages.label.report import results_document
    from tasks.stages.label.results import label_results
    from tasks.stages.label.sheets import read_sheets

    settings = settings_of(label_read, locals())
    require_store(settings.store)
    database = open_database(settings.store)
    found = read_sheets(database, sheets, settings.sandbox)
    stored = tally({"labels": found.votes, "programs_run": found.programs})
    say(f"sample {found.sample.sample_id}: {stored}")
    print_document(results_document(found.sample, label_results(database, found.sample)))


@command(
    app,
    "cosqa label results s1f0c9a",
    "cosqa label results s1f0c9a --truth people.jsonl",
    name="results",
)
def results(
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
    from infra.store import open_database, require_store, samples
    from tasks.stages.label.report import agents_document, orders_document, results_document
    from tasks.stages.label.results import agents_beside_people, label_results, write_truth

    settings = settings_of(results, locals())
    require_store(settings.store)
    database = open_database(settings.store)
    drawn = samples.load_sample(database, sample)
    by_people = label_results(database, drawn)
    print_document(results_document(drawn, by_people))
    if estimate:
        print_document(orders_document(by_people, estimate))
    if found := agents_beside_people(database, drawn, epsilon):
        print_document(agents_document(found, drawn.criterion))
    if truth:
        say(f"{truth}: {counted(write_truth(database, drawn, truth), 'pairs')} with a majority")


def _names_of(annotators: Sequence[str]) -> list[str]:
    """Return the names of people without repeats.

    Raises:
        SettingsError: A file cannot be called so.
    """
    for name in annotators:
        if not re.fullmatch(r"\w([\w.-]{0,62}\w)?", name):
            raise SettingsError(
                f"--annotator {name!r}: letters, digits, and . _ - between them, 64 at most"
            )
    return list(dict.fromkeys(annotators))


def _write_sheets(
    database: "Database",
    sample: "Sample",
    annotators: Sequence[str],
    outputs: Path,
    positions: Collection[int] = (),
) -> None:
    """Write a sheet of a sample for each person, of all items where none are named; say where."""
    from infra.store import samples
    from tasks.stages.label.sheets import write_sheets

    for name in annotators:
        samples.assign(database, sample, name, positions)
    files = write_sheets(database, sample, annotators, outputs / "sheets")
    say(f"sample {sample.sample_id}: {counted(len(positions or sample.items), 'items')}")
    for file in files:
        say(str(file))
    say(
        "What grades and notes mean is in the file of guidelines beside them. `cosqa label read "
        "FILE...` reads them when they are filled in, also in part."
    )
