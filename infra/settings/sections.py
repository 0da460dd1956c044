"""The sections of the settings: a class per subsystem, bounds and a description on each field."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from infra.machine import physical_memory
from infra.records import Support
from infra.settings.annotation import Configuration
from infra.settings.section import Section

USUAL_METRICS = ("NDCG@10", "MRR", "MAP", "MMRR", "Recall@10", "Answered@5")
_CORES = os.cpu_count() or 1
_MEGABYTE = 2**20
_BOXES_A_CORE = 2  # one runs while another is made or removed
_SHARE_OF_MEMORY = 0.5  # of the machine's, for boxes at their limit


class SearchSettings(Section):
    """The search for candidates."""

    encoders: tuple[str, ...] = Field(
        ("minilm",),
        min_length=1,
        description="Encoders whose cosines are averaged; `cosqa list encoders` prints the names. "
        "Others: checkpoint:NAME=FOLDER, api:PROVIDER/MODEL.",
    )
    fusion: Literal["mean", "scaled"] = Field(
        "mean",
        description="How several encoders are joined: the mean of their cosines, or of cosines "
        "divided by the encoder's largest absolute one for the query (CoSQA+'s code).",
    )
    top_k: int = Field(20, ge=1, le=1000, description="Candidates for each query.")
    index: Literal["exact", "ivf"] = Field(
        "exact",
        description="exact compares each query with every code; ivf is an approximate index of "
        "FAISS, built in memory (2 bytes a dimension), whose recall is measured and logged.",
    )
    ivf_probes: int = Field(
        64,
        ge=1,
        description="Lists of ivf that are read for each query, of twice the square root of the "
        "number of codes.",
    )

    @model_validator(mode="after")
    def _check_fusion(self) -> Self:
        if self.index != "exact" and self.fusion != "mean":
            raise ValueError(
                f"fusion {self.fusion!r} needs every cosine of a query, so index must be 'exact', "
                f"not {self.index!r}"
            )
        return self


class GateSettings(Section):
    """Checks that a test program must pass before its result counts."""

    mutants: int = Field(8, ge=2, le=100, description="Maximum mutants of the code under test.")
    mutant_timeout_s: float = Field(
        2.0,
        gt=0,
        description="Minimum time-out of one mutant, in seconds; ten times the program's own first "
        "run where that is longer.",
    )
    min_killed: int = Field(2, ge=1, description="Minimum number of killed mutants.")
    min_mutation_score: float = Field(0.5, ge=0, le=1, description="Minimum mutation score.")


class PublishSettings(Section):
    """Output."""

    folder: Path = Field(Path("cosqa-benchmarks"), description="Folder of the exported benchmarks.")
    include_undecided: bool = Field(False, description="List undecided pairs beside the labels.")
    generated: Literal["none", "confirmed", "verified"] = Field(
        "confirmed",
        description="Written answers to queries without a match (`cosqa generate`) to export: "
        "those that a person confirmed, all that the agents verified, or none.",
    )
    labels: Literal["agents", "people", "both"] = Field(
        "agents",
        description="Whose labels of candidates to export: the agents', those by the majority of "
        "the people who labelled samples, or both, where people's stand in place of the agents'.",
    )
    include_unlicensed: bool = Field(
        False,
        description="Export code too whose licence is unknown or does not permit redistribution.",
    )
    accept_gold: bool = Field(
        False,
        description="Judge and publish by a model that labelled more gold questions wrongly than "
        "may be; else its labels are held. The dataset card says so.",
    )
    support: tuple[Support, ...] = Field(
        ("screened", "valid_oracle", "overruled", "void_oracle", "ungated"),
        min_length=1,
        description="Export only labels of the agents with this support: reading alone (screened), "
        "a test program that passed the checks and says the same (valid_oracle) or the contrary "
        "(overruled), one that failed them (void_oracle), or agents without checks (ungated).",
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
        "alike for each number of matches; none given keeps the split of a source that has one.",
    )
    split_by: Literal["query", "repository"] = Field(
        "query",
        description="What the split keeps together: a query, or all queries that code of one "
        "repository answers (of installed code: of one package).",
    )
    split_seed: int = Field(0, ge=0, description="Seed of the split.")
    mutants: int = Field(
        0,
        ge=0,
        le=100,
        description="Distractors beside each right code whose label rests on a valid program: at "
        "most N of its mutants that this program fails, with the grade 0. Of sealed answers there "
        "are none, since they would tell which codes are right.",
    )
    sealed: bool = Field(
        False,
        description="Keep the labels of the test part (without a split: all) out of the export: "
        "they go to a file beside its folder, for the benchmark's keeper.",
    )


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
        description=f"Metrics of a leaderboard; none given takes {', '.join(USUAL_METRICS)}. "
        "`cosqa list metrics` prints the names.",
    )
    answers: Path | None = Field(
        None,
        description="File of the sealed answers of a benchmark (publish.sealed), whose checksum "
        "the export has: methods are scored against it.",
    )


class EstimationSettings(Section):
    """Estimates of scores on queries that nobody labelled."""

    k: int = Field(5, ge=1, description="Training queries that a query is compared with.")
    metrics: tuple[str, ...] = Field(
        ("MRR", "Answered@5", "NDCG@10", "Recall@10"),
        min_length=1,
        description="Metrics to estimate: MRR, Answered@k, NDCG@k, Recall@k. Methods are "
        "ordered by the first.",
    )


class GenerationSettings(Section):
    """Answers that a model writes for queries without a match."""

    configuration: Configuration = Field(
        "spec",
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


class RaySettings(Section):
    """The Ray cluster."""

    address: str | None = Field(
        None, description="Address of a cluster; none starts one on this machine, closed to others."
    )
    cpus: int | None = Field(
        None, ge=1, description="Cores of a local cluster; all when not given."
    )
    gpus: int | None = Field(None, ge=0, description="GPUs of a local cluster; all when not given.")
    object_store_mb: int = Field(
        512, ge=80, description="Memory of a local cluster's object store."
    )
    placement_timeout_s: float = Field(
        60.0,
        gt=0,
        description="After so many seconds without room on the cluster for any worker the log says "
        "what workers need, again and again; they wait on.",
    )

    @field_validator("address")
    @classmethod
    def _check_address(cls, address: str | None) -> str | None:
        scheme = (address or "").rpartition("://")[0]
        if scheme not in ("", "ray"):
            raise ValueError(
                "must be HOST:PORT or ray://HOST:PORT: Ray's dashboard takes jobs alone; "
                "unset RAY_ADDRESS if it is for these"
            )
        if address == "auto":  # Ray would take any program's own cluster, too
            raise ValueError("must be HOST:PORT, as `ray start` prints it")
        return None if address == "local" else address  # ours is closed to others


class OperationSettings(Section):
    """Runs that are scheduled and watched: who must agree to them."""

    approve: bool = Field(
        False,
        description="Whether annotation by a deployment waits in the Prefect UI until a person "
        "approves its plan, which then bounds its pairs and its cost. The deployment benchmark "
        "is registered with it, annotate with a budget in its place: change both in the UI (Edit). "
        "Commands cannot wait and are refused: `--plan` shows their plan. generate and "
        "compare-annotators never wait; llm.budget_usd bounds them.",
    )


class SourceSettings(Section):
    """Input: a source and its own options, such as path."""

    # The options of the chosen source are further keys of this section; the source checks them.
    model_config = ConfigDict(extra="allow")

    name: str = Field(
        "python-source",
        description="Where queries and code come from; `cosqa list sources` prints the names.",
    )
    collection: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=100,
        description="Name of the collection in the store.",
    )
    codes: tuple[str, ...] = Field(
        (),
        description="Sources that code is read from in place of the source's own, in this order, "
        "each NAME or NAME=PATH. Likewise queries, where it is no file. Further options of such a "
        "source are keys with its name before them, such as codesearchnet.filters.",
    )
    reread: bool = Field(
        False,
        description="Read the source again even if no file, option or filter of it has changed.",
    )

    @property
    def options(self) -> dict[str, object]:
        """The keys that are given beside those of every source."""
        extra = (self.model_extra or {}).items()
        return {
            key: value
            for key, value in extra
            if value is not None and not isinstance(value, Mapping)
        }

    @property
    def options_of_parts(self) -> dict[str, Mapping[str, object]]:
        """Name of a source that queries or codes are taken from → its options."""
        extra = (self.model_extra or {}).items()
        return {key: value for key, value in extra if isinstance(value, Mapping)}

    @property
    def title(self) -> str:
        """The input's name in logs and in names of runs."""
        names = [text.partition("=")[0] for text in self.codes]
        return self.collection or "+".join(names) or self.name


class StoreSettings(Section):
    """The artifact store: a folder with the database, the vectors and the journal of replies."""

    folder: Path = Field(Path("cosqa-data"), description="Folder of the store; made when missing.")
    lock_timeout_s: float = Field(
        300.0,
        ge=0,
        description="Seconds to wait while another process holds the database; 600 at least while "
        "pairs are judged.",
    )

    @property
    def database(self) -> Path:
        """The DuckDB file."""
        return self.folder / "cosqa.duckdb"

    @property
    def vectors(self) -> Path:
        """Folder of the files that hold vectors."""
        return self.folder / "vectors"

    @property
    def journal(self) -> Path:
        """The file of what is paid for: replies and what was spent; see `infra.journal`."""
        return self.folder / "journal.sqlite"


class SandboxSettings(Section):
    """The sandbox and the limits of each program in it."""

    image: str = Field("cosqa-sandbox:5", description="Image of the containers.")
    backend: str = Field("docker", description="Name of a sandbox backend.")
    slots: int | None = Field(
        None,
        ge=1,
        description="Maximum boxes in use at once on a machine, over all processes and runs; none "
        "given takes two a core, or as many as half of the memory holds.",
    )
    ready: int = Field(
        _CORES, ge=0, description="Boxes started in advance on a machine, over all processes."
    )
    memory_mb: int = Field(512, ge=64, description="Maximum memory and swap of a box together.")
    processes: int = Field(64, ge=4, description="Maximum processes and threads in a box.")
    cpus: float = Field(1.0, gt=0, description="Cores that one box may use.")
    timeout_s: float = Field(
        10.0, gt=0, description="Seconds of one program, less those in which it waits for a core."
    )
    command_timeout_s: float = Field(
        30.0, gt=0, description="Time-out of one terminal command of the fixer, in seconds."
    )
    output_kb: int = Field(64, ge=1, description="Kilobytes kept of stdout and of stderr, each.")
    tmp_mb: int = Field(64, ge=1, description="Size of the writable file system in memory.")
    runtime: str | None = Field(None, description="Other container runtime, such as runsc.")
    accept_without: tuple[str, ...] = Field(
        ("swap",),
        description="Limits (memory, swap, processes, cpus, seccomp) that the engine need not be "
        "able to hold boxes to, and behaviours of `cosqa sandbox check` that boxes need not show; "
        "where it lacks anything else, nothing is run.",
    )
    install_timeout_s: float = Field(
        180.0, gt=0, description="Time-out of one installation, in seconds."
    )
    index_hosts: tuple[str, ...] = Field(
        (),
        description="Further hosts (HOST or HOST:PORT) that the package index serves its files "
        "from.",
    )
    allow_install: bool = Field(
        True, description="Let the fixer install wheels from the package index."
    )
    install_mb: int = Field(
        3072, ge=1, description="Megabytes that all that is installed for one pair may take."
    )

    @property
    def machine_slots(self) -> int:
        """Maximum boxes in use at once on the machine that asks, which runs them."""
        if self.slots is not None:
            return self.slots
        # Of the machine, not of this process's control group: the engine is outside of that.
        fitting = int(_SHARE_OF_MEMORY * physical_memory() / (self.memory_mb * _MEGABYTE))
        return max(2, min(_BOXES_A_CORE * _CORES, fitting))
