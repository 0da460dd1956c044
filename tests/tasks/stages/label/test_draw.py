"""Laws of draws: what is drawn, from which population, with which weight.

Covers `tasks.stages.label.draw`.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from infra.errors import SourceError
from infra.ids import PairKey, SearchId
from infra.settings import PublishSettings
from infra.store import Database, samples
from infra.store.samples import Sample
from tasks.benchmarks import write_benchmark
from tasks.stages.label.draw import Wanted, draw_preference, draw_sample
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


def draw(database: Database, strata: dict[str, int | None], **fields: object) -> Sample:
    settings = PublishSettings(folder=database.settings.folder / "out")
    return draw_sample(database, Wanted.model_validate({"strata": strata, **fields}), settings)


def strata(sample: Sample) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for item in sample.items:
        found.setdefault(item.stratum, []).append(item.key)
    return {name: sorted(keys) for name, keys in found.items()}


def test_strata_are_disjoint_and_weigh_what_their_population_has_for_eachdrawn_items(
    database: Database,
) -> None:
    sample = draw(database, {"undecided": 9, "disagreement": 5, "uniform": 2})
    found = strata(sample)
    assert found["undecided"] == [(QUERIES[2].query_id, CODES[1].code_id)]
    assert found["disagreement"] == [(QUERIES[1].query_id, CODES[0].code_id)]
    assert len(found["uniform"]) == 2
    assert {item.stratum: item.weight for item in sample.items} == {
        "undecided": 1, "disagreement": 1, "uniform": 2,
    }  # fmt: skip
    assert sum(item.weight for item in sample.items) == 6
    assert sample.body["strata"] == {
        "undecided": {"population": 1, "drawn": 1},
        "disagreement": {"population": 1, "drawn": 1},
        "uniform": {"population": 4, "drawn": 2},
    }
    assert sample.body["drawn"] == "undecided+disagreement+uniform"
    assert sorted(item.position for item in sample.items) == [1, 2, 3, 4]
    assert samples.load_sample(database, sample.sample_id) == sample


def test_pairs_are_drawn_alone_and_queries_with_all_their_judged_pairs(database: Database) -> None:
    assert draw(database, {"uniform": 4}).body["drawn"] == "pairs"
    sample = draw(database, {"queries": 2})
    assert sample.body["drawn"] == "queries"
    assert set(Counter(item.query_id for item in sample.items).values()) == {2}
    assert {item.weight for item in sample.items} == {1.5}


def test_a_draw_follows_from_its_seed_and_each_pair_is_as_likely(database: Database) -> None:
    assert draw(database, {"uniform": 2}) == draw(database, {"uniform": 2})
    seen: Counter[tuple[str, str]] = Counter()
    first: Counter[tuple[str, str]] = Counter()
    for seed in range(600):
        items = _without_store(database, seed)
        seen.update(items)
        first.update(items[:1])
    assert len(seen) == 6
    assert all(150 < number < 250 for number in seen.values()), seen  # 2 of 6, 600 times
    assert all(60 < number < 140 for number in first.values()), "a position tells nothing"


def _without_store(database: Database, seed: int) -> list[tuple[str, str]]:
    from tasks.stages.label import draw as stage  # noqa: PLC0415 - what is private

    pairs = [PairKey(q.query_id, c.code_id) for q in QUERIES for c in CODES]
    wanted = Wanted(strata={"uniform": 2}, seed=seed)
    items, _ = stage.drawn_items(wanted, {"uniform": stage._units("uniform", pairs)})
    return [item.key for item in items]


def test_what_cannot_be_drawn_is_told_with_a_way_out(database: Database) -> None:
    also_collected(database, "d", codes=CODES[:1], search=SearchId("t"))
    for told, wanted, fields in (
        ("unknown stratum 'odd'", {"odd": 1}, {}),
        ("--collection says whose candidates are sampled: the store has c, d", {"uniform": 1}, {}),
        ("no pair is left for the stratum undecided", {"undecided": 1}, {"collection": "d"}),
        ("name it with --benchmark", {"top": 1}, {}),
        ("leave the other strata out", {"answers": 1, "uniform": 1}, {}),
    ):
        with pytest.raises(SourceError, match=told):
            draw(database, dict(wanted), **fields)


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


def runs(tmp_path: Path) -> dict[str, object]:
    return {"runs": (tmp_path / "one.trec", tmp_path / "two.trec")}


def test_answers_are_each_methods_first_code_to_queries_that_all_answer(
    database: Database, published: Path, tmp_path: Path
) -> None:
    sample = draw(database, {"answers": None}, benchmark=published, **runs(tmp_path))
    assert (sample.kind, len(sample.items)) == ("answers", 4)
    assert sample.body["answers"] == {
        "one": {query.query_id: PUBLISHED[2].code_id for query in ASKED[:2]},
        "two": {query.query_id: PUBLISHED[0].code_id for query in ASKED[:2]},
    }
    assert len(samples.show(database, sample.items)) == 4
    one = draw(database, {"answers": 1}, benchmark=published, **runs(tmp_path))
    assert {len(by) for by in dict(one.body["answers"]).values()} == {1}  # type: ignore[call-overload]


def test_a_pool_has_the_first_results_of_all_methods_in_each_language(
    database: Database, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.stages.label.draw._TOP", 2)
    pool = draw(database, {"pool": 1}, benchmark=published, **runs(tmp_path))
    assert len({item.query_id for item in pool.items}) == 1
    [query_id] = {item.query_id for item in pool.items}
    codes = {2, 0} if query_id == ASKED[2].query_id else {2, 0, 3}  # the last is in Go
    assert {item.code_id for item in pool.items} == {PUBLISHED[code].code_id for code in codes}
    assert {item.weight for item in pool.items} == {3}
    top = draw(database, {"top": None}, benchmark=published, **runs(tmp_path))
    assert len(top.items) == 3 * 2, "the first two of one method, and the same of the other"


def test_runs_of_another_benchmark_are_refused(
    database: Database, published: Path, tmp_path: Path
) -> None:
    file = tmp_path / "other.trec"
    file.write_text(f"{ASKED[0].query_id} Q0 c0 1 1.0 x\n")
    with pytest.raises(SourceError, match=r"a run names 'c0', which toy-people lacks"):
        draw(database, {"top": None}, benchmark=published, runs=(file,))
    with pytest.raises(SourceError, match="there is no run on toy-people"):
        draw(database, {"top": None}, benchmark=published)


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
    sample = draw_preference(database, files[0], files[1], 150, 0)
    assert (sample.kind, len(sample.items)) == ("preference", 150)
    assert {item.weight for item in sample.items} == {200 / 150}
    assert 45 < sum(item.swapped for item in sample.items) < 105
    shown = {item.position: item for item in samples.show(database, sample.items)}
    for item in sample.items:
        first, second = shown[item.position].codes
        own, rival = (second, first) if item.swapped else (first, second)
        assert (own.code_id, rival.code_id) == (item.code_id, item.rival_id)
        assert own.text.startswith("def ours")
        assert rival.text.startswith("def theirs")
    assert sample == draw_preference(database, files[0], files[1], 150, 0)
    with pytest.raises(SourceError, match="no query has a relevant code in"):
        draw_preference(database, files[0], files[0], 9, 0)
