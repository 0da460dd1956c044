"""Content of a report: numbers and evidence, apart from how they look."""

import math
from collections.abc import Iterable
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from infra.records import Annotation, Record, SourceInfo
from infra.summaries import BehaviourFigures, CanaryCounts, Effort
from tasks.reports.judging import SpecifiedPart
from tasks.statistics.rounds import RoundsAgreement

PAIRS_SHOWN = 20
_EDGE_STEP = 0.05  # edges of histograms are round numbers
_LABELS = {"1": "answers (1)", "0": "does not (0)", "none": "no label"}


class MethodMeans(Record):
    """A retrieval method's means: metric's printed name → mean over the queries."""

    method: str
    scores: dict[str, float]


class BenchmarkScores(Record):
    """A benchmark and the scores of each method on it.

    Attributes:
        label_origin: Where the labels come from ("documentation", "people", "agents:…").
        queries: Queries with a relevant code, over which means are taken.
        depth: Length of the rankings.
        note: A sentence to print beneath.
    """

    name: str
    label_origin: str
    queries: int
    codes: int
    depth: int
    methods: tuple[MethodMeans, ...]
    note: str = ""

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, in the order of their first appearance."""
        return list(dict.fromkeys(name for method in self.methods for name in method.scores))

    def best(self, metric: str) -> float:
        """Return the highest mean of a metric among the methods that have it."""
        return max(method.scores[metric] for method in self.methods if metric in method.scores)


class CollectionCounts(Record):
    """What one collection holds, and how many items each rule dropped."""

    name: str
    source: SourceInfo
    queries: int
    codes: int
    labels: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)


class Histogram(Record):
    """Number of values in each bin (the last bin includes its right edge)."""

    name: str
    edges: tuple[float, ...] = Field(min_length=2)
    counts: tuple[int, ...]

    @model_validator(mode="after")
    def _edges_enclose_counts(self) -> Self:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError(f"{len(self.edges)} edges do not enclose {len(self.counts)} counts")
        if any(right <= left for left, right in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError("edges must rise")
        return self

    @classmethod
    def of(
        cls,
        name: str,
        values: Iterable[float] | npt.NDArray[np.float64],
        *,
        bins: int = 20,
        low: float | None = None,
        high: float | None = None,
    ) -> Self:
        """Count values in bins of equal width.

        Args:
            name: What the values are.
            values: The numbers; those outside ``low`` and ``high`` are not counted.
            bins: How many bins.
            low: The first edge; the smallest value rounded down to 0.05 when not given.
            high: The last edge; the largest value rounded up to 0.05 when not given.
        """
        array = np.array(values if isinstance(values, np.ndarray) else list(values), dtype=float)
        first = math.floor(array.min(initial=1.0) / _EDGE_STEP) * _EDGE_STEP if low is None else low
        last = (
            math.ceil(array.max(initial=first) / _EDGE_STEP) * _EDGE_STEP if high is None else high
        )
        counts, edges = np.histogram(array, bins=bins, range=(first, max(last, first + _EDGE_STEP)))
        return cls(name=name, edges=tuple(edges.tolist()), counts=tuple(counts.tolist()))


class StageTime(Record):
    """The last run of a stage that did new work: number of items and seconds of wall time."""

    stage: str
    items: int
    seconds: float


class AgentsPart(Record):
    """The agents' current labels, with their cost and support.

    Attributes:
        model: The model of the recipe in use.
        recipe_id: The recipe in use.
        recipes: Recipe → judgements that labels rest on, of the one in use and of former ones.
        behaviours: How these labels compare with those of codes that behave alike.
        former: Judgements by former recipes; all figures but those of canaries cover them too.
        statuses: ``labelled``, ``undecided``, ``failed`` → pairs.
        labels: "1", "0", "none" → pairs.
        paths: Path through Algorithm 1 → pairs.
        outcomes: How a run of a test program ended → runs.
        support: What the labels rest on → pairs.
        canaries: How canaries were judged; None without canaries.
        rounds: How far labelling rounds agree; None where pairs are judged once. With rounds, all
            counts but that of the pairs are of judgements.
    """

    model: str
    recipe_id: str
    queries: int
    pairs: int
    statuses: dict[str, int]
    labels: dict[str, int]
    paths: dict[str, int]
    outcomes: dict[str, int]
    effort: Effort
    support: dict[str, int] = Field(default_factory=dict)
    canaries: CanaryCounts | None = None
    rounds: RoundsAgreement | None = None
    recipes: dict[str, int] = Field(default_factory=dict)
    behaviours: BehaviourFigures | None = None
    former: int = 0

    @property
    def named_labels(self) -> dict[str, int]:
        """The labels by what they mean."""
        return {_LABELS.get(label, label): number for label, number in self.labels.items()}


class PairEvidence(Record):
    """A judged pair with what is needed to check its label.

    Attributes:
        specified: What its query demands and what came of that; None where no agent specified it.
    """

    query: str
    code: str
    annotation: Annotation
    rank: int
    similarity: float
    by_encoder: dict[str, float] = Field(default_factory=dict)
    code_name: str = ""
    specified: SpecifiedPart | None = None


class ReportData(Record):
    """Everything that a report shows.

    Attributes:
        vectors: Encoder → vectors that are stored.
        similarities: The candidates' cosines: the average, and each encoder's own.
        agents: None when nothing was annotated.
        pairs: Judged pairs, of which the first `PAIRS_SHOWN` are shown.
        notes: Sentences that belong to the results.
        links: Text → http(s) address or path.
    """

    title: str
    generated_at: str
    benchmarks: tuple[BenchmarkScores, ...]
    collections: tuple[CollectionCounts, ...] = ()
    vectors: dict[str, int] = Field(default_factory=dict)
    candidates: int = 0
    similarities: tuple[Histogram, ...] = ()
    agents: AgentsPart | None = None
    stages: tuple[StageTime, ...] = ()
    pairs: tuple[PairEvidence, ...] = ()
    notes: tuple[str, ...] = ()
    links: dict[str, str] = Field(default_factory=dict)

    @property
    def ranked_benchmarks(self) -> list[BenchmarkScores]:
        """The benchmarks as they are shown: documentation first."""
        return sorted(self.benchmarks, key=lambda item: item.label_origin != "documentation")
