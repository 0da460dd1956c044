"""Laws of pending pairs: each for one reason, in order, each once, whatever happens meanwhile.

Covers `infra.store.pending`.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.collected import Collected
from infra.identity import CodeId, PairKey, RecipeId, SearchId
from infra.records import Annotation, Candidate, Code, LanguageModelCall, Query, SourceInfo
from infra.settings import REASONS, Reason
from infra.store import Database, annotations, candidates, corpus
from infra.store.labels import Coverage, CurrentLabels
from infra.store.pending import (
    RetryPolicy,
    Selection,
    count_pending,
    pairs_in,
    read_keys,
    write_pending,
)
from infra.subsets import ALL as ALL_QUERIES
from infra.subsets import Draw
from tests.fakes.stores import empty_store, store_like

SEARCH, POOL, RECIPE, FORMER = SearchId("s"), SearchId("pool"), RecipeId("r"), RecipeId("former")
OTHER = RecipeId("another former one")
ROLE = "screener"
LABELS = CurrentLabels(
    collection="c",
    search_ids=(SEARCH, POOL),
    sets=((RECIPE,), (FORMER,), (OTHER,)),
    covered=tuple(Coverage(id_, ROLE, n, 0) for n, id_ in enumerate((RECIPE, FORMER, OTHER))),
    fresh_only=True,
)
QUERIES = tuple(Query.of(f"query {number}", f"file:{number}") for number in range(4))
CODES = tuple(
    Code.of(f"def f(x):\n    return x + {number}", name="f", module="m", parameters=("x",))
    for number in range(3)
)
UNSEARCHED = Code.of("def g(x):\n    return x", name="g", module="m")
MISSING = CodeId("code that no collection holds")
IN_ORDER = [
    PairKey(query.query_id, CODES[place].code_id) for query in QUERIES for place in (1, 0, 2)
]
INFO = SourceInfo(name="made", licence="MIT", revision="1", location="here")
ALL: tuple[tuple[Reason, int], ...] = tuple((reason, 1_000) for reason in REASONS)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return store_like(_fill, tmp_path)


def _fill(database: Database) -> None:
    content = Collected(info=INFO, queries=QUERIES, codes=(*CODES, UNSEARCHED))
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    bodies = {recipe: {"model": recipe} for recipe in (RECIPE, FORMER, OTHER)}
    for recipe, body in bodies.items():
        annotations.record_recipes(database, {recipe: body}, used_on="c")
    found = [
        candidate(query, code, rank)
        for query in QUERIES
        for code, rank in zip(CODES, (2, 1, 3), strict=True)
    ]
    search(database, SEARCH, found)


def candidate(query: Query, code: Code, rank: int) -> Candidate:
    return Candidate(
        query_id=query.query_id, code_id=code.code_id, rank=rank, similarity=1, by_encoder={}
    )


def search(
    database: Database, search_id: SearchId, found: Sequence[Candidate], *, pool: bool = False
) -> None:
    candidates.record_search(database, search_id, "c", ["minilm"], 3, pool=pool)
    candidates.add_candidates(database, search_id, found)


def annotate(
    database: Database, key: PairKey, status: str = "labelled", recipe: str = RECIPE, label: int = 1
) -> None:
    call = LanguageModelCall(role=ROLE, attempt=1, model="m", prompt_digest="d", status="ok")
    row = {
        "query_id": key.query_id, "code_id": key.code_id, "recipe_id": recipe, "status": status,
        "label": label if status == "labelled" else None, "path": "read_alone", "calls": (call,),
    }  # fmt: skip
    annotations.add_annotations(database, [Annotation.model_validate(row)])


def fresh(recipe: RecipeId, met: str = ROLE) -> CurrentLabels:
    covered = (Coverage(recipe, met, 0, 0),)
    return LABELS.model_copy(update={"covered": covered, "sets": ((RECIPE,),)})


def selection(
    draw: Draw = ALL_QUERIES, retries: RetryPolicy | None = None, labels: CurrentLabels = LABELS
) -> Selection:
    return Selection(
        search_id=SEARCH,
        recipe_id=RECIPE,
        labels=labels,
        draw=draw,
        retries=retries or RetryPolicy(),
    )


def planned(
    database: Database,
    taken: tuple[tuple[Reason, int], ...] = ALL,
    draw: Draw = ALL_QUERIES,
    retries: RetryPolicy | None = None,
) -> list[PairKey]:
    file = database.settings.folder / "keys.arrow"
    number = write_pending(database, selection(draw, retries), taken, file)
    rows = read_keys(file).to_pylist()
    assert len(rows) == number
    return [PairKey(row["query_id"], row["code_id"]) for row in rows]


def reasons(database: Database, retries: RetryPolicy | None = None) -> dict[str, int]:
    counts = count_pending(database, selection(retries=retries))
    found: dict[str, int] = {}
    for group in counts.groups:
        name = group.reason if group.due else f"{group.reason}, not due"
        found[name] = found.get(name, 0) + group.pairs
    return found


def test_a_fresh_store_has_new_queries_in_the_order_of_queries_and_ranks(
    database: Database,
) -> None:
    assert planned(database) == IN_ORDER
    assert reasons(database) == {"new_queries": 12}


def test_queries_of_a_pool_come_in_an_order_by_chance_that_their_ids_fix(
    database: Database,
) -> None:
    of_pool = selection().model_copy(update={"search_id": SearchId("")})
    file = database.settings.folder / "keys.arrow"
    write_pending(database, of_pool, [("requested", 7)], file)
    rows = read_keys(file).to_pylist()
    in_order = sorted(IN_ORDER, key=lambda key: key.query_id)
    assert in_order != IN_ORDER
    assert [PairKey(row["query_id"], row["code_id"]) for row in rows] == in_order[:7]


@pytest.mark.parametrize("at_once", [1, 2, 5, 100])
def test_pairs_come_with_their_texts_in_the_order_of_their_keys(
    database: Database, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.store.pending._PAIRS_AT_ONCE", at_once)
    planned(database)
    pairs = list(pairs_in(database, "c", database.settings.folder / "keys.arrow"))
    assert [pair.key for pair in pairs] == IN_ORDER
    assert pairs[0].code == CODES[1]
    assert pairs[0].query.text == QUERIES[0].text


@pytest.mark.parametrize("seed", range(3))
def test_a_draw_gives_the_same_pairs_on_a_store_filled_in_another_order(
    tmp_path: Path, seed: int
) -> None:
    queries = [Query.of(f"query {number}") for number in range(20)]
    stores = {}
    for name, filled in (("one", queries), ("other", queries[::-1])):
        store = stores[name] = empty_store(tmp_path / name)
        content = Collected(info=INFO, queries=tuple(filled), codes=CODES)
        corpus.replace_collections(store, "print", {"c": content}, annotated="c")
        search(store, SEARCH, [candidate(query, CODES[0], 1) for query in filled])
    drawn = {name: planned(store, draw=Draw(5, seed)) for name, store in stores.items()}
    assert set(drawn["one"]) == set(drawn["other"])
    assert [key.query_id for key in drawn["one"]] != [query.query_id for query in queries[:5]]
    counts = count_pending(stores["one"], selection(Draw(5, seed)))
    assert (counts.candidates, counts.fresh, counts.without_code) == (5, 0, 0)


def test_each_pair_is_pending_for_the_first_reason_that_holds(database: Database) -> None:
    of_first, of_second, of_third = IN_ORDER[:3], IN_ORDER[3:6], IN_ORDER[6:9]
    before = [candidate(query, CODES[1], 1) for query in QUERIES]
    search(database, SearchId("before"), before)
    annotate(database, of_first[0])  # fresh
    annotate(database, of_first[1], recipe=FORMER)  # stale, then failed under the recipe
    annotate(database, of_first[1], "failed")
    annotate(database, of_second[0], recipe=FORMER, label=0)
    annotate(database, of_second[0], recipe=OTHER, label=1)
    annotate(database, of_second[1], recipe=FORMER)
    annotate(database, of_second[1], "undecided", recipe=OTHER)
    annotate(database, of_third[0], "failed", recipe=FORMER)  # says nothing of the recipe
    assert reasons(database) == {
        "failed": 1,
        "disagreement": 1,
        "outdated": 1,
        "new_codes": 2,
        "new_queries": 6,
    }
    by_reason = {reason: planned(database, ((reason, 9),)) for reason in REASONS}
    assert by_reason["failed"] == [of_first[1]]
    assert by_reason["disagreement"] == [of_second[0]]
    assert by_reason["outdated"] == [of_second[1]]
    assert by_reason["new_codes"] == [of_first[2], of_second[2]]
    assert by_reason["new_queries"] == IN_ORDER[6:]
    assert by_reason["requested"] == []


def test_a_label_of_a_former_recipe_that_rests_on_the_same_is_fresh(database: Database) -> None:
    annotate(database, IN_ORDER[0], recipe=FORMER)
    assert count_pending(database, selection(labels=fresh(FORMER))).fresh == 1


def test_a_label_by_another_path_than_the_covered_one_counts_for_nothing(
    database: Database,
) -> None:
    annotate(database, IN_ORDER[0], recipe=FORMER)
    counts = count_pending(database, selection(labels=fresh(FORMER, "arbiter")))
    assert counts.fresh == 0
    assert {group.reason for group in counts.groups} == {"new_queries"}


def test_groups_say_who_judged_their_pairs_last(database: Database) -> None:
    annotate(database, IN_ORDER[0], recipe=FORMER)
    annotate(database, IN_ORDER[0], recipe=OTHER)
    (stale,) = (
        group for group in count_pending(database, selection()).groups if group.reason == "outdated"
    )
    assert (stale.recipe_id, stale.roles_asked, stale.pairs) == (OTHER, ROLE, 1)


def test_pools_add_what_was_requested_and_a_candidate_of_both_counts_once(
    database: Database,
) -> None:
    only = PairKey(QUERIES[1].query_id, UNSEARCHED.code_id)
    asked = [candidate(QUERIES[0], CODES[1], 7), candidate(QUERIES[1], UNSEARCHED, 9)]
    search(database, POOL, asked, pool=True)
    assert reasons(database) == {"new_queries": 12, "requested": 1}
    assert planned(database, (("requested", 9), ("new_queries", 99))) == [only, *IN_ORDER]
    drawn = {PairKey(*key).query_id for key in planned(database, draw=Draw(2))}
    requested = planned(database, (("requested", 9),), draw=Draw(2))
    assert requested == [only] * (only.query_id in drawn)


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ((("new_queries", 4),), [*range(3), 3]),
        ((("outdated", 1), ("new_queries", 2)), [9, 0, 1]),
        ((("new_queries", 2), ("outdated", 9)), [0, 1, 9, 10]),
    ],
)
def test_reasons_come_in_their_order_each_with_its_best_pairs(
    database: Database, taken: tuple[tuple[Reason, int], ...], expected: list[int]
) -> None:
    for place in (9, 10):
        annotate(database, IN_ORDER[place], recipe=FORMER)
    assert planned(database, taken) == [IN_ORDER[place] for place in expected]


def fail(database: Database, times: int, hours_ago: float = 0.0) -> None:
    for _ in range(times):
        annotate(database, IN_ORDER[0], "failed")
    with database.transaction() as tx:
        tx.execute(
            "UPDATE annotations SET annotated_at = now() - to_seconds(?)", [3600 * hours_ago]
        )


@pytest.mark.parametrize(
    ("times", "hours_ago", "is_due"),
    [
        (1, 0.0, True),
        (2, 0.9, False),
        (2, 1.1, True),
        (3, 1.9, False),
        (3, 2.1, True),
        (4, 3.9, False),
        (4, 4.1, True),
        (8, 23.0, False),
        (8, 24.1, True),
        (9, 1_000.0, False),
        (2, -5.0, True),  # the clock was set back
    ],
)
def test_a_failed_pair_is_due_at_once_then_after_ever_longer_and_at_last_never(
    database: Database, times: int, hours_ago: float, is_due: bool
) -> None:
    fail(database, times, hours_ago)
    retries = RetryPolicy(after_s=3600.0, max_tries=9)
    assert reasons(database, retries).get("failed", 0) == is_due
    assert reasons(database, retries).get("failed, not due", 0) == (not is_due)
    assert (IN_ORDER[0] in planned(database, retries=retries)) == is_due
    assert IN_ORDER[0] in planned(database, retries=RetryPolicy()), "an explicit wish takes it"


def tries(database: Database) -> int:
    with database.transaction() as tx:
        return tx.count("SELECT tries FROM annotations")


def test_tries_count_the_failures_in_a_row_under_one_recipe(database: Database) -> None:
    fail(database, 3)
    assert tries(database) == 3
    annotate(database, IN_ORDER[0], "labelled")
    assert tries(database) == 1
    annotate(database, IN_ORDER[0], "failed")
    assert tries(database) == 1


@pytest.mark.parametrize("status", ["labelled", "failed"])
def test_what_is_judged_while_reading_goes_on_changes_nothing_of_the_rest(
    database: Database, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infra.store.pending._PAIRS_AT_ONCE", 2)
    planned(database)
    reading = pairs_in(database, "c", database.settings.folder / "keys.arrow")
    keys = [next(reading).key for _ in range(5)]
    for key in keys:
        annotate(database, key, status)
    assert keys + [pair.key for pair in reading] == IN_ORDER


def test_a_candidate_without_its_code_is_counted_apart_and_not_read(database: Database) -> None:
    with database.transaction() as tx:
        tx.execute(
            "INSERT INTO candidates BY NAME SELECT * REPLACE (? AS code_id) FROM candidates "
            "WHERE query_id = ? AND rank = 1",
            [MISSING, QUERIES[0].query_id],
        )
    counts = count_pending(database, selection())
    assert (counts.candidates, counts.without_code) == (13, 1)
    assert planned(database) == IN_ORDER


def test_what_an_interrupted_run_leaves_of_a_query_is_still_of_a_new_query(
    database: Database,
) -> None:
    annotate(database, IN_ORDER[0])
    assert reasons(database) == {"new_queries": 11}
    search(database, SearchId("before"), [candidate(QUERIES[0], CODES[1], 1)])
    assert reasons(database) == {"new_codes": 2, "new_queries": 9}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (CODES[1], {"new_codes": 2, "new_queries": 9}),  # two collections of one code share it
        (Code.of("def h(x):\n    return x"), {"new_queries": 12}),  # of a collection of other code
    ],
)
def test_an_earlier_search_that_names_another_collection_is_of_those_whose_code_it_found(
    database: Database, code: Code, expected: dict[str, int]
) -> None:
    candidates.record_search(database, SearchId("before"), "another", ["minilm"], 3)
    found = candidate(QUERIES[0], code, 1)
    candidates.add_candidates(database, SearchId("before"), [found])
    annotate(database, found.key)
    assert reasons(database) == expected


def test_a_later_round_knows_nothing_of_what_the_first_has_judged(database: Database) -> None:
    later = RecipeId("second round")
    bodies = {RECIPE: {"round": 1}, later: {"round": 2}}
    annotations.record_recipes(database, bodies, used_on="c")
    search(database, SearchId("before"), [candidate(QUERIES[0], CODES[1], 1)])
    annotate(database, IN_ORDER[0])
    of_round = selection(labels=fresh(later))
    of_round = of_round.model_copy(update={"recipe_id": later, "labelling_round": 2})
    counts = count_pending(database, of_round)
    assert [(group.reason, group.pairs) for group in counts.groups] == [("new_queries", 12)]
