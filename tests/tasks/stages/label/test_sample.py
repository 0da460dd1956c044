"""Laws of samples: what is drawn, and from which population.

Covers `tasks.stages.label.sample`.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.identity import PairKey, SearchId
from infra.records import Code, Query
from infra.settings import PublishSettings
from infra.store import Database, samples
from infra.store.samples import Sample, Stratum
from tasks.benchmarks import write_benchmark
from tasks.stages.label.sample import (
    Drawing,
    items_of,
    sample_candidates,
    sample_preference,
    sample_results,
)
from tests.fakes.benchmarks import CODES as PUBLISHED
from tests.fakes.benchmarks import QUERIES as ASKED
from tests.fakes.benchmarks import people_benchmark
from tests.tasks.stages.generate.world import CODES, QUERIES, also_collected, judged_store, label


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Six judged pairs of which rounds disagree on one and leave one undecided."""
    database, _ = judged_store(tmp_path, rounds=3)
    label(database, 1, 0, 1, "r2")
    label(database, 2, 1, None, "r1", "r2", "r3")
    return database


def test_pairs_are_drawn_alone_and_queries_with_all_their_judged_pairs(database: Database) -> None:
    sample = sample_candidates(database, "", Drawing(4))
    assert sample.body == {"drawn": "pairs", "population": 6}
    assert sorted(item.position for item in sample.items) == [1, 2, 3, 4]
    assert samples.load_sample(database, sample.sample_id) == sample
    sample = sample_candidates(database, "c", Drawing(2, "queries"))
    assert sample.body == {"drawn": "queries", "population": 3}
    assert list(Counter(item.query_id for item in sample.items).values()) == [2, 2]


@pytest.mark.parametrize(
    ("stratum", "expected"),
    [("disagreement", (QUERIES[1], CODES[0])), ("undecided", (QUERIES[2], CODES[1]))],
)
def test_a_stratum_has_the_pairs_that_it_names_and_no_others(
    database: Database, stratum: Stratum, expected: tuple[Query, Code]
) -> None:
    sample = sample_candidates(database, "", Drawing(9, stratum))
    query, code = expected
    assert [item.key for item in sample.items] == [(query.query_id, code.code_id)]
    assert sample.body == {"drawn": stratum, "population": 1}
    with pytest.raises(SourceError, match="by the criterion 'half': leave --stratum out"):
        sample_candidates(database, "", Drawing(9, stratum, criterion="half"))


def test_first_places_are_drawn_from_the_results_of_all_methods(
    database: Database, published: Path, tmp_path: Path
) -> None:
    runs = (tmp_path / "one.trec", tmp_path / "two.trec")
    settings = PublishSettings(folder=database.settings.folder / "out")
    drawing = Drawing(99, "top", scale="graded")
    sample = sample_results(database, published, runs, drawing, settings)
    assert (sample.kind, sample.scale, sample.body["population"]) == ("pairs", "graded", 11)
    found = Counter(item.code_id for item in sample.items)
    assert found == {PUBLISHED[0].code_id: 3, PUBLISHED[1].code_id: 3, PUBLISHED[2].code_id: 3,
                     PUBLISHED[3].code_id: 2}  # fmt: skip
    assert sample.languages[PUBLISHED[3].code_id] == "go"
    two = sample_results(database, published, runs, Drawing(2, "top"), settings)
    assert len(two.items) == 2


def test_the_same_items_drawn_in_another_way_are_another_sample(database: Database) -> None:
    pairs = sample_candidates(database, "c", Drawing(6))
    queries = sample_candidates(database, "c", Drawing(3, "queries"))
    assert pairs.items == queries.items
    assert pairs.sample_id != queries.sample_id


def test_a_sample_follows_from_its_seed_and_each_pair_is_as_likely(database: Database) -> None:
    assert sample_candidates(database, "c", Drawing(2)) == sample_candidates(
        database, "c", Drawing(2)
    )
    pairs = [PairKey(q.query_id, c.code_id) for q in QUERIES for c in CODES]
    first = Counter(items_of(pairs, seed)[0].key for seed in range(600))
    assert len(first) == 6
    assert all(60 < number < 140 for number in first.values()), first


def test_a_sample_that_cannot_be_is_refused_with_a_way_out(tmp_path: Path) -> None:
    database, _ = judged_store(tmp_path, rounds=0)
    with pytest.raises(SourceError, match="no pair of c is judged: run `cosqa annotate` first"):
        sample_candidates(database, "c", Drawing(1, "queries"))
    also_collected(database, "d", codes=CODES[:1], search=SearchId("t"))
    told = "--collection says whose candidates are sampled: the store has c, d"
    with pytest.raises(SourceError, match=told):
        sample_candidates(database, "", Drawing(1))


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """An export whose codes are in two languages, with the runs of two methods."""
    folder = tmp_path / "benchmark"
    codes = tuple(
        code.model_copy(update={"language": "go" if n > 2 else "python"})
        for n, code in enumerate(PUBLISHED)
    )
    write_benchmark(people_benchmark().model_copy(update={"codes": codes}), folder)
    for name, orders in {"one": (2, 0, 1), "two": (0, 2, 3)}.items():
        lines = [
            f"{query.query_id} Q0 {PUBLISHED[code].code_id} {rank} {9 - rank} {name}\n"
            for query in ASKED[: 3 if name == "one" else 2]
            for rank, code in enumerate(orders, 1)
        ]
        (tmp_path / f"{name}.trec").write_text("".join(lines))
    return folder


def answers(database: Database, benchmark: Path, number: int, *runs: Path) -> Sample:
    settings = PublishSettings(folder=database.settings.folder / "out")
    return sample_results(database, benchmark, runs, Drawing(number, "answers"), settings)


def test_answers_are_each_methods_first_code_to_queries_that_all_answer(
    database: Database, published: Path, tmp_path: Path
) -> None:
    runs = (tmp_path / "one.trec", tmp_path / "two.trec")
    sample = answers(database, published, 9, *runs)
    assert (sample.kind, len(sample.items)) == ("answers", 4)
    assert sample.body["answers"] == {
        "one": {query.query_id: PUBLISHED[2].code_id for query in ASKED[:2]},
        "two": {query.query_id: PUBLISHED[0].code_id for query in ASKED[:2]},
    }
    assert len(samples.show(database, sample.items)) == 4
    one = answers(database, published, 1, *runs)
    assert {len(by) for by in dict(one.body["answers"]).values()} == {1}  # type: ignore[call-overload]


def test_runs_of_another_benchmark_are_refused(
    database: Database, published: Path, tmp_path: Path
) -> None:
    file = tmp_path / "other.trec"
    file.write_text(f"{ASKED[0].query_id} Q0 c0 1 1.0 x\n")
    with pytest.raises(SourceError, match=r"a run names 'c0', which toy-people lacks"):
        answers(database, published, 9, file)
    with pytest.raises(SourceError, match="there is no run on toy-people"):
        answers(database, published, 9)


def test_a_preference_compares_relevant_codes_that_only_one_benchmark_has(
    database: Database, tmp_path: Path
) -> None:
    files = []
    for name, made in (("ours", 300), ("theirs", 200)):
        rows = [
            {"query": f"query {n}", "code": f"def {name}{k}(x): return {n}", "label": 1}
            for n in range(made)
            for k in range(2)
        ]
        rows.append({"query": "query 0", "code": "def both(): pass", "label": 1})
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    sample = sample_preference(database, files[0], files[1], 150, 0)
    assert (sample.kind, len(sample.items)) == ("preference", 150)
    assert sample.body["population"] == 200
    assert 45 < sum(item.swapped for item in sample.items) < 105
    shown = {item.position: item for item in samples.show(database, sample.items)}
    for item in sample.items:
        first, second = shown[item.position].codes
        own, rival = (second, first) if item.swapped else (first, second)
        assert (own.code_id, rival.code_id) == (item.code_id, item.rival_id)
        assert own.text.startswith("def ours")
        assert rival.text.startswith("def theirs")
    assert sample == sample_preference(database, files[0], files[1], 150, 0)
    with pytest.raises(SourceError, match="no query has a relevant code in"):
        sample_preference(database, files[0], files[0], 9, 0)
