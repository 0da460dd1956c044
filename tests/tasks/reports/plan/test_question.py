"""Laws of the plan as a question: short, with the total first."""

from infra.ids import RecipeId
from tasks.forecast.pairs import Amount, Expected
from tasks.reports.plan import ReasonPlan, RunPlan, plan_question


def expected(usd: float | None) -> Expected:
    """Return what pairs are expected to take."""
    return Expected(
        requests=Amount(expected=400),
        tokens=Amount(expected=90_000),
        usd=None if usd is None else Amount(expected=usd, low=usd / 2, high=usd * 2),
        minutes=Amount(expected=12),
    )


def plan(usd: float | None) -> RunPlan:
    """Return a plan of 240 pairs."""
    return RunPlan(
        collection="my_codes", recipe_id=RecipeId("r"), model="openai/m", configuration="gated",
        candidates=900, fresh=488, expected=expected(usd), basis="past runs",
        reasons=(
            ReasonPlan(reason="stale", pending=372, taken=200, expected=expected(usd)),
            ReasonPlan(reason="new_queries", pending=40, taken=40),
            ReasonPlan(reason="failed", pending=0, taken=0, not_due=3),
        ),
    )  # fmt: skip


def test_the_total_stands_first_and_each_reason_that_is_taken_has_a_row() -> None:
    total, table, *rest = plan_question(plan(2.0)).split("\n\n")
    assert total == (
        "**openai/m judges 240 pairs: cost \\$2.00 (\\$1.00 to \\$4.00), time about 12 min 0 s.**"
    )
    assert table.splitlines()[2:] == [
        "| stale | 200 | \\$2.00 (\\$1.00 to \\$4.00) | about 12 min 0 s |",
        "| new queries | 40 | \N{EN DASH} | \N{EN DASH} |",
    ]
    assert "240 of 412 pending pairs of my\\_codes" in rest[0]


def test_a_cost_that_is_not_known_is_said() -> None:
    assert "judges 240 pairs: cost unknown, time about 12 min 0 s" in plan_question(plan(None))
