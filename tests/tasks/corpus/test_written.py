"""Laws of written queries: whose are drawn, what the model sees, and which are left out."""

from pathlib import Path

import pytest

from infra.errors import SettingsError, SourceError, UnknownNameError
from infra.records import Code
from infra.settings import SourceSettings
from tasks.corpus.written import (
    ABOUT,
    GENERAL,
    NAMED,
    REPEATED,
    UNFIT,
    UNREAD,
    WrittenOptions,
    WrittenQuery,
    draw_by_file,
    leave_out,
    masked,
    names_function,
)
from tasks.sources import open_source, place_written, written_queries


def code(name: str, text: str = "def f(x):\n    return x", origin: str = "a.py:1") -> Code:
    return Code.of(f"{text}  # {name}", name=name, origin=origin)


def test_each_file_has_a_function_drawn_before_any_has_a_second_one() -> None:
    sizes = {"a": 40, "b": 1, "c": 2}
    codes = [
        code(f"{file}{number}", origin=f"{file}.py:{number}")
        for file, size in sizes.items()
        for number in range(size)
    ]
    for number, files in {2: 2, 3: 3, 5: 3, 43: 3, 99: 3}.items():
        drawn = draw_by_file(codes, number, 7)
        assert len({one.code_id for one in drawn}) == len(drawn) == min(number, 43)
        assert len({one.origin[:1] for one in drawn}) == files
    assert sorted(one.origin[:1] for one in draw_by_file(codes, 5, 7)) == ["a", "a", "b", "c", "c"]
    assert draw_by_file(codes, 9, 7)[:5] == draw_by_file(codes, 5, 7), "a larger draw holds it"
    assert draw_by_file(codes, 5, 8) != draw_by_file(codes, 5, 7)
    assert draw_by_file([], 5, 7) == []


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("to_iso", "def to_iso(x):\n    return to_iso(x)", "def #(x):\n    return #(x)"),
        ("C.to_iso", "def to_iso(self): self.to_iso()", "def #(self): self.#()"),
        ("to_iso", '"""TO_ISO, toIso, To ISO, to-iso."""', '"""#, #, #, #."""'),
        ("to_iso", "x = 'to_iso' + b.load_to_iso_all", "x = '#' + b.load_#_all"),
        ("to_iso", "tomato_isolation", "tomato_isolation"),
        ("get", "getUser = dict.get(target, widget)", "#User = dict.#(target, widget)"),
        ("_sort", "def _sort(sorted): sort_all", "def _#(sorted): #_all"),
        ("toISO8601", "function toISO8601(){ return to_iso_8601 }", "function #(){ return # }"),
        ("größe", "def größe(): größe, gro\u0308ße", "def #(): #, #"),
        ("file_of", "def \ufb01le_of(): pass", "def #(): pass"),
        ("a(+b", "def f(): a(+b", "def f(): #"),
        ("_", "def _(x): return _", "def _(x): return _"),
    ],
)
def test_the_name_is_hidden_however_it_is_spelt(name: str, text: str, shown: str) -> None:
    assert masked(Code.of(text, name=name)) == shown.replace("#", "___")


@pytest.mark.parametrize(
    ("name", "query", "whole", "half"),
    [
        ("parse_iso_date", "how to parse an ISO date", False, True),
        ("parse_iso_date", "parseIsoDate in python", True, True),
        ("parse_iso_date", "call PARSEISODATE", True, True),
        ("parse_iso_date", "parsing dates", False, True),
        ("parse_iso_date", "read an iso timestamp", False, False),
        ("find_by_id", "look a user up by their number", False, False),
        ("Cache.get", "get what was kept", True, True),
        ("Cache.get", "look up what was kept", False, False),
        ("copyFiles", "copies of a file", False, True),
        ("add", "total address book entries", False, False),
        ("größe", "GRO\u0308ẞE einer Datei", True, True),
        ("größe", "grosse Dateien", False, False),
        ("_", "first of a list", False, False),
    ],
)
def test_a_query_names_its_function_in_any_spelling_or_by_most_of_its_words(
    name: str, query: str, whole: bool, half: bool
) -> None:
    assert names_function(query, code(name)) == whole
    assert names_function(query, code(name), 0.5) == half


def test_what_is_left_out_has_its_reason_and_what_repeats_a_left_out_one_stays() -> None:
    functions = [
        code("sum_of_squares", "def f(numbers):\n    '''Add up the numbers, each times itself.'''"),
        code("mean", "def f(numbers):\n    '''Add up the numbers and divide.'''"),
        code("median", "def f(numbers):\n    '''Middle of the numbers.'''"),
    ]
    first, second, third = (one.code_id for one in functions)
    told = [
        ("add up each number times itself", first, ""),
        ("Add up: each number, times itself!", second, REPEATED),
        ("the sum of squares of numbers", first, NAMED),
        ("number", second, UNFIT),
        ("what is ___ of numbers", second, UNFIT),
        ("divide " * 40, second, UNFIT),
        ("", second, UNREAD),
        ("What does this function do to numbers?", second, ABOUT),
        ("how do I do the numbers", third, GENERAL),
        ("mean of all numbers", second, NAMED),
        ("mean of all numbers", third, ""),
    ]
    rows = [
        WrittenQuery(
            query=query, form="question", function=function, place="a.py:1", model="m",
            left_out=UNREAD * (why == UNREAD),
        )
        for query, function, why in told
    ]  # fmt: skip
    of: dict[str, Code] = {one.code_id: one for one in functions}
    found = leave_out(rows, (each.text for each in functions), of, WrittenOptions(top_k=2))
    assert [(row.query, row.function, row.left_out) for row in found] == told


def settings(folder: Path, **more: object) -> SourceSettings:
    given = {"name": "python-source", "path": folder / "src", "queries": "written", **more}
    return place_written(SourceSettings.model_validate(given), folder / "store", 20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("def double(x):\n    return x + x\n")
    return tmp_path


def test_without_what_a_model_wrote_the_error_says_how_to_get_it(folder: Path) -> None:
    with pytest.raises(SourceError, match=r"run `cosqa collect` with --queries written"):
        open_source(settings(folder)).read()


def test_the_fingerprint_knows_code_and_options_and_not_the_folder_of_the_file(
    folder: Path,
) -> None:
    mark = open_source(settings(folder)).fingerprint()
    assert open_source(settings(folder / "." / "src" / "..")).fingerprint() == mark
    assert open_source(settings(folder, written={"seed": 1})).fingerprint() != mark
    (folder / "src" / "b.py").write_text("def halve(x):\n    return x / 2\n")
    assert open_source(settings(folder)).fingerprint() != mark


def test_queries_are_written_over_the_code_of_several_sources_too(folder: Path) -> None:
    codes = (f"python-source={folder / 'src'}", f"source-code={folder / 'src'}")
    found = written_queries(settings(folder, codes=codes)).functions()
    assert [one.name for one in found] == ["double", "double"]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"written": {"functions": 0}}, SettingsError, r"source\.written\.functions: .*than or"),
        ({"written": {"function": 3}}, SettingsError, "Its options: functions, forms, seed"),
        ({"written": {"forms": "essay"}}, SettingsError, r"source\.written\.forms\.0: .*keywords"),
        ({"queries": "writen"}, UnknownNameError, "unknown source 'writen'.*mean 'written'"),
        ({"queries": "written=src"}, UnknownNameError, "unknown source 'written=src'"),
        ({"queries": "commits", "written": {"seed": 1}}, SettingsError, "written is chosen neit"),
    ],
)
def test_options_that_cannot_hold_are_refused_by_name(
    folder: Path, given: dict[str, object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        open_source(settings(folder, **given))
