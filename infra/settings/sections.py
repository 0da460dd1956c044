"""The sections of the settings: a class per subsystem, bounds and a description on each field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr, SecretStr, model_validator
from pydantic.json_schema import SkipJsonSchema

from infra.records import Support
from infra.settings.configurations import CONFIGURATION_SUMMARIES, Configuration
from infra.settings.section import Section

EMBEDDED_MODEL = "embedded/smollm2-135m-instruct"


class SearchSettings(Section):
    """The search for candidates."""

    encoders: tuple[str, ...] = Field(
        ("minilm",),
        min_length=1,
        description="Encoders whose cosines are averaged; `cosqa list encoders` prints the names. "
        "Others: checkpoint:NAME=FOLDER, hub:ORG/MODEL@COMMIT, api:PROVIDER/MODEL; @bfloat16, "
        "@float16 or @int8 behind one is another dtype than float32.",
    )
    fusion: Literal["mean", "scaled"] = Field(
        "mean",
        description="How several encoders are joined: the mean of their cosines, or of cosines "
        "divided by the encoder's largest absolute one for the query (CoSQA+'s code).",
    )
    top_k: int = Field(20, ge=1, le=1000, description="Candidates for each query.")
    memory_mb: int = Field(
        2_048,
        ge=64,
        description="Memory of one pass over the codes' vectors, in MB, for queries and results; "
        "more queries than fit take several passes.",
    )
    index: Literal["exact", "ivf", "hnsw"] = Field(
        "exact",
        description="exact compares each query with every code; ivf and hnsw are approximate "
        "indexes of FAISS, built in memory (2 bytes a dimension), whose recall is measured first.",
    )
    ivf_lists: int = Field(
        0, ge=0, description="Lists of ivf; 0 means twice the square root of the number of codes."
    )
    ivf_probes: int = Field(64, ge=1, description="Lists of ivf that are read for each query.")
    hnsw_links: int = Field(32, ge=2, le=512, description="Links of a code in hnsw.")
    hnsw_ef_search: int = Field(
        256, ge=1, description="Codes that hnsw keeps in view while it searches for a query."
    )
    min_recall: float = Field(
        0.95,
        ge=0,
        le=1,
        description="Share of the exact candidates that an approximate index must find.",
    )
    recall_queries: int = Field(
        200, ge=1, description="Queries that are searched exactly too, to measure this share."
    )

    @model_validator(mode="after")
    def _check_fusion(self) -> Self:
        if self.index != "exact" and self.fusion != "mean":
            raise ValueError(
                f"fusion {self.fusion!r} needs every cosine of a query, so index must be 'exact', "
                f"not {self.index!r}"
            )
        return self


class LanguageModelSettings(Section):
    """The language model."""

    variables: ClassVar[str] = "COSQA_LLM__"  # what the section's variables begin with

    model: str = Field(
        EMBEDDED_MODEL,
        description="litellm's name of the model; the embedded one needs no key and is a demo.",
    )
    base_url: str | None = Field(None, description="Address of an OpenAI-compatible server.")
    # Neither in the form of a Prefect deployment nor in the parameters that Prefect stores.
    api_key: Annotated[SecretStr | None, SkipJsonSchema()] = Field(
        None,
        exclude=True,
        repr=False,
        description="The provider's key; set it as COSQA_LLM__API_KEY, it is never printed here.",
    )
    api_key_block: str | None = Field(
        None, description="Prefect Secret block that holds the key, for runs of a deployment."
    )
    temperature: float = Field(0.0, ge=0, le=2, description="Sampling temperature.")
    max_tokens: int = Field(2048, ge=16, description="Maximum length of a reply, in tokens.")
    timeout_s: float = Field(120.0, gt=0, description="Time-out of one request, in seconds.")
    max_retries: int = Field(
        5,
        ge=0,
        description="Maximum number of retries after 408, 409, 429, 5xx and lost connections.",
    )
    max_backoff_s: float = Field(60.0, gt=0, description="Maximum wait before a retry, in seconds.")
    requests_per_minute: int = Field(
        0,
        ge=0,
        description="Maximum requests a minute of all workers with this key; 0 means no limit.",
    )
    tokens_per_minute: int = Field(
        0,
        ge=0,
        description="Maximum tokens a minute, sent and received, of all workers; 0 means no limit.",
    )
    budget_tokens: int | None = Field(
        None, ge=1, description="Maximum tokens for this model and this store, over all runs."
    )
    budget_usd: float | None = Field(
        None,
        gt=0,
        description="Maximum cost in US dollars, over all runs; needs a model with a known price.",
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

    # Of one run, set by the program: no variable and no file has it.
    _run_ends_usd: float | None = PrivateAttr(None)

    @property
    def run_ends_usd(self) -> float | None:
        """What all runs may have spent when this one ends by its own budget; None without one."""
        return self._run_ends_usd

    def ending_at(self, usd: float) -> Self:
        """Return the settings of a run that ends when all runs have spent so much."""
        ending = self.model_copy()
        ending._run_ends_usd = usd  # noqa: SLF001 - its own class's
        return ending

    @property
    def is_demo(self) -> bool:
        """Whether this model only shows how the pipeline works, and labels at chance."""
        return self.model.startswith("embedded/")


class AnnotationSettings(Section):
    """The annotation of pairs by agents."""

    agents: bool = Field(
        True, description="Whether agents judge candidates; without them a source's labels are all."
    )
    configuration: Configuration = Field(
        "gated",
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
    scaffolding: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether code under test gets the imports and stand-ins that it lacks, and "
        "programs the packages of the sandbox image; auto gives them in `gated` alone.",
    )
    limit: int | None = Field(None, ge=1, description="Annotate the first N queries only.")
    demo_pairs: int = Field(
        12,
        ge=1,
        description="Candidates that the embedded demo model judges in all, over all runs of a "
        "store. Its labels are chance; a few show how a pair is judged.",
    )
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
        description="Pairs judged at once over the whole cluster, whatever its number of cores. "
        "They wait for the model most of the time; boxes have a limit of their own "
        "(`sandbox.slots`).",
    )
    batch: bool = Field(
        False,
        description="Send the agents' requests by OpenAI's batch protocol (models `openai/...` and "
        "`litellm_proxy/...`), at about half the price, step by step: one may take up to 24 hours.",
    )
    batch_requests: int = Field(
        50_000, ge=1, le=50_000, description="Maximum requests in one batch (OpenAI's limit)."
    )
    batch_poll_s: float = Field(
        30.0, gt=0, description="Seconds after which batches in flight are looked at again."
    )
    canaries: int = Field(
        12, ge=0, description="Pairs with known labels added to a run, a tenth of it at most."
    )
    canary_limit: float = Field(
        0.4,
        ge=0,
        le=1,
        description="Maximum share of these that may be labelled wrongly before a run stops.",
    )
    stop_after_failures: int = Field(
        10, ge=1, description="Failed pairs in a row after which a run stops."
    )

    former_names: ClassVar[Mapping[str, str]] = {"concurrency": "in_flight"}
    retired_names: ClassVar[Mapping[str, str]] = {
        "shard_size": "pairs are handed out one by one",
        "shards_per_core": "in_flight alone says how many pairs are judged at once",
    }


class GateSettings(Section):
    """Checks that a test program must pass before its result counts."""

    mutants: int = Field(8, ge=2, le=100, description="Maximum mutants of the code under test.")
    mutant_timeout_s: float = Field(2.0, gt=0, description="Time-out of one mutant, in seconds.")
    min_killed: int = Field(2, ge=1, description="Minimum number of killed mutants.")
    min_mutation_score: float = Field(0.5, ge=0, le=1, description="Minimum mutation score.")

    former_names: ClassVar[Mapping[str, str]] = {
        "least_killed": "min_killed",
        "least_score": "min_mutation_score",
    }


class PublishSettings(Section):
    """Output."""

    folder: Path = Field(Path("cosqa-benchmarks"), description="Folder of the exported benchmarks.")
    allow_demo: bool = Field(False, description="Export labels of the embedded demo model.")
    include_undecided: bool = Field(False, description="List undecided pairs beside the labels.")
    generated: Literal["none", "confirmed", "verified"] = Field(
        "confirmed",
        description="Written answers to queries without a match (`cosqa generate`) to export: "
        "those that a person confirmed, all that the agents verified, or none.",
    )
    include_unlicensed: bool = Field(
        False,
        description="Export code too whose licence is unknown or does not permit redistribution.",
    )
    support: tuple[Support, ...] = Field(
        ("screened", "valid_oracle", "void_oracle", "ungated"),
        min_length=1,
        description="Export only labels of the agents with this support: reading alone (screened), "
        "a test program that passed the checks (valid_oracle) or failed them (void_oracle), or "
        "agents without checks (ungated).",
    )
    code_base: Literal["collection", "candidates"] = Field(
        "collection",
        description="Codes of a benchmark: the whole collection, or only the union of all queries' "
        "candidates, as CoSQA+ has it. A collection without candidates is exported whole.",
    )
    split: str | None = Field(
        None,
        pattern=r"^[1-9][0-9]{0,2}(:[0-9]{1,3}){2}$",
        description="Split the queries into train, dev and test in this ratio, such as 8:1:1, "
        "alike for each number of matches; none given splits nothing.",
    )
    split_seed: int = Field(0, ge=0, description="Seed of the split.")

    former_names: ClassVar[Mapping[str, str]] = {"grades": "support"}
