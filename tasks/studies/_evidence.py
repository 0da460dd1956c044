"""The evidence that studies compute their figures from; a part that is not there says why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from infra.errors import StudyError
from infra.records import Record
from infra.summaries import PairCost, PeopleFigures, ProgramCounts, RankCounts

Part = TypeVar("Part")


class Missing(Record):
    """The reason why a part of the evidence is missing, and the command that makes it."""

    reason: str


def have(part: Part | Missing) -> Part:
    """Return a part of the evidence.

    Raises:
        StudyError: It is not there.
    """
    if isinstance(part, Missing):
        raise StudyError(part.reason)
    return part


class Mean(Record):
    """A mean over ``n`` items."""

    value: float
    n: int


class CollectionFacts(Record):
    """The sizes of a collection.

    Attributes:
        dropped: Reason → items of its sources that were dropped.
        documented: Language → codes with and without documentation.
    """

    queries: int
    codes: int
    dropped: dict[str, int]
    documented: dict[str, tuple[int, int]] = Field(default_factory=dict)


class BenchmarkFacts(Record):
    """Counts over the labels of a benchmark.

    Attributes:
        pairs: Labelled pairs.
        codes: Distinct codes in them.
        mean_characters: Mean length of these codes in characters.
        matches_of_queries: Number of matches → number of queries.
        queries_of_codes: Number of queries, from 1 → number of codes.
    """

    pairs: int
    codes: int
    mean_characters: float
    matches_of_queries: dict[int, int]
    queries_of_codes: dict[int, int]


class Annotator(Record):
    """An annotator's score against known labels, as ``cosqa compare-annotators`` writes it.

    Attributes:
        configuration: The agents; the annotator's name for people and the baseline.
        model: Empty for people and the baseline.
        accuracy: Share of right labels.
        pairs: How many.
        alpha_with_people: Krippendorff's alpha of the people and this annotator together; of the
            average human, of the people alone.
        file: The file that it is from, whose annotators are scored against the same labels.
    """

    configuration: str
    model: str = ""
    accuracy: float | None
    pairs: int
    alpha_with_people: float | None = None
    file: str = ""


_UNLABELLED = Missing(
    reason="the agents have labelled none of the candidates: run `cosqa annotate`"
)
_NO_BENCHMARK = Missing(
    reason="no benchmark of this source is published: run `cosqa publish` first"
)
_NO_ENCODERS = Missing(reason="no encoders are compared")
_NO_PAIRS = Missing(reason="no pair of CoSQA's cosqa-*.json is in the store")
_ONE_ROUND = Missing(reason="the pairs of this store were labelled in one round")
_NO_ANNOTATORS = Missing(reason="no file of compared annotators is given")
_NO_PEOPLE = Missing(
    reason="nobody has labelled a sample of this store with preferences or minutes"
)
_NO_FILE = Missing(reason="the file is not given")


@dataclass
class Evidence:
    """The parts that a run's store, benchmark and files hold.

    Attributes:
        conditions: Name of a condition → its value in this run: source, queries, codes, encoders,
            top k, model, configuration, code base.
        collection: The collection's sizes.
        overlaps: Encoder → share of its top k that the ensemble's top k has too.
        ranks: Labels by the rank of the candidate.
        mismatches: Who labelled any of CoSQA's own pairs → share of these without a match.
        benchmark: The published benchmark.
        programs: The agents' test programs.
        costs: ``clear``, ``unclear``, ``by claims`` and ``all`` pairs → time and cost.
        scores: Method → metric → mean.
        group_scores: Method → metric → number of matches → mean.
        rounds: Alpha between consecutive rounds of labelling.
        annotators: Scores of annotators.
        people: People's preferences and minutes.
        annotation_store: CodeSearchNet's annotationStore.csv.
        score_sheet: Neural Code Search's score_sheet.csv.
    """

    conditions: Mapping[str, str]
    collection: CollectionFacts
    overlaps: Mapping[str, Mean] | Missing = _NO_ENCODERS
    ranks: Sequence[RankCounts] | Missing = _UNLABELLED
    mismatches: Mapping[str, Mean] | Missing = _NO_PAIRS
    benchmark: BenchmarkFacts | Missing = _NO_BENCHMARK
    programs: ProgramCounts | Missing = _UNLABELLED
    costs: Mapping[str, PairCost] | Missing = _UNLABELLED
    scores: Mapping[str, Mapping[str, Mean]] | Missing = _NO_BENCHMARK
    group_scores: Mapping[str, Mapping[str, Mapping[int, Mean]]] | Missing = _NO_BENCHMARK
    rounds: Sequence[float | None] | Missing = _ONE_ROUND
    annotators: Sequence[Annotator] | Missing = _NO_ANNOTATORS
    people: PeopleFigures | Missing = _NO_PEOPLE
    annotation_store: Path | Missing = _NO_FILE
    score_sheet: Path | Missing = _NO_FILE
