"""``cosqa label``: samples for people, their sheets, and what they say."""

from collections.abc import Collection, Sequence
from math import isnan

from flows.cli.output import print_table, say
from flows.options import LabelPreference, LabelRead, LabelSample
from infra.store import Database, open_database, samples
from infra.store.samples import Sample
from tasks.reports.text import counted, tally
from tasks.stages.label.draw import BY_QUERY, Wanted, draw_preference, draw_sample
from tasks.stages.label.results import LabelResults, label_results
from tasks.stages.label.sheets import positions_in_conflict, read_sheets, write_sheets
from tasks.statistics.intervals import Interval

_REST = "a wider terminal"
_SHOWN = 20


def sample(options: LabelSample) -> None:
    """Draw a sample, or take one that is there, and write its sheets."""
    database = open_database(options.settings.store)
    if options.sample or options.revise:
        drawn = samples.load_sample(database, str(options.sample or options.revise))
    elif options.conflicts_of:
        drawn = samples.load_sample(database, options.conflicts_of)
    else:
        drawn = draw_sample(database, _wanted(options), options.settings.publish)
        _say_drawn(drawn)
    positions: Collection[int] = ()
    if options.conflicts_of:
        positions = positions_in_conflict(database, drawn, options.annotators)
        say(f"{counted(len(positions), 'items')} in conflict")
    _write(database, drawn, options, positions, revise=bool(options.revise))


def _wanted(options: LabelSample) -> Wanted:
    strata = dict(options.strata)
    if options.queries:
        strata["queries"] = options.queries
    return Wanted(
        strata={
            name: number or (None if name in BY_QUERY else options.pairs)
            for name, number in (strata or {"uniform": options.pairs}).items()
        },
        scale="graded" if options.graded else "binary",
        seed=options.settings.annotation.seed,
        collection=options.collection or "",
        benchmark=options.benchmark,
        runs=options.runs,
    )


def preference(options: LabelPreference) -> None:
    """Draw two codes a query, one of each benchmark, and write sheets."""
    database = open_database(options.settings.store)
    seed = options.settings.annotation.seed
    drawn = draw_preference(database, options.ours, options.theirs, options.queries, seed)
    _say_drawn(drawn)
    _write(database, drawn, options)


def _say_drawn(drawn: Sample) -> None:
    strata = drawn.body["strata"]
    say(f"sample {drawn.sample_id}: {counted(len(drawn.items), 'items')}")
    for name, counts in strata.items() if isinstance(strata, dict) else ():
        say(f"  {name}: {counts['drawn']:,} of {counts['population']:,} drawn")


def _write(
    database: Database,
    drawn: Sample,
    options: LabelSample | LabelPreference,
    positions: Collection[int] = (),
    *,
    revise: bool = False,
) -> None:
    if not revise:
        for name in options.annotators:
            samples.assign(database, drawn, name, positions)
    folder = options.settings.publish.folder / "sheets"
    for file in write_sheets(
        database, drawn, options.annotators, folder, options.form, revise=revise
    ):
        say(str(file))
    say("`cosqa label read FILE...` reads them when they are filled in, also in part.")


def read(options: LabelRead) -> None:
    """Store what sheets say; print how far people agree, and what they say."""
    database = open_database(options.settings.store)
    found = read_sheets(
        database, options.sheets, options.settings.sandbox, run=not options.unexecuted
    )
    stored = tally({"labels": found.votes, "programs_run": found.ran})
    say(f"sample {found.sample.sample_id}: {stored}")
    print_results(found.sample, label_results(database, found.sample))


def print_results(drawn: Sample, results: LabelResults) -> None:
    """Print who has done how much, and what those say who are done."""
    header = ("annotator", "items", "blind", "revised")
    rows = [
        (one.annotator, f"{len(one.positions):,}", f"{one.blind:,}", f"{one.revised:,}")
        for one in results.progress
    ]
    print_table("", header, rows, rest=_REST)
    if waiting := [one.annotator for one in results.progress if not one.is_done]:
        say(f"not done, and left out below: {', '.join(waiting)}")
    if results.agreement:
        found = results.agreement
        say(f"{found.pairs:,} items labelled blind by two or more")
        say(f"Krippendorff's alpha: {_interval(found.alpha)}")
        two = [
            (f"{it.first}, {it.second}", f"{it.pairs:,}", f"{it.equal:.1%}", _interval(it.kappa))
            for it in found.each_two
        ]
        print_table("", ("annotators", "items", "equal", "Cohen's kappa"), two, rest=_REST)
    if results.by_label and drawn.kind != "preference":
        by_label = ", ".join(f"{n:,} have {label}" for label, n in results.by_label.items())
        say(
            f"by majority {results.decided:,} of {len(drawn.items):,} items are decided: {by_label}"
        )
    _print_of_kind(results)
    if results.conflicts:
        shown = ", ".join(map(str, results.conflicts[:_SHOWN]))
        say(
            f"in conflict: {len(results.conflicts):,} items ({shown}"
            f"{', …' if len(results.conflicts) > _SHOWN else ''}); a sheet for one more person: "
            f"cosqa label sample --conflicts-of {drawn.sample_id} --annotator NAME"
        )


def _print_of_kind(results: LabelResults) -> None:
    if results.preferred:
        rows: Sequence[Sequence[str]] = [
            (it.annotator, f"{it.decided:,}", _interval(it.share)) for it in results.preferred
        ]
        header: Sequence[str] = ("annotator", "queries decided", "prefer ours")
        print_table("", header, rows, rest=_REST)
    if results.right:
        names = sorted(results.right[0].by_annotator)
        rows = [
            (
                it.method,
                f"{it.mean:.1f} of {it.queries:,}",
                *(f"{it.by_annotator[n]:,}" for n in names),
            )
            for it in results.right
        ]
        print_table("", ("method", "right on average", *names), rows, rest=_REST)


def _interval(value: Interval) -> str:
    if isnan(value.mean):
        return "undefined: all labels are equal"
    return f"{value.mean:.3f} ({value.low:.3f} to {value.high:.3f})"
