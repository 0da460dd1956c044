"""A whole benchmark's forecast, which stage is the limit, and what would help."""

from collections.abc import Iterator

from infra.records import Record
from tasks.forecast import stages
from tasks.forecast.annotation import TokenPrice, annotate
from tasks.forecast.measurements import Measurements
from tasks.forecast.rates import rate_of
from tasks.forecast.stages import StageForecast
from tasks.forecast.workload import Cluster, Workload

_WORTH_NAMING = 0.95  # of the whole time that is left by an alternative
_MORE = 4  # times as many nodes or requests in flight


class Alternative(Record):
    """Another way to run the same work: what would change, and the time and money it would take."""

    change: str
    seconds: float
    cost_usd: float | None


class Forecast(Record):
    """What a benchmark is going to take.

    Attributes:
        workload: What is to be built.
        cluster: What it is built on.
        stages: The stages in their order.
        further_run: A run after all, with nothing left to do.
        alternatives: What would make it faster or cheaper, the fastest first.
    """

    workload: Workload
    cluster: Cluster
    stages: tuple[StageForecast, ...]
    further_run: StageForecast
    alternatives: tuple[Alternative, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds of all stages, one after the other."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def disk_gb(self) -> float:
        """What all stages add to the disk."""
        return sum(stage.disk_gb for stage in self.stages)

    @property
    def memory_gb(self) -> float:
        """Most memory of a stage on one machine."""
        return max(stage.memory_gb for stage in self.stages)

    @property
    def cost_usd(self) -> float | None:
        """What providers ask in all; None where that of one stage is unknown."""
        costs = [stage.cost_usd for stage in self.stages]
        return None if None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def shortages(self) -> list[str]:
        """Sentences about what the cluster lacks."""
        held = self.cluster.memory_gb
        return [
            f"{stage.stage} needs {stage.memory_gb:.1f} GB of memory on a machine of {held:.1f} GB"
            for stage in self.stages
            if held is not None and stage.memory_gb > held
        ]

    @property
    def limits(self) -> dict[str, float]:
        """Kind of stage → its seconds, the longest first; several encoders' are added up."""
        kinds: dict[str, float] = {}
        for stage in self.stages:
            kind = stage.stage.partition(" ")[0]
            kinds[kind] = kinds.get(kind, 0.0) + stage.seconds
        return dict(sorted(kinds.items(), key=lambda item: -item[1]))


def forecast(
    workload: Workload,
    cluster: Cluster,
    known: Measurements,
    price: TokenPrice | None = None,
    *,
    takes_batches: bool = True,
) -> Forecast:
    """Return what building a benchmark takes, with the changes that would help.

    Args:
        workload: What is to be built.
        cluster: What it is built on.
        known: What the store has measured; where it has not, built-in rates are used.
        price: The language model's price; None is unknown.
        takes_batches: Whether the model's provider has a batch API that is known here.
    """

    def on(other: Cluster) -> Forecast:
        return Forecast(
            workload=workload,
            cluster=other,
            stages=tuple(_stages(workload, other, known, price)),
            further_run=stages.nothing_to_do(workload, known),
        )

    chosen = on(cluster)
    is_measured = rate_of("embed on GPUs", known.runs).measured
    changes = _changes(cluster, is_measured=is_measured, takes_batches=takes_batches)
    others = [(change, on(other)) for change, other in changes]
    helpful = sorted(
        (
            Alternative(change=change, seconds=other.seconds, cost_usd=other.cost_usd)
            for change, other in others
            if other.seconds < chosen.seconds * _WORTH_NAMING
            or (other.cost_usd or 0) < (chosen.cost_usd or 0) * _WORTH_NAMING
        ),
        key=lambda other: other.seconds,
    )
    return chosen.model_copy(update={"alternatives": tuple(helpful)})


def _stages(
    workload: Workload,
    cluster: Cluster,
    known: Measurements,
    price: TokenPrice | None,
) -> Iterator[StageForecast]:
    yield stages.collect(workload, known)
    for encoder in workload.embedding:
        yield stages.embed(encoder, workload, cluster, known)
    yield stages.find_candidates(workload, cluster, known)
    if workload.judgements:
        yield annotate(workload, cluster, known, price)
    yield stages.publish(workload, known)
    for method in workload.lexical:
        yield stages.rank_by_words(method, workload, known)
    for encoder in workload.dense:
        yield stages.rank_by_encoder(encoder, workload, cluster, known)
    yield stages.report(workload, known)


def _changes(
    cluster: Cluster, *, is_measured: bool, takes_batches: bool
) -> Iterator[tuple[str, Cluster]]:
    """Yield (change in words, the changed cluster); ``is_measured`` is of embedding on GPUs."""
    nodes = cluster.nodes * _MORE
    yield f"{nodes} such nodes", cluster.model_copy(update={"nodes": nodes})
    gpus = cluster.gpus * 2 or 1
    each = "GPU" if gpus == 1 else "GPUs"
    how = "" if is_measured else ", at a speed that is not measured here"
    yield f"{gpus} {each} in each node{how}", cluster.model_copy(update={"gpus": gpus})
    if not cluster.batch:
        more = cluster.in_flight * _MORE
        yield f"{more} requests in flight", cluster.model_copy(update={"in_flight": more})
        if takes_batches:
            yield "the model's batch API", cluster.model_copy(update={"batch": True})
