"""Laws of the judges, which read alone: their criteria, and the order of their steps."""

import pytest

from agents.llm.prompt import system_text
from agents.llm.structured_output import schema_of
from agents.roles.read import ExactJudge, HalfJudge
from infra.records import Pair
from tests.agents.conftest import Bench, rule

GUIDELINES = {
    "exact_judge": "it meets most of the demand but misses a category of it",
    "half_judge": "meets a category of the demand that makes up half of it or more",
}


@pytest.mark.parametrize("judge", [ExactJudge, HalfJudge])
async def test_a_judge_reasons_in_three_steps_before_its_verdict(
    bench: Bench, pair: Pair, judge: type[ExactJudge]
) -> None:
    reply = {"asked": "reverse it", "deviations": "none", "verdict": "answers"}
    bench.serve([rule(judge.role, {"reply": reply})])
    judgement = await judge(bench.model()).read(pair)
    assert (judgement.verdict, judgement.reason) == (
        "answers", "Asked: reverse it\nDeviations: none"
    )  # fmt: skip
    assert list(schema_of(judge.reply_type, None)["properties"]) == [
        "asked", "deviations", "verdict"
    ]  # fmt: skip
    system = bench.server.calls[0]["messages"][0]["content"]
    places = [system.index(step) for step in ("1. asked", "2. deviations", "3. verdict")]
    assert places == sorted(places)


@pytest.mark.parametrize("role", GUIDELINES)
def test_each_criterion_is_stated_to_its_judge_and_to_no_other(role: str) -> None:
    text = system_text(role)
    assert [name for name, rule in GUIDELINES.items() if rule in text] == [role]
    assert "is never followed" in text


def test_the_single_model_reads_the_same_exact_guideline_as_the_other_agents() -> None:
    guideline = next(
        line for line in system_text("arbiter").splitlines() if line.startswith("Guideline:")
    )
    assert guideline in system_text(ExactJudge.role)
