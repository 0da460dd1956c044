"""The sections on annotation: which agents judge which pairs, how often, how many at once."""

from collections.abc import Mapping
from typing import Literal, Self, get_args

from pydantic import Field, model_validator

from infra.settings.section import Section
from infra.subsets import Draw

Configuration = Literal[
    "single", "arbiter", "writer", "executor", "simulated", "paper", "spec", "v1-exact", "v1-half",
]  # fmt: skip
Evidence = Literal["read", "matches", "all"]
# The rows of the paper's ablation, and the default: what annotators are compared by if not asked.
COMPARED_CONFIGURATIONS: tuple[Configuration, ...] = (
    "single", "arbiter", "writer", "executor", "simulated", "paper", "spec",
)  # fmt: skip
CONFIGURATION_SUMMARIES: Mapping[Configuration, str] = {
    "single": "one model reads the pair, in three steps",
    "arbiter": "a screener decides clear pairs, and one model reads the others",
    "writer": "as arbiter, with a test program for unclear pairs that is not run",
    "executor": "as writer, and the test program is run",
    "simulated": "as executor, but a model predicts the run",
    "paper": "Algorithm 1 of CoSQA+: as executor, with a fixer that answers errors by commands",
    "spec": "a query is specified once, its examples are run on every candidate, and where they "
    "cannot be, a test program that must pass checks to count",
    "v1-exact": "CoSQA+ version 1, a label for code that answers in full: as single, with rounds=3",
    "v1-half": "CoSQA+ version 1, a label for code that meets half of the demands, with rounds=3",
}


class AnnotationSettings(Section):
    """The annotation of pairs by agents."""

    agents: bool = Field(
        True, description="Whether agents judge candidates; without them a source's labels are all."
    )
    configuration: Configuration = Field(
        "spec",
        description="Which agents judge a pair: "
        + "; ".join(f"{name} ({about})" for name, about in CONFIGURATION_SUMMARIES.items())
        + ".",
    )
    rounds: int = Field(
        1,
        ge=1,
        le=25,
        description="Labelling rounds: how often each pair is judged, every time anew. The label "
        "that more than half of the rounds give is published. At temperature 0 rounds differ "
        "only by what the provider leaves to chance.",
    )
    evidence: Literal["auto"] | Evidence = Field(
        "auto",
        description="Which pairs get a test program beside the unclear ones: none (read), those "
        "that reading takes for a match and of which nothing has run (matches), or every pair of "
        "which nothing has run (all); auto is matches in `spec` and read in all others.",
    )
    limit: int | None = Field(
        None, ge=1, description="Take N queries only, drawn at random by the seed."
    )
    seed: int = Field(0, ge=0, description="Seed of random draws of queries and pairs.")
    max_try_time: int = Field(
        3,
        ge=0,
        le=20,
        description="Rounds of repair by the fixer for a test program; in `paper` one more, as in "
        "Algorithm 1.",
    )
    in_flight: int = Field(
        64,
        ge=1,
        le=4096,
        description="Most pairs judged at once over the whole cluster, whatever its number of "
        "cores. They wait for the model most of the time: of their requests, few are sent at "
        "first, and more while the server then gives more replies a second. Boxes have a limit of "
        "their own (`sandbox.slots`).",
    )
    gold_questions: int = Field(
        12,
        ge=0,
        description="Most pairs with known labels added to a run: a tenth of its pairs, six at "
        "least.",
    )
    gold_limit: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Maximum share of these that may be labelled wrongly before a run stops; six "
        "of them must be judged.",
    )
    stop_after_failures: int = Field(
        10, ge=1, description="Failed pairs in a row after which the run gives up."
    )

    @property
    def draw(self) -> Draw:
        """The draw of the queries whose candidates are judged."""
        return Draw(self.limit, self.seed)


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
