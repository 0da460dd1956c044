"""The section of the settings about re-annotation: for which reasons pairs are judged."""

from collections.abc import Mapping
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from infra.settings.section import Section

Reason = Literal["new_queries", "new_codes", "requested", "failed", "disagreement", "outdated"]
REASONS: tuple[Reason, ...] = get_args(Reason)
REASON_SUMMARIES: Mapping[Reason, str] = {
    "new_queries": "of queries of which nothing was judged, or only candidates of this search",
    "new_codes": "new among the candidates of known queries: new or changed code, and what it "
    "brings up",
    "requested": "unjudged results that a leaderboard asked for",
    "failed": "failed under the present settings, and due for another try",
    "disagreement": "judged by several settings, whose labels differ",
    "outdated": "judged by former settings, of which a part that the label depends on has changed",
}


class ReannotationSettings(Section):
    """For which reasons pairs are judged, in which order, and how many."""

    take: tuple[Reason, ...] = Field(
        REASONS,
        min_length=1,
        description="Reasons for which pairs are judged, the most urgent first: "
        + "; ".join(f"{name} ({about})" for name, about in REASON_SUMMARIES.items())
        + ". `cosqa annotate --plan` shows how many pairs each has.",
    )
    limits: dict[Reason, int] = Field(
        {},
        description="Most pairs of a reason that one run judges, over all labelling rounds, such "
        "as {outdated = 500}.",
    )
    pairs: int | None = Field(
        None,
        ge=1,
        description="Most pairs that one run judges, over all reasons and labelling rounds.",
    )
    budget_usd: float | None = Field(
        None,
        gt=0,
        description="US dollars that one run may cost. `llm.budget_usd`, which all runs share, "
        "holds too. Needs a model with a known price.",
    )
    until_ranked: int | None = Field(
        None,
        ge=1,
        le=100,
        description="Judge queries in random order (annotation.seed) until each of the first TOP "
        "retrieval methods by the first metric is told from the next one, or known to be within "
        "margin of it, whichever way the rest would go: intervals are of a confidence sequence.",
    )
    margin: float = Field(
        0.02,
        ge=0,
        le=1,
        description="Difference of two methods' scores that nobody minds, for until_ranked.",
    )
    retry_after_s: float = Field(
        600.0,
        ge=0,
        description="Seconds after which a pair that failed twice is due again; doubled with each "
        "further failure, a day at most. After the first failure it is due at once.",
    )
    max_tries: int = Field(
        10,
        ge=1,
        description="Failures of a pair under the same settings after which it is due no more: "
        "only retry_all takes it.",
    )
    retry_all: bool = Field(
        False,
        description="Take failed pairs that are not due yet too; `--reason failed` of "
        "`cosqa annotate` sets it.",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(set(self.take)) < len(self.take):
            raise ValueError("take names a reason twice: each has one place in the order")
        if any(limit < 0 for limit in self.limits.values()):
            raise ValueError("limits must not be negative; 0 takes no pair of the reason")
        return self
