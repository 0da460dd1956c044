"""The forecast of each stage but annotation: time, memory and disk."""

from collections.abc import Sequence
from dataclasses import dataclass

from infra.records import Record
from tasks.forecast.measurements import BUILT_IN_ROWS, Measurements
from tasks.forecast.rates import Rate, rate_of
from tasks.forecast.workload import Cluster, EncoderSize, Workload, lexical_work

_TOKENS_OF_TEXT = 200  # assumed of a function
_START_GB = 0.5  # of a flow's process with its libraries
_COMMAND_S = 10.0  # of a command, until its first stage begins
_START_S = 2.0  # of a stage
_ACTOR_GB = 0.6  # of an actor with its libraries, without weights
_ACTORS_S = 15.0  # until actors have loaded a model
_BLOCK_OF_CODES = 8_192  # that a search compares with all queries at once
_MOST_ACTORS = 8  # of a node without GPUs, as the settings have it
_LEXICAL_BYTES = 2_000.0  # of a function in memory: its words as integers, and their index
_SCORED_METRICS = 10
_RESULT_BYTES = 12.0  # of a ranked result in a run's file
_EXPORTED = 0.7  # size of an export beside that of the same rows in the database, which has keys


class StageForecast(Record):
    """What one stage is going to take.

    Attributes:
        stage: Its name, the first word of which is its kind.
        work: Its work in words.
        seconds: Wall time.
        low: Wall time by the fastest of the measured runs; None where there are fewer than two.
        high: Wall time by the slowest of them.
        memory_gb: Most memory on one machine, in 10^9 bytes.
        disk_gb: What it adds to the disk, in 10^9 bytes.
        cost_usd: What a provider asks; None is unknown.
        rate: Its rate in words.
        source: Where the rate comes from.
        measured: Whether this store has measured it.
        grows_with: What the time is taken to be proportional to.
        exponent: The power of that which it grows with.
        limit: What bounds the stage.
    """

    stage: str
    work: str
    seconds: float
    low: float | None = None
    high: float | None = None
    memory_gb: float
    disk_gb: float = 0.0
    cost_usd: float | None = 0.0
    rate: str
    source: str
    measured: bool
    grows_with: str
    exponent: float = 1.0
    limit: str


@dataclass(frozen=True)
class Job:
    """A stage's work.

    Attributes:
        stage: The stage's name.
        work: Its work in words.
        units: Its work in units.
        unit: What a unit is, in the plural.
        grows_with: What the units are the product of.
        memory_gb: Most memory on one machine.
        disk_gb: What it adds to the disk.
        per_unit: Amount of a rate's own units in a unit.
        start_s: Seconds before the work begins.
    """

    stage: str
    work: str
    units: float
    unit: str
    grows_with: str
    memory_gb: float
    disk_gb: float = 0.0
    per_unit: float = 1.0
    start_s: float = _START_S


def timed(job: Job, rate: Rate, processors: int = 1) -> StageForecast:
    """Return the forecast of a job on so many cores or GPUs, whichever the rate is of."""
    spread = 1 if rate.processor == "process" else processors
    names = {"core": "core", "gpu": "GPU", "process": "process"}
    name = names[rate.processor]

    def seconds(each: float | None) -> float | None:
        return None if each is None else job.start_s + job.units * job.per_unit * each / spread

    each = f" a {name}" if rate.processor != "process" else ""
    pace = 1 / (rate.seconds * job.per_unit)
    return StageForecast(
        stage=job.stage,
        work=job.work,
        seconds=seconds(rate.seconds) or 0.0,
        low=seconds(rate.low),
        high=seconds(rate.high),
        memory_gb=job.memory_gb,
        disk_gb=job.disk_gb,
        rate=f"{pace:,.0f} {job.unit} a second{each}"
        if pace >= 10
        else f"{pace:.2g} {job.unit} a second{each}",
        source=rate.source,
        measured=rate.measured,
        grows_with=job.grows_with,
        limit=f"{spread} {name}{'s' if spread > 1 else ''}" if each else "one process",
    )


def collect(workload: Workload, known: Measurements) -> StageForecast:
    """Return the forecast of reading functions and queries into the store."""
    job = Job(
        stage="collect",
        work=f"{workload.codes:,} functions and {workload.queries:,} queries",
        units=workload.texts,
        unit="texts",
        grows_with="functions + queries",
        memory_gb=_memory(known, "collect", workload.texts, each_bytes=900),
        disk_gb=rows_gb(known, code=workload.codes, query=workload.queries),
        start_s=_COMMAND_S,
    )
    return timed(job, rate_of("collect", known.runs))


def embed(
    encoder: EncoderSize, workload: Workload, cluster: Cluster, known: Measurements
) -> StageForecast:
    """Return the forecast of one encoder's vectors, by actors or by an API."""
    actors = cluster.gpus or min(cluster.cores, _MOST_ACTORS)
    actor_gb = _ACTOR_GB + encoder.parameters * 4 / 1000
    job = Job(
        stage=f"embed by {encoder.name}",
        work=f"{workload.texts:,} texts, {encoder.dimension} dimensions",
        units=workload.texts,
        unit="texts",
        grows_with="functions + queries" + (", and x parameters" if not encoder.is_api else ""),
        memory_gb=_START_GB + (0 if encoder.is_api else actors * actor_gb),
        disk_gb=workload.texts * encoder.dimension * 4 / 1e9,
        per_unit=1.0 if encoder.is_api else encoder.parameters,
        start_s=_START_S + _ACTORS_S,
    )
    if not encoder.is_api:
        kind = "embed on GPUs" if cluster.gpus else "embed"
        rate = rate_of(kind, known.runs, encoder.name)
        return timed(job, rate, cluster.all_gpus or cluster.all_cores)
    made = timed(job, rate_of("embed by an API", known.runs, encoder.name))
    price, tokens = encoder.usd_per_token, workload.texts * _TOKENS_OF_TEXT
    return made.model_copy(update={"cost_usd": None if price is None else tokens * price})


def find_candidates(workload: Workload, cluster: Cluster, known: Measurements) -> StageForecast:
    """Return the forecast of the exact search for each query's candidates, on one node."""
    made = _search("find candidates", workload.encoders, workload, cluster, known)
    return made.model_copy(update={"disk_gb": rows_gb(known, candidate=workload.pairs)})


def rank_by_encoder(
    encoder: EncoderSize, workload: Workload, cluster: Cluster, known: Measurements
) -> StageForecast:
    """Return the forecast of evaluating one encoder, which ranks all codes for each query."""
    made = _search(f"evaluate {encoder.name}", (encoder,), workload, cluster, known)
    return made.model_copy(update={"disk_gb": _run_gb(workload, known)})


def _search(
    stage: str,
    encoders: Sequence[EncoderSize],
    workload: Workload,
    cluster: Cluster,
    known: Measurements,
) -> StageForecast:
    dimension = sum(encoder.dimension for encoder in encoders)
    block = min(workload.codes, _BLOCK_OF_CODES)
    needed = 4 * dimension * (workload.queries + block) + 4 * workload.queries * block
    job = Job(
        stage=stage,
        work=f"{workload.queries:,} queries x {workload.codes:,} codes x {dimension:,} dimensions",
        units=workload.comparisons * dimension / 1e9,
        unit="billion multiply-adds",
        grows_with="queries x codes x dimensions",
        memory_gb=_START_GB + min(needed / 1e9, workload.search_memory_mb / 1000),
    )
    name = stage.removeprefix("evaluate ")
    rate = rate_of("search on a GPU" if cluster.gpus else "search", known.runs, name)
    return timed(job, rate, 1 if cluster.gpus else cluster.cores)


def rank_by_words(method: str, workload: Workload, known: Measurements) -> StageForecast:
    """Return the forecast of evaluating a lexical method."""
    job = Job(
        stage=f"evaluate {method}",
        work=f"{workload.queries:,} queries x {workload.codes:,} codes",
        units=lexical_work(workload.codes, workload.queries),
        unit="functions read",
        grows_with="codes, and codes x queries",
        memory_gb=_START_GB + workload.codes * _LEXICAL_BYTES / 1e9,
        disk_gb=_run_gb(workload, known),
    )
    return timed(job, rate_of("rank by words", known.runs, method))


def publish(workload: Workload, known: Measurements) -> StageForecast:
    """Return the forecast of exporting the labelled benchmark with its evidence."""
    held = rows_gb(
        known, code=workload.codes, query=workload.queries, judgement=workload.judgements
    )
    made = _of_everything("publish", "publish", workload, known)
    return made.model_copy(update={"disk_gb": held * _EXPORTED})


def report(workload: Workload, known: Measurements) -> StageForecast:
    """Return the forecast of writing the report."""
    return _of_everything("report", "report", workload, known)


def nothing_to_do(workload: Workload, known: Measurements) -> StageForecast:
    """Return the forecast of a further run that finds everything up to date."""
    made = _of_everything("a further run, nothing to do", "nothing to do", workload, known)
    return made.model_copy(update={"seconds": made.seconds + _COMMAND_S - _START_S})


def _of_everything(stage: str, kind: str, workload: Workload, known: Measurements) -> StageForecast:
    """Return the forecast of a stage that goes over all judgements and all codes."""
    whole = workload.judgements + workload.codes
    job = Job(
        stage=stage,
        work=f"{workload.judgements:,} judgements and {workload.codes:,} codes",
        units=whole,
        unit="judgements and codes",
        grows_with="judgements + codes",
        memory_gb=_memory(known, kind, whole, each_bytes=1_500),
    )
    return timed(job, rate_of(kind, known.runs))


def _memory(known: Measurements, kind: str, amount: float, each_bytes: float) -> float:
    """Return gigabytes: as measured, the part over a start's grown with the work; else built in."""
    measured = known.peak_memory_gb(kind)
    if measured is None or measured[1] <= _START_GB:
        return _START_GB + amount * each_bytes / 1e9
    work, held = measured
    return _START_GB + (held - _START_GB) * max(1.0, amount / work)


def rows_gb(known: Measurements, **numbers: float) -> float:
    """Return gigabytes in the database of so many rows of each name."""
    each = BUILT_IN_ROWS | known.row_bytes
    return sum(each[name] * number for name, number in numbers.items()) / 1e9


def _run_gb(workload: Workload, known: Measurements) -> float:
    """Return gigabytes of a method's run and scores."""
    results = workload.queries * min(workload.depth, workload.codes) * _RESULT_BYTES / 1e9
    return results + rows_gb(known, score=workload.queries * _SCORED_METRICS)
