"""Laws of runs on bad input: a message that names the remedy, and an unchanged store.

Covers `infra.errors`, `tasks.stages.preflight`, `tasks.runtime.input_checks`, `flows.cli.checks`.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from prefect import flow
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows.cli import main as cli
from flows.runtime.prefect_server import prefect_api
from infra.errors import SettingsError, SourceError
from infra.settings import SourceSettings, StoreSettings
from infra.store import open_database
from infra.store.database_file import writer_lock
from tasks.inputs.pairs import read_queries
from tasks.sources import open_source
from tasks.stages.collect import collect_source

GOOD = {"id": "n1", "code": "def double(number):\n    return number * 2"}
QUERY = {"id": "n1", "query": "double a number"}

Command = Callable[..., str]


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "queries.jsonl").write_text(lines(QUERY))
    (folder / "codes.jsonl").write_text(lines(GOOD))
    return folder


@pytest.fixture
def failing(
    source: Path,
    tmp_path: Path,
    prefect_server: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """Return a function that runs a command, which must fail, and returns its error message."""

    def run(name: str, *options: str) -> str:
        own = {"--path": str(source), "--store": str(tmp_path / "store")}
        own_options = [word for pair in own.items() for word in pair]
        arguments = ["cosqa", name, "--source", "jsonl", *own_options, *options]
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.setenv("COSQA_LLM__MODEL", "openai/scripted")
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 1
        output = capsys.readouterr().err
        message = output[output.index("error: ") :]
        assert "Traceback" not in message
        return message

    return run


def rows_in(folder: Path) -> dict[str, int]:
    with open_database(StoreSettings(folder=folder)).transaction() as tx:
        tables = [row[0] for row in tx.rows("SELECT table_name FROM duckdb_tables()")]
        return {str(table): tx.count(f"SELECT count(*) FROM {table}") for table in tables}


def test_functions_that_all_do_not_parse_are_told_and_the_store_stays_untouched(
    failing: Command, source: Path, tmp_path: Path
) -> None:
    open_database(StoreSettings(folder=tmp_path / "store"))
    before = rows_in(tmp_path / "store")
    (source / "codes.jsonl").write_text(lines({"id": "n2", "code": "def half(number:\n    return"}))
    message = failing("collect")
    for word in ("jsonl", "invalid syntax", "source.filters"):
        assert word in message
    assert rows_in(tmp_path / "store") == before


def test_a_function_that_does_not_parse_is_dropped_and_counted(
    source: Path, tmp_path: Path, prefect_server: str
) -> None:
    (source / "codes.jsonl").write_text(lines(GOOD, {"id": "n2", "code": "def half(x):\n print x"}))
    store = StoreSettings(folder=tmp_path / "store")
    settings = SourceSettings.model_validate({"name": "jsonl", "path": source})
    fingerprint = open_source(settings).fingerprint()
    (collection,) = flow(name="collect")(collect_source)(
        open_database(store), settings, fingerprint
    )
    assert collection.codes == 1
    with open_database(store).transaction() as tx:
        assert tx.rows("SELECT rule, items FROM dropped") == [
            ("function does not parse: Python 2 statement", 1)
        ]


MISTAKES = """
import io, os, sys
from contextlib import redirect_stderr
from flows.cli import main as cli

files = os.listdir()
for line in sys.stdin.read().splitlines():
    line, _, words = line.partition(" # ")
    sys.argv, shown = ["cosqa", *line.split()], io.StringIO()
    try:
        with redirect_stderr(shown):
            cli.main()
    except SystemExit as end:
        told = shown.getvalue().removeprefix("starting …\\n")
        assert end.code == 1, (line, end.code, told)
        assert told.startswith("error: "), (line, told)
        assert told.count("\\n") == 1, (line, told)
    else:
        raise AssertionError(line)
    assert all(word in told for word in words.split(" & ")), (line, told)
    assert "prefect" not in sys.modules, line
    assert os.listdir() == files, line
"""


def assert_told_at_once(lines: str, folder: Path) -> None:
    """Each command line is answered by one message, with all words behind ``#``, and nothing else.

    Prefect is not imported, and no file is made.
    """
    ended = subprocess.run(
        [sys.executable, "-c", MISTAKES],
        input=lines,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "COSQA_LLM__API_KEY": "sk"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_a_mistake_is_one_message_before_prefect_is_imported_or_a_store_is_made(
    tmp_path: Path,
) -> None:
    lines = """\
collect --source stackoverflow # stackoverflow & python-source & jsonl
benchmark --encoder word2vec # word2vec & minilm & codet5p
evaluate --method bm25+grep # grep & bm25
collect --path nope
collect --source jsonl
annotate
benchmark --path .
diff nope nope
leaderboard --benchmark nope
leaderboard --benchmark . --metric NDCQ
compare-annotators --truth nope
"""
    assert_told_at_once(lines, tmp_path)


# What a file of the source has in place of a right one, and what is told of it.
SPOILT: dict[str, tuple[bytes | None, str]] = {
    "codes": (None, "codes.jsonl"),
    "codes_cut": (lines(GOOD).encode() + b'{"id": "n2", "co', "codes.jsonl:2 & JSON"),
    "queries_latin": (
        lines(QUERY).encode() + '{"id": "n2", "query": "größte Zahl"}'.encode("latin-1"),
        "queries.jsonl:2 & UTF-8",
    ),
    "queries_empty": (
        lines(QUERY, {"id": "n2", "query": "  "}).encode(), "queries.jsonl:2 & empty",
    ),
    "queries_twice": (
        lines(QUERY, {"id": "n1", "query": "another query"}).encode(), "queries.jsonl:2 & n1",
    ),
    "labels_cut": (b"{\n", "labels.jsonl:1"),
}  # fmt: skip


def test_a_bad_file_is_named_with_its_line_and_the_store_stays_untouched(
    source: Path, tmp_path: Path
) -> None:
    open_database(StoreSettings(folder=tmp_path / "store"))
    before = rows_in(tmp_path / "store")
    told = ["collect --source jsonl --path nowhere --store store # nowhere"]
    for name, (content, words) in SPOILT.items():
        shutil.copytree(source, tmp_path / name)
        file = tmp_path / name / f"{name.partition('_')[0]}.jsonl"
        file.unlink() if content is None else file.write_bytes(content)
        told.append(f"collect --source jsonl --path {name} --store store # {words}")
    assert_told_at_once("\n".join(told), tmp_path)
    assert rows_in(tmp_path / "store") == before


def test_what_lacks_or_is_held_is_told_before_prefect_is_imported(
    source: Path, tmp_path: Path
) -> None:
    held = StoreSettings(folder=tmp_path / "held")
    open_database(held)
    open_database(StoreSettings(folder=tmp_path / "empty"))
    (tmp_path / "asked.jsonl").write_text(lines(QUERY, {"qerry": "add"}))
    (tmp_path / "code.py").write_text(str(GOOD["code"]))
    own = "--source jsonl --path source --model openai/m"
    with writer_lock(held, "annotate mine"):
        assert_told_at_once(
            f"""\
collect {own} --set source.distribution=rich # no option 'distribution' & =rich
collect {own} --set source.filters=short # short & testable & near-duplicates
collect {own} --set source.pth=x # no option 'pth' & did you mean 'path' & filters
collect --path . --queries asked.jsonl # asked.jsonl:2
collect --path . --queries written # no language model is named
annotate {own} --store nowhere # there is no store at nowhere
annotate {own} --store empty # run `cosqa collect`
publish --source jsonl --path source --store empty # has no collection
evaluate --source jsonl --path source --store empty # has no collection
leaderboard --store empty # has none, since nothing is collected: run `cosqa collect`
collect --source jsonl --path source --store held # is being written by annotate mine
annotate {own} --store held # is being written by annotate mine
""",
            tmp_path,
        )


def test_a_text_file_of_queries_has_one_on_each_line(tmp_path: Path) -> None:
    file = tmp_path / "asked.TXT"
    file.write_text("how to add\n\n  “sum” of a list \n")
    assert [query.text for _, query in read_queries(file)] == ["how to add", "“sum” of a list"]
    file.write_text(lines(QUERY))
    assert [name for name, _ in read_queries(file)] == ["n1"]
    other = tmp_path / "asked.csv"
    other.write_text("how to add\n")
    with pytest.raises(SourceError, match=r"asked.csv:1"):
        read_queries(other)


def test_a_prefect_server_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as probe:  # bound and never listening
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/api"
        with (
            temporary_settings({PREFECT_API_URL: url}),
            pytest.raises(SettingsError, match=rf"no Prefect server answers at {url} .*unset"),
            prefect_api(),
        ):
            pass


def test_a_locked_store_is_named_after_the_time_out_that_is_set(
    failing: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = StoreSettings(folder=tmp_path / "store")
    open_database(settings)
    monkeypatch.setenv("COSQA_STORE__LOCK_TIMEOUT_S", "0.5")
    hold = "import duckdb, sys; it = duckdb.connect(sys.argv[1]); print('held'); input()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", hold, str(settings.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        message = failing("collect")
        holder.communicate("\n")
    assert str(settings.database) in message
    assert "locked by another process for 0.5 s" in message
