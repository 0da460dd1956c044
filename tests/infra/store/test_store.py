"""Laws of the artifact store.

Covers `infra.store`: ``annotations``, ``benchmarks``, ``candidates``, ``corpus``, ``database``,
``generated``.
"""

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from infra.collected import Collected
from infra.errors import StoreError, StoreLockedError, StoreVersionError
from infra.identity import BenchmarkId, RecipeId, SearchId
from infra.records import (
    Annotation,
    Candidate,
    Code,
    Execution,
    ExecutionResult,
    Label,
    LanguageModelCall,
    MutantRun,
    OracleReport,
    Query,
    SourceInfo,
)
from infra.settings import StoreSettings
from infra.store import Database, annotations, benchmarks, candidates, corpus, open_database
from infra.store.database_file import SCHEMA, SCHEMA_VERSION
from infra.store.figures import label_figures
from tests.fakes.stores import empty_store, labels_by, load_candidates

SEARCH, OTHER, RECIPE, BENCHMARK = SearchId("s"), SearchId("t"), RecipeId("r"), BenchmarkId("x")
INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
QUERIES = tuple(Query.of(text) for text in ("sort a list", "parse a date", "open a file"))
CODES = tuple(
    Code.of(f"def f{n}(x):\n    return x + {n}", name=f"f{n}", parameters=("x",)) for n in range(4)
)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return empty_store(tmp_path / "store", lock_timeout_s=0.3)


def collected(queries: int = 2, codes: int = 4) -> Collected:
    pair = {"query_id": QUERIES[0].query_id, "code_id": CODES[0].code_id}
    label = Label(**pair, origin="people", relevance=1.0, note="as asked")
    return Collected(
        info=INFO,
        queries=QUERIES[:queries],
        codes=CODES[:codes],
        labels=(label,),
        dropped={"too short": 3},
    )


def keep(database: Database, fingerprint: str, content: Collected) -> None:
    corpus.replace_collections(database, fingerprint, {"c": content}, annotated="c")


def test_a_collection_comes_back_as_it_went_in(database: Database) -> None:
    keep(database, "print-1", collected())
    assert corpus.load_queries(database, "c") == list(QUERIES[:2])
    assert corpus.load_codes(database, "c") == list(CODES)
    [label] = collected().labels
    assert corpus.label_columns(database, "c", label.origin).to_pylist() == [label.model_dump()]
    assert corpus.load_source(database, "c") == (INFO, {"too short": 3})
    [stored] = corpus.collections_of(database, "print-1")
    assert (stored.name, stored.queries, stored.codes, stored.is_annotated) == ("c", 2, 4, True)
    assert corpus.collections_of(database, "other") == []


def test_a_replaced_collection_shows_only_its_new_state(database: Database) -> None:
    keep(database, "print-1", collected(queries=2, codes=4))
    keep(database, "print-2", collected(queries=3, codes=1))
    assert [query.text for query in corpus.load_queries(database, "c")] == [
        query.text for query in QUERIES
    ]
    assert corpus.code_ids(database, "c") == [CODES[0].code_id]


def test_a_failed_replacement_leaves_the_old_collection(database: Database) -> None:
    keep(database, "print-1", collected())
    doubled = collected().model_copy(update={"queries": (QUERIES[0], QUERIES[0])})
    with pytest.raises(duckdb.ConstraintException):
        keep(database, "print-2", doubled)
    assert corpus.collections_of(database, "print-1")
    assert corpus.load_queries(database, "c") == list(QUERIES[:2])


def test_only_queries_without_candidates_are_left_to_search(database: Database) -> None:
    keep(database, "print", collected(queries=2))
    candidates.record_search(database, SEARCH, "c", ["minilm"], 1)
    found = Candidate(
        query_id=QUERIES[0].query_id,
        code_id=CODES[1].code_id,
        rank=1,
        similarity=0.5,
        by_encoder={"minilm": 0.25, "codebert": 0.75},
    )
    candidates.add_candidates(database, SEARCH, [found])
    assert candidates.queries_without_candidates(database, SEARCH, "c") == [QUERIES[1].query_id]
    assert load_candidates(database, SEARCH, "c") == [found]


def test_pairs_of_several_searches_come_once_and_only_while_the_collection_holds_them(
    database: Database,
) -> None:
    keep(database, "print", collected(queries=2))
    candidates.record_search(database, SEARCH, "c", ["minilm"], 2)
    candidates.record_search(database, OTHER, "c", ["bm25"], 10, pool=True)
    held = (QUERIES[0].query_id, CODES[1].code_id)
    gone = (QUERIES[0].query_id, "a code that left")
    for search, pairs in ((SEARCH, [held]), (OTHER, [held, gone])):
        found = [
            Candidate(query_id=query, code_id=code, rank=1, similarity=1, by_encoder={})
            for query, code in pairs
        ]
        candidates.add_candidates(database, search, found)
    assert candidates.pools_of(database, "c") == [OTHER]
    assert candidates.pairs_of(database, [SEARCH, OTHER], "c") == [held]
    assert candidates.pairs_of(database, [SEARCH, OTHER], "another collection") == []


def test_two_searches_at_once_do_not_mix_the_candidates_of_a_query(database: Database) -> None:
    keep(database, "print", collected(queries=1))
    for code in ("c1", "c2"):
        found = Candidate(
            query_id=QUERIES[0].query_id, code_id=code, rank=1, similarity=1, by_encoder={}
        )
        candidates.add_candidates(database, SEARCH, [found])
    assert [item.code_id for item in load_candidates(database, SEARCH, "c")] == ["c1"]


def annotation(status: str, label: int | None = None, calls: int = 2) -> Annotation:
    call = LanguageModelCall(
        role="screener", attempt=1, model="m", prompt_digest="d", status="ok", reply="{}",
        prompt_tokens=10, completion_tokens=None, cost_usd=None, seconds=0.5,
    )  # fmt: skip
    run = Execution(
        round=0,
        program="assert True",
        requirements=("numpy",),
        result=ExecutionResult(outcome="passed", asserts_executed=1),
        oracle=OracleReport(
            faults={"kills_mutants": "only 0 of 1"},
            trials=(MutantRun(change="1 → 2", outcome="passed"),),
        ),
    )
    return Annotation.model_validate(
        {
            "query_id": QUERIES[0].query_id,
            "code_id": CODES[1].code_id,
            "recipe_id": "r",
            "status": status,
            "label": label,
            "decided_by": "arbiter" if label is not None else None,
            "path": "unclear_passed",
            "reason": "because",
            "support": "void_oracle" if label is not None else "undecided",
            "judgements": 1,
            "agreeing": 1,
            "calls": [call] * calls,
            "executions": [run],
        }
    )


def test_an_annotation_comes_back_with_its_evidence_in_order(database: Database) -> None:
    stored = annotation("labelled", 1)
    annotations.add_annotations(database, [stored])
    pair = stored.key
    assert annotations.load_annotations(database, RECIPE, [pair]) == [stored]
    assert annotations.finished_pairs(database, RECIPE) == {pair}
    assert annotations.finished_pairs(database, RecipeId("another recipe")) == set()


def test_a_failed_pair_is_not_finished_and_gives_way_to_its_next_annotation(
    database: Database,
) -> None:
    failed, labelled = annotation("failed", calls=3), annotation("labelled", 0, calls=1)
    annotations.add_annotations(database, [failed])
    assert annotations.finished_pairs(database, RECIPE) == set()
    annotations.add_annotations(database, [labelled])
    again = failed.model_copy(update={"reason": "twice in a batch"})
    annotations.add_annotations(database, [again, labelled])
    pair = failed.key
    assert annotations.load_annotations(database, RECIPE, [pair]) == [labelled]
    with database.transaction() as tx:
        assert [tx.count(f"SELECT count(*) FROM {table}") for table in EVIDENCE] == [1, 1, 1]


EVIDENCE = ("annotations", "llm_calls", "executions")


def test_cost_is_unknown_as_soon_as_one_paid_call_has_none(database: Database) -> None:
    keep(database, "print", collected())
    item = annotation("labelled", 1)
    candidates.add_candidates(
        database,
        SEARCH,
        [
            Candidate(
                query_id=item.query_id, code_id=item.code_id, rank=1, similarity=1, by_encoder={}
            )
        ],
    )
    annotations.add_annotations(database, [item])
    cost = label_figures(database, labels_by(SEARCH, [RECIPE])).cost
    assert cost.cost_usd is None
    assert (cost.calls, cost.prompt_tokens, cost.model_seconds) == (2, 20, 1.0)


def test_the_store_refuses_a_status_that_contradicts_its_label(database: Database) -> None:
    with pytest.raises(duckdb.ConstraintException):
        annotations.add_annotations(database, [annotation("labelled", None)])


def test_means_come_in_the_order_of_the_methods_asked_for(database: Database) -> None:
    for method, value in (("a", 0.25), ("b", 1.0)):
        evaluation = benchmarks.Evaluation(
            benchmark_id="x", method=method, method_key=f"key-{method}", depth=10, seconds=0.1
        )
        benchmarks.add_scores(database, evaluation, {"MRR": {"q1": value, "q2": 0.0}})
    means = benchmarks.mean_scores(database, BENCHMARK, ["key-b", "key-a"], ["MRR"])
    assert list(means.items()) == [("b", {"MRR": 0.5}), ("a", {"MRR": 0.125})]
    answered = pa.table(
        {"query_id": ["q1", "q1", "q1", "q2"], "language": ["go", "go", "ruby", "ruby"]}
    )
    by_language = benchmarks.mean_scores_by_language(
        database, BENCHMARK, ["key-b", "key-a"], answered
    )
    assert by_language == {
        "go": (1, {"MRR": {"b": 1.0, "a": 0.25}}),
        "ruby": (2, {"MRR": {"b": 0.5, "a": 0.125}}),
    }
    assert benchmarks.find_evaluation(database, BENCHMARK, "key-a")
    assert benchmarks.find_evaluation(database, BENCHMARK, "key-c") is None


def test_whoever_changes_the_schema_raises_its_version() -> None:
    words = re.sub(r"--[^\n]*", "", SCHEMA.read_text("utf-8")).split()
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest()[:32]
    assert (SCHEMA_VERSION, digest) == (20, "7b9c5aceaed7cccdf8530cc275d952e5")


def test_a_store_of_another_schema_version_is_refused_untouched(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute("UPDATE meta SET schema_version = 999")
    before = database.settings.database.read_bytes()
    with pytest.raises(StoreVersionError, match=r"schema version 999.*--store"):
        open_database(database.settings)
    assert database.settings.database.read_bytes() == before


@pytest.mark.parametrize("table", ["theirs", "elsewhere.theirs"])
def test_a_duckdb_file_of_somebody_else_is_refused(tmp_path: Path, table: str) -> None:
    with duckdb.connect(str(tmp_path / "cosqa.duckdb")) as other:
        other.execute("CREATE SCHEMA elsewhere")
        other.execute(f"CREATE TABLE {table} (x INTEGER)")
    with pytest.raises(StoreError, match="not a store of this program"):
        open_database(StoreSettings(folder=tmp_path))


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cosqa.duckdb").write_text("this is a text" * 1000)
    with pytest.raises(StoreError, match="cannot open"):
        open_database(StoreSettings(folder=tmp_path))


@contextmanager
def held_by_another_process(file: Path) -> Iterator[None]:
    script = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield
        finally:
            holder.communicate("\n")


def test_a_store_that_another_process_holds_is_an_error_that_names_it(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("infra.store.database_file._WARNING_S", 0.0)
    with (
        held_by_another_process(database.settings.database),
        pytest.raises(StoreLockedError, match="PID"),
        database.transaction(),
    ):
        pass
    assert caplog.text.count("waiting for a process that has") == 1


def test_a_store_is_waited_for_longer_than_a_part_of_an_export_takes() -> None:
    assert StoreSettings().lock_timeout_s >= 300


def test_a_transaction_waits_for_a_lock_that_is_given_back(database: Database) -> None:
    patient = Database(
        database.settings.model_copy(update={"lock_timeout_s": 20.0}), database.store_id
    )
    with held_by_another_process(database.settings.database):
        pass
    with patient.transaction() as tx:
        assert tx.count("SELECT count(*) FROM meta") == 1


@pytest.mark.parametrize(
    "name", ["a b", "it's", 'a"b', "100%25", "a#b", "[x]*", "grüße", "-x", "~"]
)
def test_a_folder_of_any_name_holds_the_whole_store(tmp_path: Path, name: str) -> None:
    open_database(StoreSettings(folder=tmp_path / name))
    assert [place.name for place in tmp_path.iterdir()] == [name]
    assert {"cosqa.duckdb"} <= {place.name for place in (tmp_path / name).iterdir()}


@pytest.mark.parametrize("name", ["a?b", "a\\b"])
def test_a_folder_that_duckdb_would_take_for_another_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match=r"has a \? or a .*choose another with --store"):
        open_database(StoreSettings(folder=tmp_path / name / "store"))
    assert not list(tmp_path.iterdir())
