"""Laws of `cosqa pair`: a pair is found by how its ids begin, and shown with all its evidence.

Covers `infra.store.evidence`.
"""

import re
from pathlib import Path

import pytest

from flows.cli import show
from infra.errors import StoreError
from infra.identity import RecipeId
from infra.records import (
    Annotation,
    Code,
    Execution,
    ExecutionResult,
    LanguageModelCall,
    Pair,
    Query,
)
from infra.settings import Settings, StoreSettings
from infra.store import annotations, open_database
from tests.fakes.specified import SCREENING, SPECIFICATION, call_of

PAIR = Pair(query=Query.of("add two numbers"), code=Code.of("def add(a, b):\n    return a + b"))
OTHER = Pair(query=PAIR.query, code=Code.of("def no():\n    pass"))


def annotated(pair: Pair, recipe: str, label: int) -> Annotation:
    """Return an annotation with a call and an execution."""
    call = LanguageModelCall(
        role="arbiter", attempt=1, model="m", prompt_digest="d", status="ok", reply="it adds\x1b[2J"
    )
    run = Execution(
        round=0, program="assert add(1, 2) == 3",
        result=ExecutionResult(outcome="passed", stdout="fine"),
    )  # fmt: skip
    return Annotation(
        query_id=pair.query.query_id, code_id=pair.code.code_id, recipe_id=RecipeId(recipe),
        status="labelled", label=label, path="unclear_passed", calls=(call,), executions=(run,),
    )  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(store=StoreSettings(folder=tmp_path))
    database = open_database(settings.store)
    bodies = {
        RecipeId(name): {"model": {"model": f"openai/{name}", "temperature": 0.0}}
        for name in ("old", "new")
    }
    annotations.record_recipes(database, bodies)
    annotations.record_pairs(database, [PAIR, OTHER])
    annotations.add_annotations(database, [annotated(PAIR, "old", 0), annotated(OTHER, "old", 0)])
    annotations.add_annotations(database, [annotated(PAIR, "new", 1)])
    return settings


def test_each_judgement_is_shown_the_newest_first(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    show.pair(settings.store, PAIR.query.query_id[:6], PAIR.code.code_id[:8])
    printed = capsys.readouterr().out
    for part in ("add two numbers", "return a + b", "arbiter", "assert add(1, 2) == 3", "fine"):
        assert part in printed
    assert printed.index("labelled 1 by openai/new") < printed.index("labelled 0 by openai/old")
    assert "\x1b" not in printed, "what a model wrote cannot steer the terminal"


@pytest.mark.parametrize(
    ("query", "code"),
    [("add two numbers", "def add(a, b):\n    return a + b"), ("  ADD  two\n numbers ", "def add"),
     ("two", "RETURN A"), (PAIR.query.query_id[:5], "def add("), ("add", PAIR.code.code_id)],
)  # fmt: skip
def test_a_pair_is_found_by_text_as_by_ids(
    settings: Settings, capsys: pytest.CaptureFixture[str], query: str, code: str
) -> None:
    show.pair(settings.store, query, code)
    printed = capsys.readouterr().out
    assert f"code {PAIR.code.code_id}:" in printed
    assert f"code {OTHER.code.code_id}:" not in printed


@pytest.mark.parametrize("text", ["%", "_", "def .*", "'", "c\\"])
def test_a_text_is_no_pattern(settings: Settings, text: str) -> None:
    with pytest.raises(StoreError, match="no judged pair is named so"):
        show.pair(settings.store, "add", text)


def test_a_pair_leads_to_those_before_and_after_it_by_names_that_find_them(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    met = set()
    for pair in (PAIR, OTHER):
        show.pair(settings.store, pair.query.query_id, pair.code.code_id)
        printed = capsys.readouterr().out
        [(way, query, code)] = re.findall(r"(\w+) pair: cosqa pair (\w+) (\w+)", printed)
        other = OTHER if pair is PAIR else PAIR
        assert (query, code) == (other.query.query_id, other.code.code_id)
        met.add(way)
    assert met == {"previous", "next"}


def test_a_pair_says_where_its_function_stands(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_database(settings.store).transaction() as tx:
        tx.execute(
            "INSERT INTO collection_codes BY NAME SELECT 'sums' AS collection, 1 AS position, "
            "? AS code_id, 'add' AS name, 'sums.of_two' AS module, 14 AS first_line, "
            "15 AS last_line, '' AS documentation, [] AS parameters, 'sums/of_two.py:14' AS origin",
            [PAIR.code.code_id],
        )
    show.pair(settings.store, PAIR.query.query_id, PAIR.code.code_id)
    printed = capsys.readouterr().out
    for told in ("Function: add", "Module: sums.of_two", "File: sums/of_two.py:14"):
        assert told in printed


def test_ids_that_fit_several_pairs_or_none_say_so(settings: Settings) -> None:
    with pytest.raises(StoreError, match="2 judged pairs are named so") as several:
        show.pair(settings.store, PAIR.query.query_id[:6], "def")
    assert OTHER.code.code_id in str(several.value)
    with pytest.raises(StoreError, match="no judged pair is named so"):
        show.pair(settings.store, "zz", "zz")


def test_a_pair_that_was_judged_by_a_specification_is_shown_with_it(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = (call_of("specifier", SPECIFICATION), call_of("screener", SCREENING))
    made = annotated(PAIR, "new", 1).model_copy(update={"calls": calls})
    annotations.add_annotations(open_database(settings.store), [made])
    show.pair(settings.store, PAIR.query.query_id[:6], PAIR.code.code_id[:8])
    printed = capsys.readouterr().out
    assert "What the query demands" in printed
    assert "call: answer('abc')\nexpected: 'cba'\nactual: not run" in printed
    assert printed.index("Calls") < printed.index("Test runs") < printed.index("Decision")
