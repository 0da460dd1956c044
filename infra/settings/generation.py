"""The settings of written answers to queries without a match."""

from pydantic import Field

from infra.settings.configurations import Configuration
from infra.settings.section import Section


class GenerationSettings(Section):
    """Answers that a model writes for queries without a match."""

    configuration: Configuration = Field(
        "gated",
        description="Which agents verify an answer, whichever annotate; those that run programs "
        "write and run one for each.",
    )
    max_tries: int = Field(
        3,
        ge=1,
        le=20,
        description="How often an answer is written for a query, each time with what was wrong "
        "before; a person's refusal allows as many again.",
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="Write answers for N such queries only, drawn at random by annotation.seed.",
    )
    concurrency: int = Field(4, ge=1, le=256, description="Queries worked on at once.")
