"""Rates of work: those that a store has measured, else built-in ones, each with its source."""

from collections.abc import Sequence
from typing import Literal

from infra.records import Record

Processor = Literal["core", "gpu", "process"]


class Work(Record):
    """A measured run of a stage.

    Attributes:
        kind: The kind of stage, one of `BUILT_IN`.
        name: What it was done with, such as the encoder.
        amount: Its work, in the unit of its kind.
        seconds: Wall time.
        cores: Cores that it had.
        gpus: GPUs that it had.
        memory_mb: Most memory of the flow's process; None is unknown.
        described: The work in words.
    """

    kind: str
    name: str
    amount: float
    seconds: float
    cores: int
    gpus: int = 0
    memory_mb: float | None = None
    described: str = ""


class Rate(Record):
    """Seconds that a unit of work takes on one processor.

    Attributes:
        seconds: The mean over the measured work.
        low: The fastest of several measured runs; None where there are fewer than two.
        high: The slowest of them.
        processor: What one unit occupies: a core, a GPU, or the one process of a stage that does
            not spread.
        source: Where the figure comes from.
        measured: Whether this store has measured it.
    """

    seconds: float
    low: float | None = None
    high: float | None = None
    processor: Processor
    source: str
    measured: bool = False


class BuiltIn(Record):
    """What is known of a kind of stage without a store.

    Attributes:
        unit: A unit of its work.
        seconds: Seconds that it takes on one processor.
        processor: What it occupies.
        shortest_s: Measured runs that took less say more of a start than of the work.
        source: How the figure was got.
    """

    unit: str
    seconds: float
    processor: Processor
    shortest_s: float
    source: str


_ON_2_CORES = "built in: measured on 2 cores"
_FULL_SIZE = f"{_ON_2_CORES}, a made-up store of full size"
# kind → what is known of it. A multiply-add of a search is of float32; "million parameters" are
# those of an encoder that each token of a text meets.
BUILT_IN: dict[str, BuiltIn] = {
    "collect": BuiltIn(
        unit="text",
        seconds=1 / 1_600,
        processor="process",
        shortest_s=5,
        source=f"{_ON_2_CORES}, 8,000 functions, near duplicates dropped",
    ),
    "embed": BuiltIn(
        unit="text x million parameters",
        seconds=2 / 65 / 10.6,  # MiniLM: 65 CoSQA functions a second, actors and store included
        processor="core",
        shortest_s=60,
        source=f"{_ON_2_CORES}, CoSQA's functions by MiniLM in float32",
    ),
    "embed on GPUs": BuiltIn(
        unit="text x million parameters",
        seconds=2 * 1e6 * 200 / 10e12,  # 2 operations a parameter and token, 200 tokens a text
        processor="gpu",
        shortest_s=60,
        source="built in: not measured, 200 tokens a text at 10 TFLOP/s, half an A100's in float32",
    ),
    "embed by an API": BuiltIn(
        unit="text",
        seconds=4 / 64 / 4,
        processor="process",
        shortest_s=10,
        source="built in: not measured, 64 texts a request of 4 s, 4 at once",
    ),
    "search": BuiltIn(
        unit="billion multiply-adds",
        seconds=2 / 88,
        processor="core",
        shortest_s=10,
        source=f"{_ON_2_CORES}, 28,000 queries x 400,000 codes x 768 dimensions",
    ),
    "search on a GPU": BuiltIn(
        unit="billion multiply-adds",
        seconds=1 / 5_000,
        processor="gpu",
        shortest_s=10,
        source="built in: not measured, 10 TFLOP/s of float32",
    ),
    "publish": BuiltIn(
        unit="judgement or code",
        seconds=90 / 1_066_074,
        processor="process",
        shortest_s=5,
        source=_FULL_SIZE,
    ),
    "rank by words": BuiltIn(
        unit="function, once and for each 32,000 queries",
        seconds=90e-6,
        processor="process",
        shortest_s=5,
        source=f"{_ON_2_CORES}, 8,000 functions by bm25",
    ),
    "report": BuiltIn(
        unit="judgement or code",
        seconds=4 / 1_066_074,
        processor="process",
        shortest_s=5,
        source=_FULL_SIZE,
    ),
    "nothing to do": BuiltIn(
        unit="judgement or code",
        seconds=8 / 1_066_074,
        processor="process",
        shortest_s=5,
        source=_FULL_SIZE,
    ),
}
# Of encoders in bfloat16 or float16, whose operations GPUs are several times as fast at.
_HALF_ON_GPUS = BUILT_IN["embed on GPUs"].model_copy(
    update={
        "seconds": BUILT_IN["embed on GPUs"].seconds / 10,
        "source": "built in: not measured, 200 tokens a text at 100 TFLOP/s, a third of an A100's "
        "in bfloat16",
    }
)


def rate_of(kind: str, runs: Sequence[Work], name: str = "") -> Rate:
    """Return the rate of a kind of work: measured where there is a long enough run, else built in.

    Runs with the same name, such as that of an encoder, come before others of their kind; those of
    an encoder in another dtype say nothing.

    Args:
        kind: One of `BUILT_IN`.
        runs: What the store has measured, of any kind.
        name: What the work is to be done with.
    """
    known = _HALF_ON_GPUS if kind == "embed on GPUs" and _dtype(name) else BUILT_IN[kind]
    of_kind = [run for run in runs if run.kind == kind and run.amount > 0]
    long = [run for run in of_kind if run.seconds >= known.shortest_s]
    if kind.startswith("embed"):
        long = [run for run in long if _dtype(run.name) == _dtype(name)]
    used = [run for run in long if run.name == name] or long
    if not used:
        return Rate(
            seconds=known.seconds,
            processor=known.processor,
            source=known.source + _too_short(of_kind, known.shortest_s),
        )
    each = [_occupied(run, known.processor) / run.amount for run in used]
    several = len(used) > 1
    return Rate(
        seconds=sum(_occupied(run, known.processor) for run in used)
        / sum(run.amount for run in used),
        low=min(each) if several else None,
        high=max(each) if several else None,
        processor=known.processor,
        source=_measured(used, name),
        measured=True,
    )


def _dtype(encoder: str) -> str:
    """Return what stands behind ``@`` in an encoder's name, nothing for float32."""
    return encoder.partition("@")[2]


def _occupied(run: Work, processor: Processor) -> float:
    """Return the seconds of all cores or GPUs that a run had."""
    return run.seconds * {"core": run.cores, "gpu": max(run.gpus, 1), "process": 1}[processor]


def _measured(used: Sequence[Work], name: str) -> str:
    largest = max(used, key=lambda run: run.amount)
    runs = f"{len(used)} runs, the largest " if len(used) > 1 else ""
    scaled = f" by {largest.name}, scaled by parameters" if name and largest.name != name else ""
    return f"measured here: {runs}{largest.described}{scaled}, {largest.seconds:,.0f} s"


def _too_short(runs: Sequence[Work], shortest_s: float) -> str:
    if not runs:
        return ""
    longest = max(run.seconds for run in runs)
    return f" (this store's longest run took {longest:.1f} s; {shortest_s:g} s are needed)"
