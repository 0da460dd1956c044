"""``cosqa label``: samples for people, their sheets, and people's labels."""

import re
from collections.abc import Collection, Sequence
from math import isnan
from pathlib import Path

from flows.cli.output import print_table, say
from infra.errors import SettingsError
from infra.settings import Settings
from infra.store import Database, open_database, samples
from infra.store.samples import Sample
from tasks.reports.text import counted, tally
from tasks.stages.label.results import LabelResults, label_results
from tasks.stages.label.sample import sample_answers, sample_candidates, sample_preference
from tasks.stages.label.sheets import positions_in_conflict, read_sheets, write_sheets
from tasks.statistics.intervals import Interval

_REST = "a wider terminal"
_SHOWN = 20


def write_random(
    settings: Settings,
    annotators: Sequence[str],
    collection: str,
    *,
    pairs: int,
    queries: int | None,
) -> None:
    """Draw pairs, or queries with all their judged pairs, and write sheets."""
    names, database = _names(annotators), open_database(settings.store)
    seed = settings.annotation.seed
    if queries:
        sample = sample_candidates(database, collection, "queries", queries, seed)
    else:
        sample = sample_candidates(database, collection, "pairs", pairs, seed)
    _write(settings, database, sample, names)


def write_answers(
    settings: Settings,
    annotators: Sequence[str],
    benchmark: Path | None,
    runs: Sequence[Path],
    queries: int,
) -> None:
    """Draw queries with each method's first code, and write sheets."""
    if benchmark is None:
        raise SettingsError("--answers are of methods on a benchmark: name it with --benchmark")
    names, database = _names(annotators), open_database(settings.store)
    seed = settings.annotation.seed
    sample = sample_answers(database, benchmark, runs, queries, seed, settings.publish)
    _write(settings, database, sample, names)


def write_preference(
    settings: Settings, annotators: Sequence[str], ours: Path, theirs: Path, queries: int
) -> None:
    """Draw two codes a query, one of each benchmark, and write sheets."""
    names, database = _names(annotators), open_database(settings.store)
    sample = sample_preference(database, ours, theirs, queries, settings.annotation.seed)
    _write(settings, database, sample, names)


def write_again(
    settings: Settings, annotators: Sequence[str], sample_id: str, *, only_conflicts: bool
) -> None:
    """Write further sheets of a sample: all of it, or the items in conflict."""
    names, database = _names(annotators), open_database(settings.store)
    sample = samples.load_sample(database, sample_id)
    positions = positions_in_conflict(database, sample, names) if only_conflicts else ()
    _write(settings, database, sample, names, positions)


def _names(annotators: Sequence[str]) -> list[str]:
    for name in annotators:
        if not re.fullmatch(r"\w([\w.-]{0,62}\w)?", name):
            raise SettingsError(
                f"--annotator {name!r}: letters, digits, and . _ - between them, 64 at most"
            )
    return list(dict.fromkeys(annotators))


def _write(
    settings: Settings,
    database: Database,
    sample: Sample,
    annotators: Sequence[str],
    positions: Collection[int] = (),
) -> None:
    for name in annotators:
        samples.assign(database, sample, name, positions)
    files = write_sheets(database, sample, annotators, settings.publish.folder / "sheets")
    say(f"sample {sample.sample_id}: {counted(len(positions or sample.items), 'items')}")
    for file in files:
        say(str(file))
    say("`cosqa label read FILE...` reads them when they are filled in, also in part.")


def read(settings: Settings, sheets: Sequence[Path]) -> None:
    """Store the labels of sheets; print how far people agree, and what they label."""
    database = open_database(settings.store)
    found = read_sheets(database, sheets, settings.sandbox)
    stored = tally({"labels": found.votes, "programs_run": found.programs})
    say(f"sample {found.sample.sample_id}: {stored}")
    print_results(found.sample, label_results(database, found.sample))


def print_results(sample: Sample, results: LabelResults) -> None:
    """Print each annotator's progress, and the labels of annotators who are done."""
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
    if results.by_label and sample.kind != "preference":
        by_label = ", ".join(f"{n:,} have {label}" for label, n in results.by_label.items())
        decided = f"{results.decided:,} of {len(sample.items):,}"
        say(f"by majority {decided} items are decided: {by_label}")
    _print_of_kind(results)
    if results.conflicts:
        shown = ", ".join(map(str, results.conflicts[:_SHOWN]))
        say(
            f"in conflict: {len(results.conflicts):,} items ({shown}"
            f"{', …' if len(results.conflicts) > _SHOWN else ''}); a sheet for one more person: "
            f"cosqa label sample --conflicts-of {sample.sample_id} --annotator NAME"
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
