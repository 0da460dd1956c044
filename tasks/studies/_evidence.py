"""What studies compute their figures from; a part that is not there says why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from infra.errors import StudyError
from infra.records import Record
from infra.summaries import PairEffort, PeopleFigures, ProgramCounts, RankCounts

Part = TypeVar("Part")


class Missing(Record):
    """The reason why a part of the evidence is not there, and what makes it."""

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
        matches_of_queries: Number of matches → queries that have so many.
        queries_of_codes: Number of queries → codes that match so many, from 1.
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


_NOT_GIVEN = Missing(reason="nothing was given")


@dataclass(frozen=True)
class Evidence:
    """What a run's store, benchmark and files hold.

    Attributes:
        conditions: Name of a condition → its value in this run: source, queries, codes, encoders,
            top k, model, configuration, code base.
        collection: The collection's sizes.
        overlaps: Encoder → share of its top k that the ensemble's top k has too.
        ranks: Labels by the rank of the candidate.
        mismatches: Who labelled any of CoSQA's own pairs → share of these without a match.
        benchmark: The published benchmark.
        programs: The agents' test programs.
        efforts: ``clear``, ``unclear``, ``by claims`` and ``all`` pairs → time and cost.
        scores: Method → metric → mean.
        group_scores: Method → metric → number of matches → mean.
        rounds: Alpha between consecutive rounds of labelling.
        annotators: Scores of annotators.
        people: What people did with samples.
        annotation_store: CodeSearchNet's annotationStore.csv.
        score_sheet: Neural Code Search's score_sheet.csv.
    """

    conditions: Mapping[str, str]
    collection: CollectionFacts | Missing = _NOT_GIVEN
    overlaps: Mapping[str, Mean] | Missing = _NOT_GIVEN
    ranks: Sequence[RankCounts] | Missing = _NOT_GIVEN
    mismatches: Mapping[str, Mean] | Missing = _NOT_GIVEN
    benchmark: BenchmarkFacts | Missing = _NOT_GIVEN
    programs: ProgramCounts | Missing = _NOT_GIVEN
    efforts: Mapping[str, PairEffort] | Missing = _NOT_GIVEN
    scores: Mapping[str, Mapping[str, Mean]] | Missing = _NOT_GIVEN
    group_scores: Mapping[str, Mapping[str, Mapping[int, Mean]]] | Missing = _NOT_GIVEN
    rounds: Sequence[float | None] | Missing = _NOT_GIVEN
    annotators: Sequence[Annotator] | Missing = _NOT_GIVEN
    people: PeopleFigures | Missing = _NOT_GIVEN
    annotation_store: Path | Missing = _NOT_GIVEN
    score_sheet: Path | Missing = _NOT_GIVEN
