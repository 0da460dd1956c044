"""Sheets of a sample: written for annotators, and read back into votes, all of them or none.

The guidelines beside them, which pages show too, are CoSQA+'s rules of an exact and of a 50% match
(arXiv 2406.11589), and the difficulties that CodeSearchNet's annotators noted (arXiv 1909.09436).
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.errors import SourceError
from infra.files import OTHER_OUTPUT, space_on, write_outputs
from infra.identity import PairKey
from infra.records import GivenVote
from infra.settings import SandboxSettings
from infra.store import Database, samples
from infra.store.samples import Sample, SampleItem, ShownItem
from infra.store.votes import load_votes, record_votes
from tasks.inputs.sheets import COLUMNS, LabelRow, read_label_sheet, write_sheet
from tasks.inputs.text import printable
from tasks.reports.text import visible
from tasks.stages.sandbox import run_programs
from tasks.statistics.agreement import conflicts

_LONGEST_CELL = 30_000  # characters; a spreadsheet's cell holds 32,767
_LONGEST_VALUE = 40
# Digits, and at most a unit, an exponent, or a month in some language: 1.00E+05, 05-Mar, 3月5日.
_VALUE = re.compile(
    r"(?=.*\d)[\W\d_年月日]*(?:[^\W\d_]{1,10}[\W\d_]*)?(?:[ap]\.?m\.?)?|true|false", re.IGNORECASE
)

_DIFFICULTIES = {
    "quality": "the code is unfinished, faulty or hard to read, whatever it answers.",
    "ambiguity": 'the query can mean several things: grade by the likeliest. "tf.gather_nd" '
    "names a function, and does not say what is wanted of it.",
    "project specific": "the code works only within a library or project that the query does not "
    "name.",
    "direction reversed": "the code does the inverse of what is asked, and so does not answer: "
    '"int to string" is asked, the code reads an int from a string.',
}
_GRADED = {
    "3, exact match": "as good as what you would have written for the query.",
    "2, good": "it needs changes, but shows how the query is answered.",
    "1, weak": "it has to do with the query, and helps little.",
    "0, irrelevant": "you would pass over it.",
}
_BINARY = {
    "1, answers": "the code does all that the query asks for, or more. What it does counts, not "
    "its name or its documentation.",
    "0, does not answer": "a part of what is asked is missing, however much of the rest is there, "
    "or it does something else.",
}
_HALF = {
    "1, answers half": "the code does all that the query asks for, or more; or it meets a category "
    "of the demands that makes up half of them or more.",
    "0, does not": "it meets less than half of what is asked, or only a small part of it has to do "
    "with the query.",
}
_PREFERENCE = {
    "first or second (A or B)": "choose the code that meets more of what the query asks for; "
    "length and style do not count.",
}
_UNDECIDED = {
    "undecided (? on a sheet)": "you have read the code, or run it, and could as well say either. "
    "It agrees with nobody, so that a third person is asked: say why in a note.",
}


def write_sheets(
    database: Database, sample: Sample, annotators: Sequence[str], folder: Path
) -> list[Path]:
    """Write a sheet for each annotator, with the items that they were given in an own order.

    The guidelines are written beside them.
    """
    stem = sample.sample_id if sample.criterion == "exact" else f"{sample.sample_id}-half"
    files = {name: folder / f"{stem}-{name}.csv" for name in annotators}
    for file in files.values():
        if file.exists() and next(read_label_sheet(file), None):
            raise SourceError(
                f"{printable(file)} was filled in: read it with `cosqa label read`, and move it "
                "away before another is written"
            )
    for name, file in files.items():
        rows = [
            dict.fromkeys(COLUMNS[sample.kind], "")
            | {"sample": sample.sample_id, "item": str(item.position), "annotator": name}
            | _shown(item)
            for item in samples.items_for(database, sample, name)
        ]
        with space_on(folder, OTHER_OUTPUT):
            write_sheet(file, list(rows[0]), rows)
    means = "".join(f"{word}: {text}\n" for word, text in guidelines(sample).items())
    write_outputs(folder, {f"{stem}-guidelines.txt": means})
    return list(files.values())


def _shown(item: ShownItem) -> dict[str, str]:
    """Return column → text as sheets show it: without hidden characters, cut if too long."""
    names = ["code"] if len(item.codes) == 1 else ["code_a", "code_b"]
    texts = [item.query.text, *(code.text for code in item.codes)]
    return {
        name: visible(text, _LONGEST_CELL)
        for name, text in zip(["query", *names], texts, strict=True)
    }


def positions_in_conflict(
    database: Database, sample: Sample, annotators: Sequence[str]
) -> set[int]:
    """Return the items on which annotators who are done disagree blind, for a further one."""
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
    """The sample of sheets, and their numbers of votes and of programs."""

    sample: Sample
    votes: int
    programs: int


def read_sheets(database: Database, files: Sequence[Path], settings: SandboxSettings) -> ReadSheets:
    """Store the grades of a sample's sheets as people's votes; a test program runs in a box first.

    Raises:
        SourceError: A sheet is malformed, of another sample, or has other texts than were drawn; or
            an annotator grades an item twice, or changes a label after all items were labelled.
            Nothing was stored; the message has file and line.
        SandboxError: The sandbox failed; nothing was stored.
    """
    rows = [row for file in files for row in read_label_sheet(file)]
    if not rows:
        names = ", ".join(map(printable, files))
        raise SourceError(f"{names}: no row has a grade: fill in a sheet, and save it")
    sample = _sample_of(database, rows)
    progress = samples.progress(database, sample.sample_id)
    given = {one.annotator: one.positions for one in progress}
    done = {one.annotator for one in progress if one.is_done}
    settled = {
        (vote.annotator, vote.key): vote.relevance
        for vote in load_votes(database, sample.origin)
        if vote.phase == "blind" and vote.annotator in done
    }
    shown = {item.position: item for item in samples.show(database, sample.items)}
    items = {item.position: item for item in sample.items}
    votes = []
    for row in rows:
        name = row.cells["annotator"]
        if row.item not in given.get(name, ()):
            raise SourceError(
                f"{row.place}: {name[:40]!r} was not given item {row.item}: `cosqa label sample "
                f"--sample {sample.sample_id} --annotator NAME` gives a sheet to a person"
            )
        if name != row.owner:
            raise SourceError(
                f"{row.place}: {name[:40]!r} in a sheet of {row.owner[:40]!r}: a sheet is one "
                "person's; read those of several as files of their own"
            )
        _check_texts(row, sample, shown)
        vote = _vote(row, sample, items[row.item])
        # An annotator who has labelled all items may see the evidence and others' labels.
        if settled.get((name, vote.key), vote.relevance) != vote.relevance:
            raise SourceError(
                f"{row.place}: {name!r} has labelled all items, so that the evidence and others' "
                "labels are open: the blind label stands, and `cosqa browse` takes a revised one"
            )
        votes.append(vote)
    codes = {item.key: shown[item.position].codes[0].text for item in sample.items}
    votes, programs = _executed(votes, codes, settings)
    with database.transaction() as tx:
        record_votes(tx, sample.collection, votes)
    return ReadSheets(sample, len(votes), programs)


def _sample_of(database: Database, rows: Sequence[LabelRow]) -> Sample:
    """Return the one sample that all rows are of."""
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


def _check_texts(row: LabelRow, sample: Sample, shown: Mapping[int, ShownItem]) -> None:
    """Refuse a row whose texts were changed, but not by a spreadsheet that shows values its way."""
    if not set(COLUMNS[sample.kind]) <= row.cells.keys():
        raise SourceError(
            f"{row.place}: a sheet of this sample has {','.join(COLUMNS[sample.kind])}"
        )
    for column, text in _shown(shown[row.item]).items():
        cell = _plain_lines(row.cells[column])
        if cell == _plain_lines(text) or (
            _is_value(cell)
            and _is_value(text)
            and all(cell != _plain_lines(_shown(other)[column]) for other in shown.values())
        ):
            continue
        raise SourceError(
            f"{row.place}: the {column} is not that of item {row.item}: leave the texts as they "
            "are, and sort whole rows only; where a spreadsheet changed it, open the sheet by its "
            "import of text with all columns as text, and save it as CSV in UTF-8"
        )


def _is_value(text: str) -> bool:
    """Return True if a spreadsheet could take a text for a number, a date or a truth value."""
    return len(text) <= _LONGEST_VALUE and bool(_VALUE.fullmatch(text))


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
        relevance=relevance,
        note=row.cells["comment"],
        notes=row.difficulties,
        minutes=row.minutes,
        program=row.cells.get("program", ""),
        place=row.place,
    )


def _executed(
    votes: Sequence[GivenVote], codes: Mapping[PairKey, str], settings: SandboxSettings
) -> tuple[list[GivenVote], int]:
    """Return the votes with their programs' results, and the number of programs."""
    programs = [(vote.program, codes[vote.key]) for vote in votes if vote.program]
    if not programs:
        return list(votes), 0
    results = iter(asyncio.run(run_programs(settings, programs)))
    executed = [
        vote.model_copy(update={"execution": next(results)}) if vote.program else vote
        for vote in votes
    ]
    return executed, len(programs)


def grades_of(sample: Sample) -> dict[str, str]:
    """Return a grade → what it means, in a word or two."""
    if sample.kind == "preference":
        return {"1": "the first code", "2": "the second code"}
    if sample.criterion == "half":
        return {"0": "meets less than half", "1": "meets half or more"}
    if sample.scale == "binary":
        return {"0": "does not answer", "1": "answers the query"}
    return {"0": "irrelevant", "1": "weak", "2": "good", "3": "exact match"}


def guidelines(sample: Sample) -> Mapping[str, str]:
    """Return a grade or difficulty → what it means."""
    by_criterion = _HALF if sample.criterion == "half" else _BINARY
    graded = by_criterion if sample.scale == "binary" else _GRADED
    grades = _PREFERENCE if sample.kind == "preference" else graded
    return grades | _UNDECIDED | _DIFFICULTIES
