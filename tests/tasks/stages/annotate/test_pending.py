"""Laws of which pending pairs a run takes.

Covers `tasks.stages.annotate.pending`, `tasks.stages.annotate.run`.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.collected import Collected
from infra.errors import SettingsError
from infra.ids import RecipeId, SearchId
from infra.records import Candidate, Code, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    ReannotationSettings,
    Reason,
    Settings,
    StoreSettings,
)
from infra.store import candidates, corpus, open_database
from infra.store.pending import PendingCounts, PendingGroup, Selection
from tasks.runtime.references import RecipeReference, SearchReference
from tasks.stages.annotate.pending import (
    RoundPending,
    pending_of,
    share,
    within,
)
from tasks.stages.annotate.run import AnnotationRun
from tests.fakes.labels import labels_by

NUMBERS: dict[Reason, int] = {"new_queries": 40, "failed": 3, "stale": 100}
ENOUGH = 1_000
SELECTION = Selection(
    search_id=SearchId("s"), recipe_id=RecipeId("r"), labels=labels_by("s", ["r"])
)


@pytest.mark.parametrize(
    ("policy", "most", "left", "expected"),
    [
        ({}, {}, ENOUGH, [("new_queries", 40), ("failed", 3), ("stale", 100)]),
        ({"take": ("stale", "failed")}, {}, ENOUGH, [("stale", 100), ("failed", 3)]),
        ({"take": ("stale", "failed")}, {}, 101, [("stale", 100), ("failed", 1)]),
        ({"take": ("stale", "failed")}, {}, 100, [("stale", 100)]),
        ({}, {}, 0, []),
        ({"limits": {"stale": 7}}, {}, ENOUGH, [("new_queries", 40), ("failed", 3), ("stale", 7)]),
        ({"limits": {"new_queries": 0}}, {}, 50, [("failed", 3), ("stale", 47)]),
        ({"limits": {"stale": 7}}, {"stale": 5}, ENOUGH,
         [("new_queries", 40), ("failed", 3), ("stale", 5)]),
        ({}, {"new_queries": 0, "stale": 5}, 6, [("failed", 3), ("stale", 3)]),
    ],
)  # fmt: skip
def test_reasons_are_taken_in_their_order_within_their_limits_and_the_runs(
    policy: dict[str, Any],
    most: dict[Reason, int],
    left: int,
    expected: list[tuple[Reason, int]],
) -> None:
    chosen = ReannotationSettings(**policy)
    assert within(NUMBERS, chosen.take, {**chosen.limits, **most}, left) == expected


@given(st.integers(0, 50), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_rounds_share_what_a_person_bounds_and_never_take_more(most: int, of: list[int]) -> None:
    left = most
    for number, pending in enumerate(of):
        left -= min(pending, share(left, len(of) - number))
    assert left >= 0
    if min(of) >= most:
        assert left == 0, "where enough is pending, all of it is taken"


def test_failed_pairs_that_have_to_wait_are_not_pending() -> None:
    groups = [
        PendingGroup("failed", False, RecipeId(""), "", 4),
        PendingGroup("failed", True, RecipeId(""), "", 2),
        PendingGroup("stale", True, RecipeId("r"), "screener", 3),
        PendingGroup("stale", True, RecipeId("q"), "arbiter,screener", 5),
        PendingGroup("stale", True, RecipeId("q"), "screener", 1),
    ]
    pending = RoundPending(SELECTION, PendingCounts(20, 5, 0, groups))
    assert pending.pending == {"failed": 2, "stale": 9}
    assert pending.not_due == 4


@pytest.mark.parametrize("language", ["", "python", "Python", "java"])
def test_code_that_the_agents_cannot_judge_is_refused_before_it_is_pending(
    tmp_path: Path, language: str
) -> None:
    settings = Settings(
        store=StoreSettings(folder=tmp_path),
        llm=LanguageModelSettings(model="openai/gpt-4o-mini"),
        annotation=AnnotationSettings(configuration="single"),
    )
    database = open_database(settings.store)
    query, code = Query.of("add one"), Code.of("int f(int x) { return x + 1; }", language=language)
    info = SourceInfo(name="made", licence="MIT", revision="1", location="here")
    content = Collected(info=info, queries=(query,), codes=(code,))
    corpus.replace_collections(database, "print", {"c": content}, annotated="c")
    found = Candidate(
        query_id=query.query_id, code_id=code.code_id, rank=1, similarity=1, by_encoder={}
    )
    search = SearchReference(search_id=SearchId("s"), collection="c", queries=1, candidates=1)
    candidates.record_search(database, search.search_id, "c", ["minilm"], 1)
    candidates.add_candidates(database, search.search_id, [found])
    run = AnnotationRun(search, RecipeReference(recipe_id=RecipeId("r"), model="m"), settings)
    if language != "java":
        assert pending_of(database, run).pending == {"new_queries": 1}
        return
    with pytest.raises(SettingsError, match=r"code in python alone, and c holds 1 in java: "):
        pending_of(database, run)
