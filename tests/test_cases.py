"""Small inputs of the field, each read by the commands that a user types.

They lie in the folder that COSQA_CASES names, one folder a case, whose README says what is right.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pytest

from infra.records import caseless
from infra.settings import TrainingSettings
from tasks.encoders import encoders
from tasks.inputs.pairs import read_queries
from tasks.training.data import read_training_data
from tests.ports import free_port

PROGRAMS = Path(sys.executable).parent
CASES = Path(os.environ.get("COSQA_CASES", "absent"))
NOTHING: Mapping[str, str] = {}
KINDS = ("encoder", "whole")
PROXIES = (
    {"http_proxy": "http://127.0.0.1:9"},
    {"all_proxy": "http://127.0.0.1:9"},
    {"all_proxy": "socks5h://127.0.0.1:9"},
)

pytestmark = [
    pytest.mark.data,
    pytest.mark.slow(300),
    pytest.mark.skipif("COSQA_CASES" not in os.environ, reason="COSQA_CASES names no folder"),
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def printed(program: str, *words: object, status: int = 0, env: Mapping[str, str] = NOTHING) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        [PROGRAMS / program, *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=900,
        env={**os.environ, **env},
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


def board(
    benchmark: str,
    *methods: str,
    options: tuple[object, ...] = (),
    env: Mapping[str, str] = NOTHING,
) -> str:
    """Return a leaderboard's lines."""
    chosen = [word for method in methods for word in ("--method", method)]
    return printed(
        "cosqa", "leaderboard", "--benchmark", CASES / benchmark, *chosen, *options,
        "--store", "store", env=env,
    )  # fmt: skip


def cells(lines: str, method: str) -> list[str]:
    """Return the numbers of a leaderboard's row."""
    found = re.search(rf"^(?:\w )?{re.escape(method)} +(\d.*)$", lines, re.MULTILINE)
    assert found, lines
    return found[1].split()


def first(lines: str, method: str = "bm25") -> str:
    return cells(lines, method)[0]


def check(case: str, *words: object) -> str:
    return printed("python", CASES / case / "check.py", *words)


def test_a_sheet_that_a_spreadsheet_rewrote_is_read_by_its_items(tmp_path: Path) -> None:
    case = CASES / "sheet_that_excel_rewrote"
    drawn = printed(
        "cosqa", "label", "sample", "--answers", "4", "--benchmark", case / "benchmark", "--run",
        case / "mine.trec", "--annotator", "ann", "--store", "store",
    )  # fmt: skip
    sample = re.search(r"\bs[0-9a-f]{20}\b", drawn)
    assert sample, drawn
    sheet = tmp_path / "ann.csv"
    rows = (case / "ann.csv").read_text("utf-8")
    sheet.write_text(re.sub(r"^s[0-9a-f]{20}", sample[0], rows, flags=re.MULTILINE), "utf-8")
    assert "4 labels" in printed("cosqa", "label", "read", sheet, "--store", "store")


@contextmanager
def asked(case: str, key: str = "sk-x", status: int = 0) -> Iterator[tuple[str, Path]]:
    """Yield what a case's model server and `compare-annotators` print, the server's in a file."""
    port, said = free_port(), Path("server.log")
    with said.open("w") as log:
        server = subprocess.Popen(
            [sys.executable, CASES / case / "server.py", str(port)], stdout=log
        )
    env = {"COSQA_LLM__BASE_URL": f"http://127.0.0.1:{port}/v1", "COSQA_LLM__API_KEY": key}
    try:
        lines = printed(
            "cosqa", "compare-annotators", "--truth", CASES / case / "pairs.jsonl",
            "--model", "openai/stub", "--configuration", "single", "--store", f"store-{port}",
            status=status, env=env,
        )  # fmt: skip
        yield lines, said
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize(
    "benchmark",
    [
        "beir_qrels_without_a_header/benchmark",
        "beir_with_qrels_in_json_lines/benchmark",
        "beir_with_qrels_in_json_lines/benchmark/qrels/test.jsonl",
        "beir_without_a_test_split/benchmark",
        "beir_without_a_test_split/benchmark/qrels/dev.tsv",
    ],
)
def test_judgements_are_read_in_each_form(benchmark: str) -> None:
    lines = board(benchmark, "bm25")
    _, reciprocal_rank, *_ = cells(lines, "bm25")
    assert reciprocal_rank == "1.000"
    assert "3 queries" in lines


def test_bpref_with_negative_grades_is_that_of_trec() -> None:
    case = "bpref_with_negative_grades"
    metrics = ("--run", CASES / case / "run.trec", "--metric", "bpref", "--metric", "MAP")
    assert cells(board(f"{case}/benchmark", "bm25", options=metrics), "run")[:2] == [
        "0.750",
        "0.500",
    ]


def test_words_with_accents_are_words_in_both_spellings() -> None:
    methods = ("bm25", "tf-idf", "bag-of-words")
    lines = board("words_with_accents/benchmark", *methods)
    for method in methods:
        assert first(lines, method) == "1.000"
        (run,) = Path().glob(f"cosqa-benchmarks/leaderboards/*/runs/{method}.trec")
        assert Counter(line.split()[0] for line in run.read_text().splitlines()) == {
            "q1": 1,
            "q2": 1,
        }


@pytest.mark.parametrize("proxy", PROXIES, ids=str)
def test_a_proxy_in_the_environment_stands_in_no_ones_way(proxy: dict[str, str]) -> None:
    assert first(board("proxy_in_the_environment/benchmark", "bm25", env=proxy)) == "1.000"


def test_checkpoints_of_t5_are_embedded_as_sentence_transformers_does(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

    printed("python", CASES / "checkpoint_of_t5" / "make.py", "made")
    named = {name: f"checkpoint:{name}={tmp_path}/made/{name}?pooling=mean" for name in KINDS}
    lines = board("checkpoint_of_t5/benchmark", *named.values())
    texts = ["read json", "sort list of numbers", "parse date iso"]
    for name, reference in named.items():
        assert first(lines, name)
        plain = SentenceTransformer(str(tmp_path / "made" / name))
        found = encoders.get(reference)().encode(texts, "code", 1)
        assert np.allclose(found, plain.encode(texts, normalize_embeddings=True), atol=1e-5)


def test_a_key_is_sent_without_the_white_space_around_it() -> None:
    for key in ("sk-x\r", " sk-x\n"):
        with asked("key_with_a_line_end", key) as (lines, said):
            assert set(said.read_text().splitlines()) == {"asked with 'Bearer sk-x'"}
            assert re.search(r"single.* 1\.000", lines), lines


def test_a_reply_that_quotes_the_other_verdict_is_no_such_verdict() -> None:
    with asked("reply_with_two_objects") as (lines, _):
        row = cells(lines, "single")  # decided of all, accuracy; no pair is a match
        assert float(row[3]) == int(row[0]) / 5 > 0, "what is decided is decided rightly"


def requests_of(said: Path) -> Counter[str]:
    """Return form → how often a server was asked for its reply."""
    return Counter(line.split()[0] for line in said.read_text().splitlines())


def test_replies_of_local_models_are_read_where_only_marks_stand_beside_them() -> None:
    read = {
        "plain", "nolanguage", "fenceinside", "escapes", "chinesetext", "endtoken", "endmark",
        "mark", "zerowidth", "oneline", "tildes",
    }  # fmt: skip
    with asked("replies_of_local_models") as (lines, said):
        decided, _, pairs, accuracy, *_ = cells(lines, "single")
        assert float(accuracy) == pytest.approx(int(decided) / int(pairs), abs=1e-3), "none is 1"
        assert int(decided) >= len(read)
        times = requests_of(said)
    assert {form for form, number in times.items() if number == 1} >= read
    assert times["samekey"] == 2


def test_replies_that_the_limit_cut_are_no_labels_and_told() -> None:
    with asked("replies_cut_short") as (lines, said):
        assert cells(lines, "single")[0] == "1"
        assert set(requests_of(said).values()) == {1}
    assert re.search(r"3 pairs .*cut at COSQA_LLM__MAX_TOKENS", lines)


@pytest.mark.parametrize(
    "case",
    [
        "server_that_always_streams",
        "server_that_names_the_limit_otherwise",
        "server_that_refuses_a_key_of_the_schema",
    ],
)
def test_servers_with_customs_of_their_own_are_understood(case: str) -> None:
    with asked(case) as (lines, said):
        assert cells(lines, "single")[:4] == ["2", "of", "2", "1.000"]
        assert len(said.read_text().splitlines()) <= 4


def test_no_label_rests_on_prompts_that_a_server_cut() -> None:
    with asked("server_with_a_small_context", status=1) as (lines, _):
        assert "4,036 tokens" in lines
        assert "OLLAMA_CONTEXT_LENGTH" in lines
    (store,) = Path().glob("store-*/cosqa.duckdb")
    with duckdb.connect(store, read_only=True) as connection:
        assert connection.sql("FROM annotations").fetchall() == []


def test_code_with_future_imports_compiles_once_imports_are_added() -> None:
    lines = check("code_with_future_imports").splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["ok"] * 4


def test_codesearchnet_is_read_after_gunzip() -> None:
    case = CASES / "codesearchnet_unpacked_twice"
    lines = printed(
        "cosqa", "collect", "--source", "codesearchnet", "--path", case, "--set",
        "source.documentation_queries=true", "--store", "store",
    )  # fmt: skip
    assert "2 queries and 2 codes" in lines


def test_linked_folders_that_lead_outside_are_named(tmp_path: Path) -> None:
    corpus, case = tmp_path / "corpus", CASES / "folder_of_links"
    corpus.mkdir()
    (corpus / "project").symlink_to(case / "elsewhere")
    (corpus / "loop").symlink_to(corpus)
    options = ("--set", "source.documentation_queries=0", "--set", "source.filters=parseable")
    lines = printed(
        "cosqa", "collect", "--source", "python-source", "--path", corpus, "--queries",
        case / "queries.jsonl", *options, "--store", "store", status=1,
    )  # fmt: skip
    assert "link" in lines
    assert "corpus/project" in lines


def test_queries_in_two_spellings_are_one() -> None:
    case = CASES / "queries_in_two_spellings"
    assert len({query.query_id for _, query in read_queries(case / "queries.jsonl")}) == 1
    data = read_training_data(case / "data", TrainingSettings(), None)
    tested = {caseless(query.text) for query in data.test.queries}
    assert data.dropped > 0
    assert tested.isdisjoint(map(caseless, data.train.queries))


def test_white_space_at_line_ends_within_texts_is_kept() -> None:
    case = "text_with_white_space_at_line_ends"
    lines = printed(
        "cosqa", "collect", "--source", "jsonl", "--path", CASES / case, "--store", "store"
    )
    assert "3 codes" in lines
    given, kept = (line.partition(": ")[2].strip() for line in check(case, "store").splitlines())
    assert given == kept


def test_right_codes_of_a_query_are_not_its_wrong_ones_in_training() -> None:
    data = CASES / "training_with_several_matches" / "data"
    printed(
        "cosqa", "train", "--data", data, "--base", "minilm", "--name", "several",
        "--set", "training.epochs=10", "--set", "training.learning_rate=3e-4", "--store", "store",
    )  # fmt: skip
    trained = Path("cosqa-benchmarks/encoders/several/training.json")
    losses = json.loads(trained.read_text())["history"]["losses"]
    assert losses[-1][1] < 0.4


def test_a_prefect_database_of_another_release_stands_in_no_ones_way(tmp_path: Path) -> None:
    case, home = "prefect_database_of_another_release", tmp_path / "prefect"
    printed("python", CASES / case / "make.py", home)
    before = (home / "prefect.db").read_bytes()
    lines = board(f"{case}/benchmark", "bm25", env={"PREFECT_HOME": str(home)})
    assert cells(lines, "bm25")[1] == "1.000"
    assert (home / "prefect.db").read_bytes() == before


def test_no_vector_of_a_padded_text_is_without_numbers() -> None:
    case = CASES / "checkpoint_of_modernbert"
    assert "MRR 1.0" in printed("python", case / "make.py", "checkpoint", "benchmark")
    method = f"checkpoint:modern={Path.cwd() / 'checkpoint'}"
    assert "no numbers: 0 of 600" in check(case.name, "checkpoint", "benchmark")
    lines = printed(
        "cosqa", "leaderboard", "--benchmark", "benchmark", "--method", method, "--store", "store"
    )
    assert cells(lines, "modern")[1] == "1.000"


def codes_and_queries(case: str, *options: str, source: str = "source-code") -> tuple[str, str]:
    """Return what collecting a case prints, and what its `kept.py` says is kept."""
    package, queries = CASES / case / "package", CASES / case / "queries.jsonl"
    folder = package if package.is_dir() else CASES / case
    sets = ("source.documentation_queries=0", "source.filters=parseable")
    asked: list[object] = []
    if queries.is_file():
        asked = ["--queries", queries, *(word for one in sets for word in ("--set", one))]
    lines = printed(
        "cosqa", "collect", "--source", source, "--path", folder, *asked, *options,
        "--store", "store",
    )  # fmt: skip
    return lines, printed("python", CASES / case / "kept.py", "store")


@pytest.mark.parametrize(
    ("case", "headers"),
    [
        (
            "javascript_members_named_by_texts",
            [
                "addAll = (items) => {", "#weigh(item) {", "get size() {", "set size(value) {",
                "static async *pages(url) {", "*[Symbol.iterator]() {", "'content-type'(value) {",
                "half = (x) => x / 2", "third = (x) => x / 3",
                "exports.total = async function (rows) {",
                "Basket.prototype.clear = function () {", "first(list) {",
                "last: (list) => list[list.length - 1]", "async load(path) {",
                "export default function (left, right) {",
            ],
        ),
        (
            "ruby_heredoc_behind_its_method",
            [
                "def self.usage = <<~TEXT", "def query(name)", "def banner; <<~TEXT; end",
                "def after(x)",
            ],
        ),
        ("ruby_in_its_own_encoding", ["def greet(name)", "def bye(name)", "def plain(x)"]),
        (
            "source_of_a_generator",
            ["func Table(names []string) string {", "function isKept(firstLine) {"],
        ),
    ],
)  # fmt: skip
def test_no_function_of_a_file_is_lost(case: str, headers: list[str]) -> None:
    _, kept = codes_and_queries(case)
    found = [code.partition("\n")[0] for code in kept.split("code:\n    ")[1:]]
    assert sorted(found) == sorted(headers)
    if case == "ruby_heredoc_behind_its_method":
        assert "    def banner; <<~TEXT; end\n      Welcome back\n    TEXT" in kept
    if case == "ruby_in_its_own_encoding":
        assert "Grüße" in kept


@pytest.mark.parametrize(
    ("case", "queries"),
    [
        (
            "comments_that_are_no_documentation",
            ["Returns the number of the last page that was shown."],
        ),
        (
            "documentation_and_blank_line",
            [
                "Returns the name of a weekday by its number.",
                "Returns the number of days in a given month of a year.",
                "Returns the number of whole weeks between two dates.",
                "Returns whether the year has a day more than usual.",
            ],
        ),
        (
            "go_directives_as_documentation",
            ["Parse reads a port number from text.", "Sum returns the sum of all given numbers."],
        ),
    ],
)
def test_documentation_is_what_is_said_to_readers(case: str, queries: list[str]) -> None:
    _, kept = codes_and_queries(case)
    assert re.findall("^query: (.*)$", kept, re.MULTILINE) == queries
    codes = kept.split("code:\n")[1:]  # with documentation, and without where that is another
    assert len([code for code in codes if not any(map(code.__contains__, queries))]) >= len(queries)


def test_php_whose_texts_hold_tags_is_read() -> None:
    options = ("--set", "source.languages=php", "--set", "source.documentation_queries=true")
    case = "php_text_with_an_open_tag"
    lines, kept = codes_and_queries(case, *options, source="codesearchnet")
    assert "4 queries and 4 codes read; left out: nothing" in lines
    assert (kept.count("query:"), kept.count("code:")) == (4, 4)
