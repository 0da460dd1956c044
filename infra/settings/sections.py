"""The sections of the settings: a class per subsystem, bounds and a description on each field."""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from infra.records import Grade

_CORES = os.cpu_count() or 1


EMBEDDED_MODEL = "embedded/smollm2-135m-instruct"


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(Section):
    """The artifact store: a folder with the database, the vectors and the replies of models."""

    folder: Path = Field(Path("cosqa-data"), description="Folder of the store; made when missing.")
    lock_timeout_s: float = Field(
        30.0, ge=0, description="How long to wait while another process holds the database."
    )

    @property
    def database(self) -> Path:
        """The DuckDB file."""
        return self.folder / "cosqa.duckdb"

    @property
    def vectors(self) -> Path:
        """Folder of the Parquet files that hold vectors."""
        return self.folder / "vectors"

    @property
    def replies(self) -> Path:
        """Folder of the language models' replies, by content."""
        return self.folder / "replies"

    @property
    def ledgers(self) -> Path:
        """Folder of what was spent on each language model."""
        return self.folder / "ledgers"

    @property
    def refused(self) -> Path:
        """Folder of annotations that the database would not take."""
        return self.folder / "refused"


class SourceSettings(Section):
    """What goes in."""

    name: str = Field("python-source", description="Source: python-source, cosqa or jsonl.")
    path: Path | None = Field(None, description="Folder or file that the source reads.")
    distribution: str | None = Field(
        None, description="Installed distribution that python-source reads instead of a folder."
    )
    queries: Path | None = Field(
        None, description="JSON Lines file of queries; python-source has 40 of its own."
    )
    collection: str | None = Field(
        None, pattern=r"^[A-Za-z0-9._-]+$", description="Name of the collection in the store."
    )
    documentation_queries: int = Field(
        500,
        ge=0,
        description="Documentation paragraphs taken as queries; 0 makes no such benchmark.",
    )
    seed: int = Field(20250, description="Chooses which documentation paragraphs are taken.")


class SearchSettings(Section):
    """How candidates are found."""

    encoders: tuple[str, ...] = Field(
        ("minilm",), min_length=1, description="Encoders whose cosines are averaged."
    )
    top_k: int = Field(20, ge=1, le=1000, description="Candidates for each query.")


class EncoderSettings(Section):
    """How embedding uses the machine."""

    actors: int = Field(
        0, ge=0, description="Ray actors; 0 takes one for each GPU, or one for each core up to 8."
    )
    batch_size: int = Field(32, ge=1, description="Texts for one forward pass.")
    shard_size: int = Field(512, ge=1, description="Texts for one Parquet file of vectors.")


class LanguageModelSettings(Section):
    """Who judges."""

    model: str = Field(
        EMBEDDED_MODEL,
        description="litellm's name of the model; the embedded one needs no key and is a demo.",
    )
    base_url: str | None = Field(None, description="Address of an OpenAI-compatible server.")
    api_key: SecretStr | None = Field(None, description="The provider's key.")
    temperature: float = Field(0.0, ge=0, le=2, description="Sampling temperature.")
    max_tokens: int = Field(2048, ge=16, description="Longest reply, in tokens.")
    timeout_s: float = Field(120.0, gt=0, description="For one request.")
    max_retries: int = Field(5, ge=0, description="After 408, 409, 429, 5xx and lost connections.")
    max_backoff_s: float = Field(60.0, gt=0, description="Longest wait between two tries.")
    requests_per_minute: int = Field(
        0, ge=0, description="Of all workers with this key together; 0 means no limit."
    )
    tokens_per_minute: int = Field(
        0, ge=0, description="Asked and answered, of all workers together; 0 means no limit."
    )
    budget_tokens: int | None = Field(
        None, ge=1, description="May be spent on this model by this store, in all runs together."
    )
    budget_usd: float | None = Field(
        None, gt=0, description="The same in US dollars; needs a model whose price is known."
    )
    max_code_characters: int = Field(
        12_000, ge=200, description="Code longer than this is cut where it stands in a prompt."
    )
    max_field_characters: int | None = Field(
        None,
        ge=16,
        description="Longest text in a structured reply, for servers that decode by grammar.",
    )

    @property
    def is_demo(self) -> bool:
        """Whether labels by this model are demonstrations only."""
        return self.model.startswith("embedded/")


Configuration = Literal["single", "arbiter", "writer", "executor", "simulated", "paper", "gated"]


class AnnotationSettings(Section):
    """How pairs are worked through."""

    configuration: Configuration = Field(
        "gated",
        description="Who judges: single (one model reads), arbiter (a screener before it), then "
        "each with more: writer, executor, simulated (executor), paper (all five agents), gated "
        "(test programs must prove themselves first).",
    )
    limit: int | None = Field(None, ge=1, description="Annotate the first N queries only.")
    demo_pairs: int = Field(
        12,
        ge=1,
        description="Pairs that the embedded model judges in a run: it labels at chance, and a few "
        "show how a pair is judged.",
    )
    max_try_time: int = Field(3, ge=0, le=20, description="Rounds of the fixer (Algorithm 1).")
    shard_size: int = Field(50, ge=1, description="Pairs for one Prefect task run on Ray.")
    shards_per_core: int = Field(
        2, ge=1, le=16, description="Shards handed to Ray at once, for each core of the cluster."
    )
    concurrency: int = Field(4, ge=1, le=256, description="Pairs at once inside a shard.")
    canaries: int = Field(
        12, ge=0, description="Pairs with known answers mixed into a run, a tenth of it at most."
    )
    canary_limit: float = Field(
        0.4, ge=0, le=1, description="Share of them that may be judged wrongly before a run stops."
    )
    stop_after_failures: int = Field(
        10, ge=1, description="Failed pairs in a row after which a shard gives up."
    )


class GateSettings(Section):
    """What a test program must show before its result is evidence."""

    mutants: int = Field(8, ge=2, le=100, description="Broken versions of the code, at most.")
    mutant_timeout_s: float = Field(2.0, gt=0, description="For a run against one of them.")
    least_killed: int = Field(2, ge=1, description="How many of them must fail an assertion.")
    least_score: float = Field(0.5, ge=0, le=1, description="Their share of those that ran.")


_LIBRARIES = (  # what wheels that need more than themselves need most
    "libasound2", "libcairo2", "libexpat1", "libgeos-c1v5", "libgl1", "libglib2.0-0", "libgomp1",
    "libmagic1", "libodbc2", "libportaudio2", "libpq5", "libsm6", "libsndfile1", "libusb-1.0-0",
    "libx11-6", "libxcb1", "libxext6", "libxrender1",
)  # fmt: skip


class SandboxSettings(Section):
    """The box: limits that each program runs under."""

    image: str = Field("cosqa-sandbox:3", description="Image that boxes are made from.")
    backend: str = Field("docker", description="Registered sandbox backend.")
    slots: int = Field(max(2, 2 * _CORES), ge=1, description="Boxes at once.")
    ready: int = Field(_CORES, ge=0, description="Boxes started ahead of need.")
    memory_mb: int = Field(512, ge=64, description="Memory and swap together.")
    processes: int = Field(64, ge=4, description="Processes and threads.")
    cpus: float = Field(1.0, gt=0, description="Cores that one box may use.")
    timeout_s: float = Field(10.0, gt=0, description="Wall-clock time of one program.")
    output_kb: int = Field(64, ge=1, description="Kept of stdout and of stderr, each.")
    tmp_mb: int = Field(64, ge=1, description="Size of the writable tmpfs.")
    runtime: str | None = Field(None, description="Other container runtime, such as runsc.")
    install_timeout_s: float = Field(180.0, gt=0, description="For one pip install.")
    index_hosts: tuple[str, ...] = Field(
        (), description="Hosts that the index sends pip to for files, beside the index itself."
    )
    allow_install: bool = Field(True, description="Let the fixer install wheels from the index.")
    apt_packages: tuple[str, ...] = Field(
        _LIBRARIES, description="Debian packages that may be installed in boxes, as apt:NAME."
    )
    apt_mirror: str = Field(
        "http://deb.debian.org/debian", description="Where Debian packages come from."
    )


class RaySettings(Section):
    """Where work fans out to."""

    address: str | None = Field(None, description="A cluster's address; none starts one here.")
    cpus: int | None = Field(None, ge=1, description="Cores to offer; as found when not given.")
    gpus: int | None = Field(None, ge=0, description="GPUs to offer; as found when not given.")
    object_store_mb: int = Field(512, ge=80, description="Memory of the local object store.")


class PublishSettings(Section):
    """What comes out."""

    folder: Path = Field(Path("cosqa-benchmarks"), description="Folder of the exported benchmarks.")
    allow_demo: bool = Field(False, description="Export labels of the demo model as a dataset.")
    include_undecided: bool = Field(False, description="List undecided pairs beside the labels.")
    grades: tuple[Grade, ...] = Field(
        ("screened", "valid_oracle", "void_oracle", "ungated"),
        min_length=1,
        description="Export only labels of the agents that rest on this.",
    )


class EvaluationSettings(Section):
    """How retrieval methods are scored."""

    methods: tuple[str, ...] = Field(
        (), description="Retrieval methods; none given takes all lexical ones and the encoders."
    )
    depth: int = Field(1000, ge=10, description="Length of the rankings that are scored.")
    metrics: tuple[str, ...] = Field(
        (), description="Metrics of a leaderboard; none given takes the usual ones."
    )
