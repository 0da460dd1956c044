"""The law of all readers: a spoiled file is read, or is an error that names it; nothing else.

Each reader has a small example; hypothesis flips, cuts, doubles and inserts bytes of its files:
over a thousand times in an ordinary run, over 10,000 times in a nightly one.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.collected import Content
from infra.errors import CosqaError
from infra.settings import SourceSettings, load_settings
from infra.settings.origins import PREFIX
from infra.store import corpus
from tasks.benchmarks import write_benchmark, write_run
from tasks.benchmarks.interchange import write_beir
from tasks.benchmarks.runs import rankings_of
from tasks.inputs.formats import read_pairs, read_query_texts
from tasks.inputs.formats.beir import Beir
from tasks.inputs.formats.export import read_benchmark
from tasks.inputs.pairs import read_queries, read_truth
from tasks.inputs.sheets import COLUMNS, Answer, read_answers, read_label_sheet, write_answers
from tasks.inputs.trec import read_run
from tasks.sources import open_source, sources
from tasks.stages.study.report import read_annotators
from tasks.suites import suites
from tests.fakes.benchmarks import agents_benchmark
from tests.fakes.stores import empty_store
from tests.fuzzing import NIGHTLY, cases, spoiled
from tests.tasks.inputs.formats.test_export import seal
from tests.tasks.sources.examples import DOUBLE, read_whole, write_lines


class Reader(NamedTuple):
    """What writes an example into a folder and returns what reads it, and the files to spoil."""

    example: Callable[[Path], Callable[[], object]]
    files: str = "*"


def _source(name: str) -> Reader:
    def example(folder: Path) -> Callable[[], object]:
        options = sources.get(name).write_example(folder)
        settings = SourceSettings.model_validate({"name": name, **options})
        return lambda: read_whole(open_source(settings))

    return Reader(example)


def _suite(name: str) -> Reader:
    def example(folder: Path) -> Callable[[], object]:
        suite = suites.get(name)
        options = suite.write_example(folder)
        return lambda: suite().figures(suite.Options.model_validate(options))

    return Reader(example)


def _file(text: str, read: Callable[[Path], object], name: str = "file.jsonl") -> Reader:
    def example(folder: Path) -> Callable[[], object]:
        (folder / name).write_text(text)
        return lambda: read(folder / name)

    return Reader(example)


def _run(folder: Path) -> Callable[[], object]:
    run = {f"q{query}": {f"c{code}": code / 7 for code in range(4)} for query in range(3)}
    file = write_run(folder, "method", rankings_of(run))
    return lambda: read_run(file)


def _beir(folder: Path) -> Callable[[], object]:
    write_beir(agents_benchmark(), folder / "beir")
    return lambda: Beir(folder / "beir").benchmark()


def _export(folder: Path) -> Callable[[], object]:
    write_benchmark(agents_benchmark(), folder / "b", include_undecided=True)

    def read() -> object:
        benchmark = read_benchmark(folder / "b")
        return list(benchmark.evidence), len(benchmark.evidence)

    return read


def _sealed_export(folder: Path) -> Callable[[], object]:
    """An export whose manifest has the right checksums, whatever the files hold."""
    read = _export(folder)

    def read_sealed() -> object:
        seal(folder / "b")
        return read()

    return read_sealed


def _settings(folder: Path) -> Callable[[], object]:
    text = '[llm]\nmodel = "a/b"\nbudget_usd = 5.5\n\n[search]\nencoders = ["minilm"]\ntop_k = 5\n'
    (folder / "cosqa.toml").write_text(text)

    def read() -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(f"{PREFIX}CONFIG", str(folder / "cosqa.toml"))
            return load_settings()

    return read


def _confirmations(folder: Path) -> Callable[[], object]:
    query = agents_benchmark().queries[0]
    answer = Answer(
        collection="c", query_id=query.query_id, ordinal=0, query=query.text, code=DOUBLE,
        model="m", evidence="=1",
    )  # fmt: skip
    write_answers([answer], folder / "sheet.csv")
    return lambda: read_answers(folder / "sheet.csv")


PAIR = json.dumps({"query": "double it", "code": DOUBLE, "label": 1, "labels": {"first": 0}}) + "\n"
QUERY = json.dumps({"query": "double it", "id": "q1"}) + "\n"
CELLS = dict.fromkeys(COLUMNS["pairs"], "") | {
    "sample": "s1", "item": "1", "annotator": "ann", "query": "q", "code": "c",
    "grade": "1", "notes": "quality", "minutes": "2.5",
}  # fmt: skip
SHEET = f"{','.join(CELLS)}\n" + f"{','.join(CELLS.values())}\n" * 2


def _labels(file: Path) -> object:
    return [
        (row.item, row.relevance(1), row.difficulties, row.minutes)
        for row in read_label_sheet(file)
    ]


SCORES = json.dumps([{"name": "spec", "model": "m", "pairs": 2, "accuracy": 1}])

READERS = {
    **{f"source-{name}": _source(name) for name in sources.names()},
    **{f"suite-{name}": _suite(name) for name in suites.names()},
    "run": Reader(_run),
    "beir": Reader(_beir, "beir/**/*"),
    "export": Reader(_export, "b/*.[pj]*"),
    "sealed-export": Reader(_sealed_export, "b/*.parquet"),
    "settings": Reader(_settings),
    "confirmations": Reader(_confirmations),
    "sheet": _file(SHEET, _labels, "sheet.csv"),
    "truth": _file(PAIR * 2, read_truth),
    "pairs": _file(PAIR * 2, read_pairs),
    "queries": _file(QUERY, read_queries),
    "query-texts": _file(QUERY + QUERY.replace("q1", "q2"), read_query_texts),
    "annotators": _file(SCORES, lambda file: read_annotators([file]), "scores.json"),
}

OF_A_READER = (50, pytest.param(500, marks=NIGHTLY))


@contextmanager
def _content(file: Path, content: bytes) -> Iterator[None]:
    whole = file.read_bytes()
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(whole)


def _refusal(read: Callable[[], object]) -> str:
    """Return the error's message, "" where there is none."""
    try:
        read()
    except CosqaError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("number", OF_A_READER)
@pytest.mark.parametrize("name", READERS)
def test_a_spoiled_file_is_read_or_named(name: str, number: int, tmp_path: Path) -> None:
    reader = READERS[name]
    read = reader.example(tmp_path)
    read()
    files = sorted(path for path in tmp_path.rglob(reader.files) if path.is_file())
    assert files
    # A source of several files that gives nothing at all names itself.
    names = re.compile("|".join(map(re.escape, (str(tmp_path), *(path.name for path in files)))))
    whole = f"source {name.removeprefix('source-')} has no"

    @cases(number)
    @given(st.data())
    def law(data: st.DataObject) -> None:
        file = data.draw(st.sampled_from(files))
        with _content(file, data.draw(spoiled(file.read_bytes()))):
            if message := _refusal(read):
                assert names.search(message) or message.startswith(whole) or name == "settings"

    law()


def _bytes(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("number", [10, pytest.param(1_000, marks=NIGHTLY)])
def test_a_source_that_fails_leaves_the_store_byte_for_byte(number: int, tmp_path: Path) -> None:
    folder, database = tmp_path / "in", empty_store(tmp_path / "store")
    folder.mkdir()
    write_lines(folder / "queries.jsonl", *({"query": f"query {n}"} for n in range(3)))
    write_lines(folder / "codes.jsonl", *({"code": f"def f{n}(x): return x"} for n in range(3)))
    settings = SourceSettings(name="jsonl", path=folder)

    def collect() -> None:
        source = open_source(settings)
        contents: dict[str, Content] = dict(source.read())
        corpus.replace_collections(database, source.fingerprint(), contents, settings.name)

    collect()
    before = _bytes(tmp_path / "store")

    @cases(number)
    @given(st.data())
    def law(data: st.DataObject) -> None:
        nonlocal before
        file = data.draw(st.sampled_from(sorted(folder.iterdir())))
        with _content(file, data.draw(spoiled(file.read_bytes()))):
            is_refused = _refusal(collect)
            after = _bytes(tmp_path / "store")
            assert after == before or not is_refused
            before = after

    law()
