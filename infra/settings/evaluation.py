"""The section of the settings on the evaluation of retrieval methods."""

from pydantic import Field

from infra.settings.section import Section


class EvaluationSettings(Section):
    """The evaluation of retrieval methods."""

    methods: tuple[str, ...] = Field(
        (),
        description="Retrieval methods; none given takes all lexical ones and the encoders. "
        "`cosqa list methods` prints the names.",
    )
    depth: int = Field(1000, ge=10, description="Length of the rankings that are scored.")
    metrics: tuple[str, ...] = Field(
        (),
        description="Metrics of a leaderboard; none given takes NDCG@10, MRR, MAP, MMRR, "
        "Recall@10, Answered@5. `cosqa list metrics` prints the names.",
    )
