"""Results of a sample: labels, agreement and majority of the annotators who are done."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from infra.identity import PairKey
from infra.records import GivenVote, Record
from infra.store import Database, samples
from infra.store.samples import Sample, SampleItem, SampleProgress
from tasks.statistics.agreement import Agreement, agreement, blind_grades, conflicts, majority
from tasks.statistics.intervals import Interval, wilson_interval

EVERYBODY = "majority"


class Preferred(Record):
    """The share of decided queries whose own benchmark's code is preferred."""

    annotator: str
    decided: int
    share: Interval


class RightAnswers(Record):
    """Right answers of a method: the mean over annotators of their number, of how many queries."""

    method: str
    queries: int
    mean: float
    by_annotator: dict[str, int]


class LabelResults(Record):
    """Results of a sample.

    Attributes:
        progress: Progress of each annotator.
        agreement: Agreement of blind labels, of annotators who are done; None with fewer than two.
        conflicts: Positions of items of which no label has more than half of the blind votes.
        decided: Items with a label by more than half of the last votes, undecided ones aside.
        by_label: Label → number of them.
        preferred: For a preference: the majority's share, then each annotator's.
        right: For answers: each method's number of right ones.
    """

    progress: tuple[SampleProgress, ...]
    agreement: Agreement | None
    conflicts: tuple[int, ...]
    decided: int
    by_label: dict[int, int]
    preferred: tuple[Preferred, ...]
    right: tuple[RightAnswers, ...]


class Disagreement(NamedTuple):
    """An item on which people differ, or of which two or more are undecided.

    Attributes:
        item: The item.
        votes: Annotator → phase → vote.
        is_decided: Whether more than half of the blind votes say the same.
    """

    item: SampleItem
    votes: dict[str, dict[str, GivenVote]]
    is_decided: bool


def disagreements(
    sample: Sample, progress: Iterable[SampleProgress], votes: Sequence[GivenVote]
) -> list[Disagreement]:
    """Return the items on which people differ blind, when all who have them are done."""
    waiting = {place for one in progress if not one.is_done for place in one.positions}
    given: dict[PairKey, dict[str, dict[str, GivenVote]]] = {}
    for vote in votes:
        given.setdefault(vote.key, {}).setdefault(vote.annotator, {})[vote.phase] = vote
    found = []
    for item in sample.items:
        said = given.get(item.key, {})
        labels = [phases["blind"].relevance for phases in said.values()]
        is_decided = majority(labels) is not None
        differ = len(labels) > 1 and (len(set(labels)) > 1 or not is_decided)
        if differ and item.position not in waiting:
            found.append(Disagreement(item, said, is_decided))
    return found


def label_results(database: Database, sample: Sample) -> LabelResults:
    """Return the results of a sample, from the annotators who have labelled all their items."""
    votes = samples.readable_votes(database, sample)
    grades = blind_grades(votes)
    disputed = conflicts(votes)
    last = last_votes(votes)
    truth = majority_labels(last)
    labels = sorted(truth.values())
    return LabelResults(
        progress=tuple(samples.progress(database, sample.sample_id)),
        agreement=agreement(grades, sample.highest) if len(grades) > 1 else None,
        conflicts=tuple(item.position for item in sample.items if item.key in disputed),
        decided=len(truth),
        by_label={int(label): labels.count(label) for label in dict.fromkeys(labels)},
        preferred=_preferred(last, truth) if sample.kind == "preference" else (),
        right=_right(sample, last) if sample.kind == "answers" else (),
    )


def last_votes(votes: Sequence[GivenVote]) -> list[GivenVote]:
    """Return the last vote of each person on each pair."""
    ordered = sorted(votes, key=lambda vote: vote.phase)  # blind, then revised
    return list({(vote.annotator, vote.key): vote for vote in ordered}.values())


def majority_labels(votes: Sequence[GivenVote]) -> dict[PairKey, float]:
    """Return pair → the label of more than half of those who decided; others are left out."""
    given: dict[PairKey, list[float]] = {}
    for vote in votes:
        if vote.relevance is not None:
            given.setdefault(vote.key, []).append(vote.relevance)
    found = {key: majority(labels) for key, labels in given.items()}
    return {key: label for key, label in found.items() if label is not None}


def _preferred(votes: Sequence[GivenVote], truth: dict[PairKey, float]) -> tuple[Preferred, ...]:
    by_annotator: dict[str, list[float]] = {EVERYBODY: list(truth.values())}
    for vote in votes:
        if vote.relevance is not None:
            by_annotator.setdefault(vote.annotator, []).append(vote.relevance)
    return tuple(
        Preferred(
            annotator=name,
            decided=len(labels),
            share=wilson_interval(int(sum(labels)), len(labels)),
        )
        for name, labels in by_annotator.items()
    )


def _right(sample: Sample, votes: Sequence[GivenVote]) -> tuple[RightAnswers, ...]:
    answers = sample.body.get("answers")
    methods: dict[str, dict[str, str]] = answers if isinstance(answers, dict) else {}
    highest, names = sample.highest, sorted({vote.annotator for vote in votes})
    found = []
    for method, by_query in methods.items():
        right = {
            name: sum(
                vote.relevance == highest
                for vote in votes
                if vote.annotator == name and by_query.get(vote.query_id) == vote.code_id
            )
            for name in names
        }
        mean = fmean(right.values()) if right else float("nan")
        found.append(
            RightAnswers(method=method, queries=len(by_query), mean=mean, by_annotator=right)
        )
    return tuple(found)
