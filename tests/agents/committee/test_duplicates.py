"""Laws of duplicates: they have label and evidence of the code that was judged, and say of which.

Covers `agents.committee.duplicates`.
"""

from agents.committee.duplicates import first_of, taken_over
from infra.ids import CodeId, QueryId, RecipeId
from infra.records import Annotation, Execution, ExecutionResult
from tests.fakes.specified import SCREENING, call_of

JUDGED = Annotation(
    query_id=QueryId("q1"),
    code_id=CodeId("c1"),
    recipe_id=RecipeId("r"),
    status="labelled",
    label=0,
    decided_by="claims",
    path="claims_fail",
    reason="[] => 0: gave 1",
    support="valid_oracle",
    judgements=2,
    agreeing=2,
    calls=(call_of("screener", SCREENING, cost_usd=0.5),),
    executions=(Execution(round=0, program="p", result=ExecutionResult(outcome="passed")),),
    seconds=3.0,
)


def test_label_and_evidence_are_those_of_the_code_judged_and_cost_nothing() -> None:
    found = taken_over(JUDGED, CodeId("c2"))
    same = {"query_id", "recipe_id", "status", "label", "support", "judgements", "agreeing"}
    same |= {"executions"}
    assert found.model_dump(include=same) == JUDGED.model_dump(include=same)
    assert (found.code_id, found.decided_by, found.path) == ("c2", "duplicate", "duplicate")
    assert (found.met, found.seconds) == (JUDGED.met, 0)
    assert [call.cached for call in found.calls] == [True]
    assert found.calls[0].reply == JUDGED.calls[0].reply
    assert found.reason.startswith("c1 ")
    assert found.reason.endswith(JUDGED.reason)


def test_the_reason_of_a_duplicate_of_a_duplicate_names_the_code_that_was_judged() -> None:
    second = taken_over(JUDGED, CodeId("c2"))
    third = taken_over(second, CodeId("c3"))
    assert third == taken_over(JUDGED, CodeId("c3"))
    assert [first_of(item) for item in (JUDGED, second, third)] == [None, "c1", "c1"]
