"""The section of the settings about embedding, by models of this machine or by an API."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from infra.settings.section import Address, Key, Section
from infra.settings.sections import LanguageModelSettings

_OF_THE_API = (
    "base_url", "api_key", "timeout_s", "max_retries", "max_backoff_s", "requests_per_minute",
    "tokens_per_minute", "budget_tokens", "budget_usd",
)  # fmt: skip


class EmbeddingModelSettings(LanguageModelSettings):
    """One model behind an embedding API."""

    variables: ClassVar[str] = "COSQA_ENCODER__"


class EncoderSettings(Section):
    """The embedding of texts. What begins with a base_url concerns encoders behind an API."""

    actors: int = Field(
        0,
        ge=0,
        description="Number of Ray actors for many texts, also where they find no room yet; 0 "
        "takes what the GPUs have room for, or one for each core, up to 8 on a node. Of an API, "
        "the requests at once; 0 takes 4.",
    )
    gpu_share: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Share of a GPU for each actor, also where no node has one yet; 0.5 lets two "
        "share one. When not given, actors take whole GPUs where there are any, else cores.",
    )
    batch_size: int = Field(
        0,
        ge=0,
        description="Maximum number of texts for one forward pass, beside the limit of the device "
        "on their tokens; 0 leaves it at that limit. Of an API, the texts in a request; 0 takes "
        "64.",
    )
    shard_size: int = Field(
        8192,
        ge=1,
        description="Vectors in one file; with the same number for all encoders a search reads "
        "each file once.",
    )
    checkpoints: dict[str, Path] = Field(
        {},
        description="Folders whose checkpoints stand in for those of registered encoders, such as "
        "one for codebert-search, which is not published.",
    )
    base_url: Address = Field(None, description="Address of an OpenAI-compatible embedding API.")
    api_key: Key = Field(
        None,
        exclude=True,
        repr=False,
        description="The embedding API's key; set it as COSQA_ENCODER__API_KEY, it is never "
        "printed here.",
    )
    api_key_block: str | None = Field(
        None, description="Prefect Secret block that holds the key, for runs of a deployment."
    )
    timeout_s: float = Field(
        120.0,
        gt=0,
        description="Least time-out of a request, in seconds: before the first reply it is fifteen "
        "times as long, then a hundred times the mean of replies where that is longer.",
    )
    max_retries: int = Field(
        8,
        ge=0,
        description="Maximum number of retries after 408, 409, 429, 5xx and lost connections.",
    )
    max_backoff_s: float = Field(60.0, gt=0, description="Maximum wait before a retry, in seconds.")
    requests_per_minute: int = Field(
        0, ge=0, description="Maximum requests a minute of a run; 0 means no limit."
    )
    tokens_per_minute: int = Field(
        0, ge=0, description="Maximum tokens a minute of a run; 0 means no limit."
    )
    budget_tokens: int | None = Field(
        None, ge=1, description="Maximum tokens for each embedding model, over all runs of a store."
    )
    budget_usd: float | None = Field(
        None,
        gt=0,
        description="Maximum cost in US dollars of each embedding model, over all runs; needs a "
        "model with a known price.",
    )

    def of_api(self, model: str) -> EmbeddingModelSettings:
        """Return the settings of one model behind the API, by litellm's name."""
        return EmbeddingModelSettings(
            model=model, **{name: getattr(self, name) for name in _OF_THE_API}
        )
