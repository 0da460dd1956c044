"""Laws of sheets: what people said comes back exactly, a bad sheet changes nothing.

Covers `tasks.inputs.sheets`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.errors import SandboxError, SourceError
from infra.records import Code, ExecutionResult, GivenVote, Query
from infra.store import Database, samples
from infra.store.samples import Sample
from infra.store.votes import load_votes
from sandbox.backends import backends
from tasks.stages.label.sheets import positions_in_conflict, read_sheets, write_sheets
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.fakes.stores import empty_store
from tests.tasks.stages.generate.world import also_collected
from tests.tasks.stages.label.world import (
    CODES,
    SANDBOX,
    Change,
    Row,
    drawn,
    filled,
    grade,
    hostile_store,
    read,
    save,
)

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝")  # noqa: RUF001 - a formula in full width


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return hostile_store(tmp_path)


@pytest.fixture
def sample(database: Database) -> Sample:
    return drawn(database, "ann", "bob")


@pytest.fixture
def ran() -> Iterator[list[str]]:
    programs: list[str] = []

    def run(program: str, installed: frozenset[str]) -> ExecutionResult:
        programs.append(program)
        if program == "lose the box":
            raise SandboxError("the box is lost")
        return PASSED

    backends.register("fake")(lambda settings: FakeSandbox(run))
    yield programs
    del backends._entries["fake"]


def said(database: Database, sample: Sample) -> list[GivenVote]:
    return load_votes(database, sample.origin)


def by_item(row: Row) -> None:
    number = int(row["item"])
    row.update(
        grade="?" if number == 1 else str(number % 2),
        notes="quality; Direction reversed" if number == 2 else "",
        comment="=HYPERLINK(1)\nsecond line \x1b[0m" if number == 3 else "",
        minutes="2,5" if number == 4 else "",
    )


def test_what_a_person_says_comes_back_to_the_pairs_that_were_drawn(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    file = filled(database, sample, "ann", tmp_path, by_item)
    found = read_sheets(database, [file], SANDBOX)
    assert (found.sample, found.votes, found.programs) == (sample, len(sample.items), 0)
    votes = {vote.key: vote for vote in said(database, sample)}
    for item in sample.items:
        vote, number = votes[item.key], item.position
        assert vote.relevance == (None if number == 1 else number % 2)
        assert vote.notes == (("quality", "direction_reversed") if number == 2 else ())
        assert vote.note == ("=HYPERLINK(1)\nsecond line \x1b[0m" if number == 3 else "")
        assert vote.minutes == (2.5 if number == 4 else None)
        assert (vote.annotator, vote.phase, vote.kind) == ("ann", "blind", "person")


def test_a_sheet_is_blind_and_no_cell_of_it_is_run_or_hidden_or_too_long(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    files = write_sheets(database, sample, ["ann", "bob"], tmp_path)
    rows = [read(file) for file in files]
    assert [row["item"] for row in rows[0]] != [row["item"] for row in rows[1]]
    for row in rows[0]:
        assert list(row) == [
            "query", "code", "grade", "notes", "comment", "minutes", "program",
            "sample", "item", "annotator",
        ]  # fmt: skip
        assert not any(row[name] for name in ("grade", "notes", "comment", "minutes", "program"))
        for cell in row.values():
            assert not cell.startswith(FORMULA)
            assert not {"\x00", "\x1b", "\u202e", "\r"} & set(cell)
            assert len(cell) < 32_767
    assert {row["query"] for row in rows[0]} >= {"'=1+1 in python"}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, ["1, answers", "0, does not answer", "int to string", "undecided"]),
        ({"scale": "graded"}, ["3, exact match", "0, irrelevant", "undecided"]),
        ({"kind": "preference"}, ["first or second (A or B)", "undecided"]),
    ],
)  # fmt: skip
def test_guidelines_lie_beside_the_sheets(
    database: Database, sample: Sample, tmp_path: Path, told: dict[str, Any], words: list[str]
) -> None:
    other = sample.model_copy(update=told)
    samples.add_sample(database, other)
    samples.assign(database, other, "ann")
    [file] = write_sheets(database, other, ["ann"], tmp_path)
    text = (tmp_path / f"{other.sample_id}-guidelines.txt").read_text("utf-8")
    for word in words:
        assert word in text
    assert all(cell.startswith('"') for cell in file.read_text("utf-8-sig").split(",", 3)[:3])


def _semicolons(file: Path) -> None:
    save(file, read(file), ";", "utf-8-sig")


def _utf_16(file: Path) -> None:
    save(file, read(file), "\t", "utf-16")


def _columns_and_rows_in_another_order(file: Path) -> None:
    save(file, [dict(sorted(row.items())) for row in reversed(read(file))])


def _without_rows(file: Path) -> None:
    save(file, read(file)[:5])


def _empty_columns(file: Path) -> None:
    save(file, [{"": "", **row, " ": "", "  ": ""} for row in read(file)])


def _numbers_as_a_spreadsheet_writes_them(file: Path) -> None:
    save(
        file,
        [row | {"grade": row["grade"] + ".0", "item": row["item"] + ",0"} for row in read(file)],
    )


def test_what_a_spreadsheet_changes_is_read_rightly(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    grades = {item.key: item.position % 2 for item in sample.items}
    odd: Change = lambda row: row.update(grade=str(int(row["item"]) % 2))  # noqa: E731 - in a line
    whole = filled(database, sample, "ann", tmp_path, odd)
    file = tmp_path / "changed.csv"
    for spreadsheet in (
        _without_rows,  # first: the others' rows are stored in the end
        _semicolons,
        _utf_16,
        _columns_and_rows_in_another_order,
        _empty_columns,
        _numbers_as_a_spreadsheet_writes_them,
    ):
        file.write_bytes(whole.read_bytes())
        spreadsheet(file)
        votes = {vote.key: vote.relevance for vote in _read_all(database, sample, file)}
        assert votes.items() <= grades.items()
        assert len(votes) == (5 if spreadsheet is _without_rows else len(grades))


def _read_all(database: Database, sample: Sample, *files: Path) -> list[GivenVote]:
    read_sheets(database, files, SANDBOX)
    return said(database, sample)


def _change(number: int, **cells: str) -> Callable[[list[Row]], None]:
    return lambda rows: rows[number].update(cells)


_BAD: list[tuple[Callable[[list[Row]], object], str]] = [
    (_change(0, grade="2"), r"{place}: grade '2': it must be 0 or 1, \? for undecided"),
    (_change(0, grade="-1"), "{place}: grade '-1'"),
    (_change(0, grade="yes"), "{place}: grade 'yes'"),
    (_change(0, notes="quality, odd"), "{place}: notes 'quality, odd': write quality, ambiguity"),
    (_change(0, minutes="soon"), "{place}: minutes 'soon'"),
    (_change(0, minutes="nan"), "{place}: minutes 'nan'"),
    (_change(0, minutes="-1"), "{place}: minutes '-1': they must be a number of at least 0"),
    (_change(0, minutes="1e999"), "{place}: minutes '1e999'"),
    (_change(0, query="another"), "{place}: the query is not that of item"),
    (_change(0, code="another"), "{place}: the code is not that of item"),
    (_change(0, item="x"), "{place}: item 'x': leave sample, item"),
    (_change(0, item="9999"), "{place}: 'ann' was not given item 9999"),
    (_change(0, annotator="zoe"), "{place}: 'zoe' was not given item"),
    (_change(0, grade="", comment="odd"), "{place}: comment is filled in, grade is not"),
    (lambda rows: rows.insert(0, rows[1]), r"sheet.csv:4: 'ann' votes twice on query"),
    (_change(0, sample="s0"), "sample 's.*, but {place} is of 's0'"),
    (lambda rows: [row.update(sample="s0") for row in rows], "{place}: the store holds no sam"),
    (lambda rows: [row.update(grade="") for row in rows], "sheet.csv: no row has a grade"),
    (_change(0, annotator="bob"), "{place}: 'bob' in a sheet of 'ann'"),
    (
        lambda rows: [
            row.update(annotator="bob") if n == 0 else row.update(grade="")
            for n, row in enumerate(rows)
        ],
        "{place}: 'bob' in a sheet of 'ann'",
    ),
    (lambda rows: [row.pop("code") for row in rows], "sheet.csv:1: the header lacks code"),
]


def test_a_bad_sheet_is_told_by_its_line_and_stores_nothing(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    whole = read(filled(database, sample, "ann", tmp_path, grade(1)))
    whole.sort(key=lambda row: len(row["code"]))  # the first is on line 2, whatever follows
    file = tmp_path / "sheet.csv"
    for spoil, told in _BAD:
        rows = [dict(row) for row in whole]
        spoil(rows)
        save(file, rows)
        with pytest.raises(SourceError, match=told.format(place=f"{file}:2")):
            read_sheets(database, [file], SANDBOX)
        assert said(database, sample) == [], told


def test_a_sheet_that_is_a_header_alone_is_named(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    file = filled(database, sample, "ann", tmp_path, grade(1))
    header = file.read_text("utf-8-sig").partition("\n")[0]
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(header)
    with pytest.raises(SourceError, match=r"one\.csv, .*two\.csv: no row has a grade"):
        read_sheets(database, [tmp_path / "one.csv", tmp_path / "two.csv"], SANDBOX)


_SHOWN = {  # a query, and as a spreadsheet shows it
    "1e5": "1.00E+05", "true": "TRUE", "march 5": "05-Mar", "1/2": "01. Feb", "3:30 pm": "15:30",
    "0012": "12", "5 mars": "3月5日",
}  # fmt: skip


def _values(folder: Path) -> tuple[Database, Sample]:
    database = empty_store(folder / "store")
    queries = [Query.of(text) for text in (*_SHOWN, "sort 2 lists")]
    also_collected(database, "c", queries, [Code.of("def f():\n    return 1")])
    return database, drawn(database, "ann")


def test_queries_that_a_spreadsheet_took_for_values_are_read_by_their_items(
    tmp_path: Path,
) -> None:
    database, sample = _values(tmp_path)
    show: Change = lambda row: row.update(grade="1", query=_SHOWN.get(row["query"], row["query"]))  # noqa: E731 - in a line
    read_sheets(database, [filled(database, sample, "ann", tmp_path, show)], SANDBOX)
    assert len(said(database, sample)) == len(sample.items) == len(_SHOWN) + 1


@pytest.mark.parametrize(
    ("query", "cell"),
    [("1e5", "1/2"), ("1e5", "another"), ("sort 2 lists", "05-Mar"), ("true", "march 5")],
)
def test_a_query_that_no_spreadsheet_shows_so_is_refused(
    tmp_path: Path, query: str, cell: str
) -> None:
    database, sample = _values(tmp_path)

    def change(row: Row) -> None:
        row.update(grade="1", query=cell if row["query"] == query else row["query"])

    file = filled(database, sample, "ann", tmp_path, change)
    with pytest.raises(SourceError, match=r"csv:\d+: the query is not that of item .*as text"):
        read_sheets(database, [file], SANDBOX)
    assert said(database, sample) == []


def test_a_good_file_beside_a_bad_one_is_not_stored(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    good = filled(database, sample, "ann", tmp_path, grade(1))
    bad = filled(database, sample, "bob", tmp_path, grade(4))
    with pytest.raises(SourceError, match=f"{bad}:2: grade '4'"):
        read_sheets(database, [good, bad], SANDBOX)
    assert said(database, sample) == []


def test_two_files_of_one_annotator_are_read_where_they_share_no_item(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    file = filled(database, sample, "ann", tmp_path, grade(1))
    rows, other = read(file), tmp_path / "other.csv"
    save(file, rows[:7])
    save(other, rows[6:])
    with pytest.raises(SourceError, match=r"other\.csv:2: 'ann' votes twice"):
        read_sheets(database, [file, other], SANDBOX)
    save(other, rows[7:])
    assert len(_read_all(database, sample, file, other)) == len(sample.items)


def test_a_sheet_of_another_sample_is_refused(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    other = drawn(database, "ann", pairs=5, seed=3)
    files = [filled(database, one, "ann", tmp_path, grade(0)) for one in (sample, other)]
    with pytest.raises(SourceError, match="read the sheets of each sample by themselves"):
        read_sheets(database, files, SANDBOX)


def test_a_filled_sheet_is_not_written_over_and_an_empty_one_is(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    write_sheets(database, sample, ["ann"], tmp_path)
    file = filled(database, sample, "ann", tmp_path, grade(1))
    before = file.read_bytes()
    with pytest.raises(SourceError, match="was filled in"):
        write_sheets(database, sample, ["bob", "ann"], tmp_path)
    assert [*tmp_path.glob("*.csv")] == [file]
    assert file.read_bytes() == before


def test_a_program_runs_in_a_box_and_its_end_is_stored_with_the_vote(
    database: Database, sample: Sample, tmp_path: Path, ran: list[str]
) -> None:
    program = "from target import f\nassert f()"

    def fill(row: Row) -> None:
        row.update(grade="1", program=program if row["item"] == "2" else "")

    file = filled(database, sample, "ann", tmp_path, fill)
    assert read_sheets(database, [file], SANDBOX).programs == 1
    assert ran == [program]
    [vote] = [vote for vote in said(database, sample) if vote.program]
    assert (vote.key, vote.execution) == (sample.items[1].key, PASSED)


def test_nothing_is_stored_where_the_sandbox_fails(
    database: Database, sample: Sample, tmp_path: Path, ran: list[str]
) -> None:
    fill: Change = lambda row: row.update(grade="1", program="lose the box")  # noqa: E731
    file = filled(database, sample, "ann", tmp_path, fill)
    with pytest.raises(SandboxError, match="the box is lost"):
        read_sheets(database, [file], SANDBOX)
    assert said(database, sample) == []


def test_a_third_person_gets_what_two_who_are_done_disagree_on(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    odd: Change = lambda row: row.update(grade=str(int(int(row["item"]) in (2, 5))))  # noqa: E731
    ann = filled(database, sample, "ann", tmp_path, grade(0))
    bob = filled(database, sample, "bob", tmp_path, odd)
    rows = read(bob)
    save(bob, rows[:-1])
    read_sheets(database, [ann, bob], SANDBOX)
    with pytest.raises(SourceError, match="has no conflict"):
        positions_in_conflict(database, sample, ["cam"])
    save(bob, rows)
    read_sheets(database, [bob], SANDBOX)
    with pytest.raises(SourceError, match="'ann' has labelled what is in conflict"):
        positions_in_conflict(database, sample, ["cam", "ann"])
    disputed = positions_in_conflict(database, sample, ["cam"])
    assert disputed == {2, 5}
    samples.assign(database, sample, "cam", disputed)
    cam = filled(database, sample, "cam", tmp_path, grade(1))
    assert {row["item"] for row in read(cam)} == {"2", "5"}
    read_sheets(database, [cam], SANDBOX)
    with pytest.raises(SourceError, match="has no conflict"):
        positions_in_conflict(database, sample, ["dan"])


def test_whoever_has_labelled_all_items_changes_no_blind_label(
    database: Database, sample: Sample, tmp_path: Path
) -> None:
    """Undecided on all of them, one would see others' labels, and then give them as blind ones."""
    read_sheets(database, [filled(database, sample, "ann", tmp_path, grade(1))], SANDBOX)
    file = filled(database, sample, "bob", tmp_path, grade(0))
    rows = read(file)
    save(file, [row | {"grade": "?"} for row in rows])
    read_sheets(database, [file], SANDBOX)
    save(file, [row | {"grade": "1"} for row in rows])
    with pytest.raises(SourceError, match=f"{file}:2: 'bob' has labelled all items"):
        read_sheets(database, [file], SANDBOX)
    assert {vote.relevance for vote in said(database, sample) if vote.annotator == "bob"} == {None}


def test_the_texts_that_are_drawn_are_hostile(sample: Sample) -> None:
    assert {item.code_id for item in sample.items} == {code.code_id for code in CODES}
