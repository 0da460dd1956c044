"""The section of the settings about annotation: who judges pairs, how often, how many at once."""

from typing import Literal

from pydantic import Field

from infra.draws import Draw
from infra.settings.configurations import CONFIGURATION_SUMMARIES, Configuration, Evidence
from infra.settings.section import Section


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
