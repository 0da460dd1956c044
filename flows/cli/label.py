"""``cosqa label``: samples for people, their sheets, and what they say."""

import re
from collections.abc import Collection, Sequence
from math import isnan
from pathlib import Path
from typing import Any, Literal

from flows.cli.output import print_table, say
from infra.errors import SettingsError
from infra.settings import Settings
from infra.store import open_database, samples
from infra.store.samples import Sample
from tasks.reports.text import counted, tally
from tasks.stages.label.draw import BY_QUERY, Wanted, draw_preference, draw_sample
from tasks.stages.label.results import LabelResults, label_results
from tasks.stages.label.sheets import positions_in_conflict, read_sheets, write_sheets
from tasks.statistics.intervals import Interval

Form = Literal["csv", "jsonl"]

_REST = "a wider terminal"
_SHOWN = 20


def wanted_of(strata: Sequence[str], pairs: int, **told: Any) -> Wanted:  # noqa: ANN401
    """Return what is to be drawn.

    Args:
        strata: Each as ``NAME`` or ``NAME=N``; none is ``uniform``.
        pairs: How many pairs of a stratum without N.
        told: The other attributes.

    Raises:
        SettingsError: A stratum is given twice, or N is no number above 0.
    """
    found: dict[str, int | None] = {}
    for text in strata or ("uniform",):
        name, equals, number = text.partition("=")
        if name in found or (equals and not (number.isdecimal() and int(number))):
            raise SettingsError(f"--stratum {text}: give each one once, as {name}=N with N > 0")
        found[name] = int(number) if equals else (None if name in BY_QUERY else pairs)
    return Wanted(strata=found, **told)


class Sheets:
    """Sheets of one form for these people."""

    def __init__(self, settings: Settings, annotators: Sequence[str], form: Form) -> None:
        for name in annotators:
            if not re.fullmatch(r"\w([\w.-]{0,62}\w)?", name):
                raise SettingsError(
                    f"--annotator {name!r}: letters, digits, and . _ - between them, 64 at most"
                )
        self._settings, self._form = settings, form
        self._annotators = tuple(dict.fromkeys(annotators))
        self._database = open_database(settings.store)

    def write_drawn(self, wanted: Wanted) -> None:
        """Draw a sample, and write its sheets."""
        self._write_new(draw_sample(self._database, wanted, self._settings.publish))

    def write_preference(self, ours: Path, theirs: Path, queries: int) -> None:
        """Draw two codes a query, one of each benchmark, and write sheets."""
        seed = self._settings.annotation.seed
        self._write_new(draw_preference(self._database, ours, theirs, queries, seed))

    def write_again(self, sample_id: str, *, is_conflict: bool, is_revision: bool) -> None:
        """Write further sheets of a sample: all of it, what is in conflict, or with evidence."""
        drawn = samples.load_sample(self._database, sample_id)
        positions: Collection[int] = ()
        if is_conflict:
            positions = positions_in_conflict(self._database, drawn, self._annotators)
            say(f"{counted(len(positions), 'items')} in conflict")
        self._write(drawn, positions, is_revision=is_revision)

    def _write_new(self, drawn: Sample) -> None:
        strata = drawn.body["strata"]
        say(f"sample {drawn.sample_id}: {counted(len(drawn.items), 'items')}")
        for name, counts in strata.items() if isinstance(strata, dict) else ():
            say(f"  {name}: {counts['drawn']:,} of {counts['population']:,} drawn")
        self._write(drawn)

    def _write(
        self, drawn: Sample, positions: Collection[int] = (), *, is_revision: bool = False
    ) -> None:
        if not is_revision:
            for name in self._annotators:
                samples.assign(self._database, drawn, name, positions)
        folder = self._settings.publish.folder / "sheets"
        for file in write_sheets(
            self._database, drawn, self._annotators, folder, self._form, revise=is_revision
        ):
            say(str(file))
        say("`cosqa label read FILE...` reads them when they are filled in, also in part.")


def read(settings: Settings, sheets: Sequence[Path], *, run: bool) -> None:
    """Store what sheets say; print how far people agree, and what they say."""
    database = open_database(settings.store)
    found = read_sheets(database, sheets, settings.sandbox, run=run)
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
