"""Laws of Python files as a source (`python_source`, `corpus.functions`, `documentation_pairs`).

Covers `tasks.corpus.documentation_pairs`, `tasks.corpus.functions`.
"""

import ast
import logging
import os
import sys
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.errors import SettingsError, SourceError
from infra.files import LINK_OUTSIDE
from infra.languages.python.functions import functions_of
from infra.settings import SourceSettings
from tasks.corpus.documentation_pairs import AMBIGUOUS, NOT_DRAWN
from tasks.corpus.functions import FILE_NAME, FILE_NOT_PARSED
from tasks.corpus.merging import REPEATED_CODE
from tasks.filters import SPECIAL, documentation, testable
from tasks.filters.near_duplicates import NEAR
from tasks.sources import open_source
from tasks.sources.python_source import STANDARD_LIBRARY_QUERIES
from tests.tasks.sources.examples import (
    DOUBLE,
    HALVE,
    PYTHON_2,
    python_source,
    read_all,
    read_whole,
    write_lines,
)


def read(folder: Path, **changed: object) -> list[Collected]:
    queries = write_lines(folder / "asked.jsonl", {"query": "double it"})
    given = {"queries": queries, "documentation_queries": 500, **changed}
    return list(read_all("python-source", folder, **given).values())


def documented(number: int, paragraph: str = "") -> str:
    """Return a function unlike those of other numbers."""
    names = "\n".join(f"    v{number}_{n} = w{number}_{n}" for n in range(12))
    text = paragraph or f"Return the answer number {number}."
    return f'def function_{number}(x):\n    """{text}"""\n{names}\n    return x\n\n\n'


def test_testable_functions_are_for_the_agents(tmp_path: Path) -> None:
    main = read_whole(open_source(python_source(tmp_path)))["python-source"]
    assert [(code.name, code.origin) for code in main.codes] == [
        ("halve", "package/__init__.py:1"),
        ("double", "package/arithmetic.py:1"),
    ]
    assert main.codes[1].module == "package.arithmetic"
    assert main.codes[1].documentation == "Return twice the number."
    assert main.labels == ()
    assert main.dropped == {FILE_NOT_PARSED: 1, REPEATED_CODE: 1}


def test_each_rule_counts_what_it_drops(tmp_path: Path) -> None:
    near = documented(1).replace("function_1", "another_1")
    dropped = "def f(): return 1\ndef g(x): pass\nclass C:\n def __len__(self): return 1\n"
    (tmp_path / "a.py").write_text(f"{dropped}{HALVE}\n{HALVE}{documented(1)}{near}")
    (kept,) = read(tmp_path, documentation_queries=0)
    assert NEAR not in kept.dropped, "a folder's own are named alone"
    assert kept.notes[1] == "another_1 (a.py:27) is a near duplicate of function_1 (a.py:10)"
    rules = ("special-methods", "testable", "near-duplicates")
    (main,) = read(tmp_path, documentation_queries=0, filters=rules)
    reasons = (testable.NO_PARAMETER, testable.NO_RESULT, SPECIAL, REPEATED_CODE, NEAR)
    assert main.dropped == dict.fromkeys(reasons, 1)
    assert [code.name for code in main.codes] == ["halve", "function_1"]


def test_a_file_that_does_not_parse_is_logged_with_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "good.py").write_text(HALVE)
    (tmp_path / "old.py").write_text("\n" + PYTHON_2)
    (tmp_path / "latin.py").write_bytes(b"#\n#\n#\n# \xe4\n")
    for coding in ("klingon", "rot13", "hex", "undefined"):
        (tmp_path / f"odd_{coding}.py").write_bytes(b"# coding: %s\nx\n" % coding.encode())
    with caplog.at_level(logging.WARNING):
        main, _ = read(tmp_path)
    assert main.dropped[FILE_NOT_PARSED] == 6
    logged = [record.getMessage() for record in caplog.records]
    assert [message.split(" is left out")[0].rpartition("/")[2] for message in logged] == [
        "latin.py:4",
        *(f"odd_{coding}.py:1" for coding in ("hex", "klingon", "rot13", "undefined")),
        "old.py:3",
    ]


def test_files_of_other_languages_are_told_with_the_source_that_reads_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.js", "b.mjs", "c.go", "node_modules/d.js", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    told = "1 of go, 2 of javascript: --source source-code reads them"
    with pytest.raises(SourceError, match=rf"holds no \*\.py files but {told}, or give --path"):
        read(tmp_path)
    (tmp_path / "f.py").write_text(HALVE)
    read(tmp_path)
    assert [record.getMessage() for record in caplog.records] == [
        f"files of other languages are not read, {told}"
    ]


def test_a_file_whose_name_is_not_utf_8_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(HALVE)
    (tmp_path / os.fsdecode(b"b\xff.py")).write_text(DOUBLE)
    main, pairs = read(tmp_path)
    assert [code.name for code in main.codes] == ["halve"]
    assert main.dropped == {FILE_NAME: 1}
    assert pairs.dropped[FILE_NAME] == 1


def test_the_corpus_is_never_run(tmp_path: Path) -> None:
    trap = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"
    (tmp_path / "trap.py").write_text(trap + HALVE)
    read(tmp_path)
    assert not (tmp_path / "ran").exists()
    assert "trap" not in sys.modules


def test_documentation_pairs_are_searched_among_all_functions(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(DOUBLE + HALVE + "def bare(): pass\n")
    _, pairs = read(tmp_path)
    (query,), (label,) = pairs.queries, pairs.labels
    codes = {code.code_id: code for code in pairs.codes}
    assert query.text == "Return twice the number."
    assert (label.query_id, label.origin, label.relevance) == (query.query_id, "documentation", 1.0)
    assert codes[label.code_id].name == "double"
    assert {code.name for code in pairs.codes} == {"double", "halve", "bare"}
    assert not any("twice" in code.text or code.documentation for code in pairs.codes)
    assert pairs.dropped == {documentation.UNDOCUMENTED: 2}


def test_a_paragraph_at_several_functions_is_no_query(tmp_path: Path) -> None:
    same = "Return one of two answers."
    (tmp_path / "a.py").write_text(documented(1, same) + documented(2, same) + documented(3))
    _, pairs = read(tmp_path)
    assert [query.text for query in pairs.queries] == ["Return the answer number 3."]
    assert pairs.dropped[AMBIGUOUS] == 2


def test_a_near_duplicate_of_the_right_function_is_no_wrong_answer(tmp_path: Path) -> None:
    pair = documented(1)
    undocumented = "\n".join(line for line in pair.splitlines() if '"""' not in line)
    copy = undocumented.replace("function_1", "copied")
    (tmp_path / "a.py").write_text(copy + "\n\n\n" + pair + documented(2))
    _, pairs = read(tmp_path)
    assert {code.name for code in pairs.codes} == {"function_1", "function_2"}
    assert len(pairs.queries) == 2
    assert pairs.dropped[NEAR] == 1


def test_of_equal_functions_the_documented_one_is_the_pair(tmp_path: Path) -> None:
    bare = documented(1).replace('    """Return the answer number 1."""\n', "")
    (tmp_path / "a.py").write_text(bare + documented(1))
    _, pairs = read(tmp_path)
    assert len(pairs.codes) == len(pairs.queries) == 1
    assert pairs.dropped[REPEATED_CODE] == 1


def test_the_seed_decides_which_pairs_are_drawn(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(map(documented, range(30))))
    drawn = [
        {query.text for query in read(tmp_path, documentation_queries=10, seed=seed)[1].queries}
        for seed in (1, 1, 2)
    ]
    assert [len(texts) for texts in drawn] == [10, 10, 10]
    assert drawn[0] == drawn[1] != drawn[2]
    assert read(tmp_path, documentation_queries=10)[1].dropped[NOT_DRAWN] == 20


def test_the_draw_does_not_depend_on_where_functions_stand(tmp_path: Path) -> None:
    for name, numbers in (("one", range(30)), ("other", reversed(range(30)))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("".join(map(documented, numbers)))
    one, other = (read(tmp_path / name, documentation_queries=5)[1] for name in ("one", "other"))
    assert {label.code_id for label in one.labels} == {label.code_id for label in other.labels}


@pytest.mark.parametrize("changed", [{"seed": 1}, {"documentation_queries": 3}, {}])
def test_the_fingerprint_knows_the_settings_that_matter_and_new_files(
    tmp_path: Path, changed: dict[str, object]
) -> None:
    settings = python_source(tmp_path)
    before = open_source(settings).fingerprint()
    if not changed:
        (tmp_path / "new.py").write_text("")
    other = SourceSettings.model_validate({**settings.model_dump(), **changed})
    assert open_source(other).fingerprint() != before


@pytest.mark.parametrize("place", ["path", "distribution"])
def test_files_without_queries_give_the_benchmark_by_documentation_alone(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "a.py").write_text(DOUBLE + HALVE)
    options = {"path": tmp_path} if place == "path" else {"distribution": "typer"}
    source = open_source(SourceSettings.model_validate(options))
    assert source.fingerprint() == source.fingerprint()
    main, pairs = read_whole(source).values()
    assert main.codes
    assert main.queries == ()
    assert main.labels == ()
    assert len(pairs.queries) == len(pairs.labels) > 0


@pytest.mark.parametrize(("asked", "pairs"), [({}, 0), ({"documentation_queries": 7}, 7)])
def test_who_has_queries_gets_documentation_pairs_where_they_are_asked_for(
    tmp_path: Path, asked: dict[str, object], pairs: int
) -> None:
    (tmp_path / "a.py").write_text("".join(map(documented, range(9))))
    queries = write_lines(tmp_path / "asked.jsonl", {"query": "double it"})
    _, *others = read_all("python-source", tmp_path, queries=queries, **asked).values()
    assert [len(other.queries) for other in others] == [pairs] * bool(pairs)


def distribution(folder: Path, name: str, licence: str, function: str) -> None:
    """Write an installed distribution of one module."""
    (folder / f"{name}.py").write_text(function)
    stated = folder / f"{name}-1.dist-info"
    stated.mkdir()
    (stated / "METADATA").write_text(f"Name: {name}\nVersion: 1\nLicense: {licence}\n")
    (stated / "RECORD").write_text(f"{name}.py,,\n")


@pytest.fixture
def distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    distribution(tmp_path, "first_of_ours", "MIT", documented(1) + HALVE)
    distribution(tmp_path, "second_of_ours", "proprietary", documented(2) + HALVE)
    distribution(tmp_path, "third_of_ours", "", documented(3))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_several_distributions_are_added_each_with_its_origin_and_licence(
    distributions: Path,
) -> None:
    names = ["first_of_ours", "second_of_ours", "third_of_ours", "first_of_ours"]
    queries = write_lines(distributions / "asked.jsonl", {"query": "double it"})
    given = SourceSettings.model_validate({"distribution": names, "queries": queries})
    (collected,) = read_whole(open_source(given)).values()
    assert [query.text for query in collected.queries] == ["double it"]
    assert [(code.name, code.module, code.licence) for code in collected.codes] == [
        ("function_1", "first_of_ours", "MIT"), ("halve", "first_of_ours", "MIT"),
        ("function_2", "second_of_ours", "proprietary"),
        ("function_3", "third_of_ours", "unknown"),
    ]  # fmt: skip
    assert [(part.licence, part.location) for part in collected.parts] == [
        ("MIT", "distribution first_of_ours"), ("proprietary", "distribution second_of_ours"),
        ("unknown", "distribution third_of_ours"),
    ]  # fmt: skip


def test_one_distribution_in_a_list_is_that_distribution(distributions: Path) -> None:
    one, listed = (
        read_whole(open_source(SourceSettings.model_validate({"distribution": given})))
        for given in ("first_of_ours", ["first_of_ours"])
    )
    assert one == listed
    assert set(listed) == {"python-source", "python-source-documentation"}


@pytest.mark.parametrize(
    ("names", "more", "told"),
    [(["first_of_ours", "second_of_ours"], {}, "give --queries with a JSON Lines file"),
     (["first_of_ours", "none_of_ours"], {"queries": "asked.jsonl"}, "none_of_ours' is not inst"),
     (["first_of_ours", "second_of_ours"], {"path": "."}, "are both given: leave one out")],
)  # fmt: skip
def test_several_distributions_that_cannot_be_read_say_why(
    distributions: Path, names: list[str], more: dict[str, object], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        open_source(SourceSettings.model_validate({"distribution": names, **more}))


def test_files_without_queries_and_without_documentation_pairs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(HALVE)
    for place in ({"path": tmp_path}, {"distribution": "typer"}):
        options = SourceSettings.model_validate({**place, "documentation_queries": 0})
        with pytest.raises(SettingsError, match=r"give --queries with a JSON Lines file"):
            open_source(options)


@pytest.mark.parametrize("others", [{}, {"queries": "gone.jsonl"}, {"documentation_queries": 0}])
def test_a_missing_folder_is_named_before_anything_else(others: dict[str, object]) -> None:
    with pytest.raises(SourceError, match=r"--path nope: no such folder"):
        open_source(SourceSettings.model_validate({"path": "nope", **others}))


def test_a_missing_file_of_queries_is_a_source_error(tmp_path: Path) -> None:
    settings = python_source(tmp_path)
    (tmp_path / "asked.jsonl").unlink()
    with pytest.raises(SourceError, match=r"asked.jsonl cannot be read"):
        open_source(settings).fingerprint()


@pytest.fixture(scope="module", params=[pytest.param("whole", marks=pytest.mark.exhaustive)])
def standard_library() -> dict[str, Collected]:
    return read_whole(open_source(SourceSettings()))


def test_the_standard_library_comes_with_forty_queries(
    standard_library: dict[str, Collected],
) -> None:
    main = standard_library["python-source"]
    assert len(main.queries) == 40
    assert all(query.origin.startswith(STANDARD_LIBRARY_QUERIES.name) for query in main.queries)
    assert len(main.codes) > 4000
    assert FILE_NOT_PARSED not in main.dropped


def test_answers_to_the_packaged_queries_are_among_the_functions(
    standard_library: dict[str, Collected],
) -> None:
    names = {f"{code.module}.{code.name}" for code in standard_library["python-source"].codes}
    assert {
        "ipaddress.ip_address", "textwrap.shorten", "difflib.get_close_matches", "html.escape",
        "urllib.parse.urlencode", "shutil.which", "glob.glob", "fnmatch.fnmatch",
        "statistics.median", "bisect.bisect_right", "heapq.nlargest", "calendar.isleap",
        "email.utils.parsedate_to_datetime", "ast.literal_eval", "copy.deepcopy",
        "functools.lru_cache", "pprint.pformat", "shlex.split", "inspect.getdoc",
    } <= names  # fmt: skip


def test_every_testable_function_of_the_standard_library_has_input_and_result(
    standard_library: dict[str, Collected],
) -> None:
    for code in standard_library["python-source"].codes[::20]:
        (function,) = functions_of(code.text)
        returns = [
            node for node in ast.walk(ast.parse(function.text)) if isinstance(node, ast.Return)
        ]
        assert code.parameters, code.name
        assert any(node.value is not None for node in returns), code.name


def test_no_query_stands_in_the_function_it_asks_for(
    standard_library: dict[str, Collected],
) -> None:
    pairs = standard_library["python-source-documentation"]
    text_of = {code.code_id: " ".join(code.text.split()) for code in pairs.codes}
    query_of = {query.query_id: query.text for query in pairs.queries}
    assert len(query_of) == len(pairs.labels) == 500
    assert len(text_of) > 14_000
    for label in pairs.labels:
        assert query_of[label.query_id] not in text_of[label.code_id]


def test_a_link_that_leads_outside_is_left_out_named_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "mine.py").write_text(HALVE)
    (tmp_path / "theirs.py").write_text(DOUBLE)
    settings = SourceSettings(name="python-source", path=corpus, documentation_queries=5)
    before = open_source(settings).fingerprint()
    (corpus / "theirs.py").symlink_to("../theirs.py")
    main, pairs = read(corpus)
    assert [code.name for code in main.codes] == ["halve"]
    assert (main.dropped, pairs.dropped[LINK_OUTSIDE]) == ({LINK_OUTSIDE: 1}, 1)
    assert "theirs.py is left out: the link leads outside of" in caplog.text
    assert open_source(settings).fingerprint() != before
