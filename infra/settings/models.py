"""The sections on models: the language model, embedding by this machine or an API, training."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from infra.errors import SettingsError
from infra.settings.section import Address, Key, Section

RECORDED_PREFIX = "recorded/"
Price = Annotated[float, Field(ge=0, le=1e6)]
KeyBlock = Annotated[
    str | None,
    Field(description="Prefect Secret block that holds the key, for runs of a deployment."),
]
Timeout = Annotated[
    float,
    Field(
        gt=0,
        description="Least time-out of a request, in seconds: before the first reply it is fifteen "
        "times as long, then a hundred times the mean of replies where that is longer.",
    ),
]
MostRetries = Annotated[
    int,
    Field(
        ge=0,
        description="Maximum number of retries after 408, 409, 429, 5xx and lost connections.",
    ),
]
Backoff = Annotated[float, Field(gt=0, description="Maximum wait before a retry, in seconds.")]


class LanguageModelSettings(Section):
    """The language model."""

    variables: ClassVar[str] = "COSQA_LLM__"  # what the section's variables begin with

    model: str = Field(
        "",
        description="litellm's name of the model, such as openai/gpt-4o-mini; "
        "recorded/stdlib-sample knows the packaged sample alone.",
    )
    base_url: Address = Field(None, description="Address of an OpenAI-compatible server.")
    api_key: Key = Field(
        None,
        exclude=True,
        repr=False,
        description="The provider's key; set it as COSQA_LLM__API_KEY, it is never printed here.",
    )
    api_key_block: KeyBlock = None
    temperature: float = Field(0.0, ge=0, le=2, description="Sampling temperature.")
    max_tokens: int = Field(2048, ge=16, description="Maximum length of a reply, in tokens.")
    limit_key: str | None = Field(
        None,
        pattern=r"^\w{1,64}$",
        description="Name by which the server takes that maximum; none given tries max_tokens, "
        "then max_completion_tokens.",
    )
    timeout_s: Timeout = 120.0
    max_retries: MostRetries = 8
    max_backoff_s: Backoff = 60.0
    requests_per_minute: int = Field(
        0,
        ge=0,
        description="Maximum requests a minute of all workers of a run; 0 means no limit.",
    )
    tokens_per_minute: int = Field(
        0,
        ge=0,
        description="Maximum tokens a minute of all workers of a run; 0 means no limit.",
    )
    budget_tokens: int | None = Field(
        None, ge=1, description="Maximum tokens for this model and this store, over all runs."
    )
    budget_usd: float | None = Field(
        None,
        gt=0,
        description="Maximum cost in US dollars, over all runs; needs a model with a known price.",
    )
    usd_per_million_tokens: tuple[Price, Price] | None = Field(
        None,
        description="Prices in US dollars of a million tokens sent and of a million received, such "
        "as [0.15, 0.6], in place of those in litellm's list.",
    )
    max_code_characters: int = Field(
        12_000, ge=200, description="Longer code is cut to this length in prompts."
    )
    max_field_characters: int | None = Field(
        None,
        ge=16,
        description="Maximum length of a text in a structured reply, for servers with constrained "
        "decoding.",
    )

    @field_validator("model")
    @classmethod
    def _refuse_addresses(cls, model: str) -> str:
        if "://" in model:  # some providers' clients would send there what base_url keeps elsewhere
            raise ValueError("a model's name holds no address: set base_url")
        return model

    @property
    def is_recorded(self) -> bool:
        """Return True if its replies are packaged: no provider is asked."""
        return self.model.startswith(RECORDED_PREFIX)

    def require_model(self) -> None:
        """Refuse to ask a model where none is named.

        Raises:
            SettingsError: None is; the message has the ways out.
        """
        if not self.model:
            raise SettingsError(
                "no language model is named: give --model PROVIDER/NAME or COSQA_LLM__MODEL, with "
                "its key as COSQA_LLM__API_KEY; or run `cosqa benchmark` in an empty folder, where "
                "the packaged sample is judged by recorded replies"
            )


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
    api_key_block: KeyBlock = None
    timeout_s: Timeout = 120.0
    max_retries: MostRetries = 8
    max_backoff_s: Backoff = 60.0
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


class TrainingSettings(Section):
    """The model that `cosqa train` trains, and its options; the recipe gives the others."""

    base: str = Field(
        "minilm",
        description="Encoder that is fine-tuned, or model that is trained from nothing.",
    )
    recipe: str = Field(
        "",
        description="How it is trained; none given takes that of a model trained from nothing, "
        "else cosqa-plus.",
    )
    name: str = Field(
        "",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,99})?$",
        description="Name of the encoder that comes out; none given joins those of base and data.",
    )
    epochs: int | None = Field(None, ge=1, description="Times that all pairs are gone through.")
    batch_size: int | None = Field(None, ge=2, description="Pairs in a step.")
    learning_rate: float | None = Field(None, gt=0, description="Highest learning rate.")
    seed: int | None = Field(
        None, ge=0, description="Seed of the weights, the order of the pairs and dropout."
    )
    buckets: int | None = Field(
        None,
        ge=1,
        description="Rows of the table that fastText's n-grams share, of ncs and unif (the recipe: "
        "200,000; fastText's own default, 2,000,000, takes 800 MB).",
    )
    split: str = Field(
        "8:1:1",
        pattern=r"^[1-9][0-9]{0,2}:[1-9][0-9]{0,2}:[1-9][0-9]{0,2}$",
        description="Ratio of training, dev and test queries of data that is not split.",
    )
    split_by: Literal["query", "repository"] = Field(
        "query",
        description="What the split keeps together: a query, or all code of a repository (of "
        "installed code: of a package).",
    )
