"""Sheets of a sample: written for annotators, and read back into votes, all of them or none."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from infra.disk import OTHER_OUTPUT, space_on
from infra.errors import SourceError
from infra.ids import PairKey
from infra.records import ExecutionResult, GivenVote
from infra.settings import SandboxSettings
from infra.store import Database, annotations, candidates, samples
from infra.store.samples import Sample, SampleItem, SampleProgress, ShownItem
from infra.store.votes import load_votes, record_votes
from tasks.benchmarks.label_sheets import (
    COLUMNS,
    EVIDENCE,
    LabelRow,
    read_label_sheet,
    write_label_sheet,
)
from tasks.files.text import printable
from tasks.reports.text import visible
from tasks.stages.coverage import current_labels_of
from tasks.stages.sandbox import run_programs
from tasks.statistics.people import conflicts

_LONGEST_CELL = 30_000  # characters; a spreadsheet's cell holds 32,767
_FAULTS_SHOWN = 10


def write_sheets(
    database: Database,
    sample: Sample,
    annotators: Sequence[str],
    folder: Path,
    form: Literal["csv", "jsonl"] = "csv",
    *,
    revise: bool = False,
) -> list[Path]:
    """Write a sheet for each annotator, with the items that they were given in an own order.

    Args:
        database: The store.
        sample: The sample.
        annotators: Their names.
        folder: Where the sheets go.
        form: The form of the files.
        revise: Whether the sheets show the agents' evidence, for people who are done blind.

    Raises:
        SourceError: A sheet is there and was filled in, or somebody who is to revise is not done.
    """
    files = {
        name: folder / f"{sample.sample_id}-{name}{'-revised' * revise}.{form}"
        for name in annotators
    }
    for file in files.values():
        if file.exists() and next(read_label_sheet(file), None):
            raise SourceError(
                f"{printable(file)} was filled in: read it with `cosqa label read`, and move it "
                "away before another is written"
            )
    evidence = _evidence(database, sample, annotators) if revise else {}
    for name, file in files.items():
        rows = [
            _row(sample, name, item, evidence) for item in samples.items_for(database, sample, name)
        ]
        with space_on(folder, OTHER_OUTPUT):
            write_label_sheet(file, rows)
    return list(files.values())


def _row(
    sample: Sample, annotator: str, item: ShownItem, evidence: Mapping[int, str]
) -> dict[str, str]:
    row = dict.fromkeys(COLUMNS[sample.kind], "") | {
        "sample": sample.sample_id,
        "item": str(item.position),
        "annotator": annotator,
        "phase": "revised" if evidence else "blind",
        **_shown(item),
    }
    return row | {EVIDENCE: evidence[item.position]} if evidence else row


def _shown(item: ShownItem) -> dict[str, str]:
    """Return column → text as sheets show it: whole, but for what is hidden or too long."""
    names = ["code"] if len(item.codes) == 1 else ["code_a", "code_b"]
    texts = [item.query.text, *(code.text for code in item.codes)]
    return {
        name: visible(text, _LONGEST_CELL)
        for name, text in zip(["query", *names], texts, strict=True)
    }


def _evidence(database: Database, sample: Sample, annotators: Sequence[str]) -> dict[int, str]:
    """Return position → what the agents' label rests on."""
    done = {it.annotator for it in samples.progress(database, sample.sample_id) if it.is_done}
    if waiting := [name for name in annotators if name not in done]:
        raise SourceError(
            f"{waiting[0]!r} has not labelled all items blind: evidence is shown after that"
        )
    searches = candidates.searches_by_collection(database).get(sample.collection, [])
    labels = current_labels_of(database, sample.collection, searches)
    if not labels.sets or sample.kind == "preference":
        raise SourceError(f"there is no evidence on the pairs of sample {sample.sample_id}")
    keys = [item.key for item in sample.items]
    judged = {it.key: it for it in annotations.load_annotations(database, labels.sets[0][0], keys)}
    told = {}
    for item in sample.items:
        parts = ["not judged"]
        if found := judged.get(item.key):
            parts = [f"{found.status} {'' if found.label is None else found.label}", found.reason]
            for run in found.executions[-1:]:
                parts += [run.program, f"{run.result.outcome}: {run.result.message}"]
        told[item.position] = visible("\n\n".join(parts), _LONGEST_CELL)
    return told


def positions_in_conflict(
    database: Database, sample: Sample, annotators: Sequence[str]
) -> set[int]:
    """Return the items on which those who are done disagree blind, for a further annotator.

    Raises:
        SourceError: There are none, or one of the annotators has labelled them.
    """
    votes = samples.readable_votes(database, sample)
    disputed = conflicts(votes)
    if not disputed:
        raise SourceError(
            f"sample {sample.sample_id} has no conflict: two people must have labelled all their "
            "items, and differ"
        )
    for vote in votes:
        if vote.annotator in annotators and vote.key in disputed:
            raise SourceError(
                f"{vote.annotator!r} has labelled what is in conflict: name another --annotator"
            )
    return {item.position for item in sample.items if item.key in disputed}


class ReadSheets(NamedTuple):
    """What sheets said: their sample, and numbers of votes and of programs that were run."""

    sample: Sample
    votes: int
    ran: int


def read_sheets(
    database: Database, files: Sequence[Path], settings: SandboxSettings, *, run: bool = True
) -> ReadSheets:
    """Store what sheets say as people's votes; a program runs in a box first.

    A program that was stored with its result is not run again.

    Args:
        database: The store.
        files: The sheets, of one sample.
        settings: The sandbox's.
        run: Whether programs are run; else they are stored without a result.

    Raises:
        SourceError: A sheet is malformed, of another sample, or has other texts than were drawn; or
            an annotator grades an item twice. Nothing was stored; each fault has its file and line.
        SandboxError: The sandbox failed; nothing was stored.
    """
    faults: list[str] = []
    rows = [row for file in files for row in _collected(read_label_sheet(file), faults)]
    sample = _sample_of(database, rows, faults)
    progress = samples.progress(database, sample.sample_id)
    given = {one.annotator: one.positions for one in progress}
    settled = _settled(database, sample, progress)
    shown = {item.position: item for item in samples.show(database, sample.items)}
    items = {item.position: item for item in sample.items}
    places: dict[tuple[str, int, str], str] = {}
    votes = []
    for row in rows:
        try:
            _check(row, sample, given, shown)
            _refuse_second(row, places)
            vote = _vote(row, sample, items[row.item])
            _refuse_late(vote, sample, settled)
            votes.append(vote)
        except SourceError as error:
            faults.append(str(error))
    if faults:
        more = len(faults) - _FAULTS_SHOWN
        raise SourceError(
            "\n".join([*faults[:_FAULTS_SHOWN], *([f"… and {more:,} more"] if more > 0 else [])])
        )
    codes = {item.key: shown[item.position].codes[0].text for item in sample.items}
    ran = 0
    if run and sample.kind != "preference":
        votes, ran = _executed(database, sample, votes, codes, settings)
    with database.transaction() as tx:
        record_votes(tx, sample.collection, votes)
    return ReadSheets(sample, len(votes), ran)


def _settled(
    database: Database, sample: Sample, progress: Sequence[SampleProgress]
) -> dict[tuple[str, PairKey], float | None]:
    """Return annotator and pair → what those said blind who have labelled all their items."""
    done = {one.annotator for one in progress if one.is_done}
    return {
        (vote.annotator, vote.key): vote.relevance
        for vote in load_votes(database, sample.origin)
        if vote.phase == "blind" and vote.annotator in done
    }


def _refuse_late(
    vote: GivenVote, sample: Sample, settled: Mapping[tuple[str, PairKey], float | None]
) -> None:
    """Refuse another blind label from one who may have seen the evidence and others' labels."""
    before = settled.get((vote.annotator, vote.key), vote.relevance)
    if vote.phase == "blind" and vote.relevance != before:
        raise SourceError(
            f"{vote.place}: {vote.annotator!r} has labelled all items, so that the evidence and "
            "others' labels are open: the blind label stands, and another is a revised one; `cosqa "
            f"label sample --revise {sample.sample_id}` writes its sheet"
        )


def _collected(rows: Iterator[LabelRow], faults: list[str]) -> Iterator[LabelRow]:
    try:
        yield from rows
    except SourceError as error:
        faults.append(str(error))


def _sample_of(database: Database, rows: Sequence[LabelRow], faults: Sequence[str]) -> Sample:
    """Return the one sample that all rows are of."""
    if not rows:
        raise SourceError("\n".join(faults) or "no row has a grade: fill in a sheet, and save it")
    first, *others = rows
    for row in others:
        if row.cells["sample"] != first.cells["sample"]:
            raise SourceError(
                f"{row.place}: sample {row.cells['sample'][:40]!r}, but {first.place} is of "
                f"{first.cells['sample'][:40]!r}: read the sheets of each sample by themselves"
            )
    try:
        return samples.load_sample(database, first.cells["sample"])
    except SourceError as error:
        raise SourceError(f"{first.place}: {error}") from None


def _refuse_second(row: LabelRow, places: dict[tuple[str, int, str], str]) -> None:
    """Refuse an annotator's second row on an item; note the place of the first."""
    name = row.cells["annotator"]
    first = places.setdefault((name, row.item, row.phase), row.place)
    if first != row.place:
        raise SourceError(
            f"{row.place}: {name[:40]!r} grades item {row.item} in {first} too: leave one of the "
            "two out"
        )


def _check(
    row: LabelRow,
    sample: Sample,
    given: Mapping[str, Collection[int]],
    shown: Mapping[int, ShownItem],
) -> None:
    """Refuse a row that is not as it was written, or somebody else's."""
    name = row.cells["annotator"]
    if not set(COLUMNS[sample.kind]) <= row.cells.keys():
        raise SourceError(
            f"{row.place}: a sheet of this sample has {','.join(COLUMNS[sample.kind])}"
        )
    if row.item not in given.get(name, ()):
        raise SourceError(
            f"{row.place}: {name[:40]!r} was not given item {row.item}: `cosqa label sample "
            f"--sample {sample.sample_id} --annotator NAME` gives a sheet to a person"
        )
    for column, text in _shown(shown[row.item]).items():
        if _plain_lines(row.cells[column]) != _plain_lines(text):
            raise SourceError(
                f"{row.place}: the {column} is not that of item {row.item}: leave the texts as "
                "they are, and sort whole rows only"
            )


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _vote(row: LabelRow, sample: Sample, item: SampleItem) -> GivenVote:
    if sample.kind == "preference":
        side = row.choice
        relevance = None if side is None else item.relevance_by(prefers_second=side == 1)
    else:
        relevance = row.relevance(sample.highest)
    return GivenVote(
        query_id=item.query_id,
        code_id=item.code_id,
        annotator=row.cells["annotator"],
        origin=sample.origin,
        phase=row.phase,
        relevance=relevance,
        note=row.cells["comment"],
        notes=row.difficulties,
        minutes=row.minutes,
        program=row.cells.get("program", ""),
        place=row.place,
    )


def _executed(
    database: Database,
    sample: Sample,
    votes: Sequence[GivenVote],
    codes: Mapping[PairKey, str],
    settings: SandboxSettings,
) -> tuple[list[GivenVote], int]:
    """Return the votes with their programs' results, and how many were run."""
    known: dict[PairKey, dict[str, ExecutionResult | None]] = defaultdict(dict)
    for vote in load_votes(database, sample.origin):
        known[vote.key][vote.program] = vote.execution
    new = list(
        dict.fromkeys(
            (vote.program, codes[vote.key])
            for vote in votes
            if vote.program and not known[vote.key].get(vote.program)
        )
    )
    results = dict(zip(new, asyncio.run(run_programs(settings, new)), strict=True)) if new else {}
    done = [
        vote.model_copy(
            update={
                "execution": known[vote.key].get(vote.program)
                or results.get((vote.program, codes[vote.key]))
            }
        )
        for vote in votes
    ]
    return done, len(new)
