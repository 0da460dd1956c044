"""Results of a sample: people's labels, agreement and majority, and the agents' labels beside them.

Of people, annotators who are done. Research question 2 of both CoSQA+ papers asks how often the
agents' labels agree with experts'.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from infra.errors import SettingsError
from infra.files import OTHER_OUTPUT, atomic_write, space_on
from infra.identity import PairKey
from infra.records import GivenVote, Record, Support
from infra.store import Database, candidates, samples
from infra.store.samples import Sample, SampleItem, SampleProgress
from tasks.reports.text import format_words
from tasks.stages.coverage import current_labels_of
from tasks.statistics.agreement import (
    EPSILON,
    Agreement,
    AltTest,
    Grades,
    agreement,
    alt_test,
    blind_grades,
    conflicts,
    majority,
)
from tasks.statistics.intervals import Interval, wilson_interval

EVERYBODY = "majority"
AGENTS = "agents"
# Supports that are one ground, which has the words of the first.
_GROUNDS: tuple[tuple[Support, ...], ...] = (
    ("valid_oracle",), ("overruled",), ("screened", "void_oracle", "ungated"),
)  # fmt: skip
_ALL = "all"


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


class AgentScores(Record):
    """Accuracy of the agents' labels by the majority of people.

    Attributes:
        ground: What the labels rest on, or all of them.
        pairs: Pairs that have both labels.
        accuracy: Share of these with the same label, with its 95% interval (Wilson), as all.
        precision: Share of right ones among the agents' matches.
        recall: Share of the people's matches that are the agents' too.
    """

    ground: str
    pairs: int
    accuracy: Interval
    precision: Interval
    recall: Interval


class AgentsBesidePeople(Record):
    """The agents' labels of a sample beside people's.

    Attributes:
        scores: Of all labels, then by what they rest on.
        agreement: Of the agents with the majority: Krippendorff's alpha and Cohen's kappa.
        alt_test: Whether the agents may stand in for a person; None with fewer than three people.
    """

    scores: tuple[AgentScores, ...]
    agreement: Agreement
    alt_test: AltTest | None


def agents_beside_people(
    database: Database, sample: Sample, epsilon: float = EPSILON
) -> AgentsBesidePeople | None:
    """Return the agents' accuracy on a sample; None if no pair has both labels.

    Args:
        database: The store.
        sample: Pairs with labels 0 and 1; of another kind the agents give none.
        epsilon: What the agents may be worse by than a person (see `alt_test`).
    """
    searches = candidates.searches_by_collection(database)
    if sample.kind != "pairs" or sample.scale != "binary" or sample.collection not in searches:
        return None
    votes = samples.readable_votes(database, sample)
    people = {key: int(label) for key, label in majority_labels(last_votes(votes)).items()}
    current = current_labels_of(
        database, sample.collection, searches[sample.collection], sample.criterion
    )
    judged = samples.judged_items(database, sample, current)
    both = {key: (judged[key][0], people[key]) for key in sorted(people.keys() & judged.keys())}
    if not both:
        return None
    grounds = {
        format_words(supports[0]): [it for key, it in both.items() if judged[key][1] in supports]
        for supports in _GROUNDS
    }
    rows = {_ALL: list(both.values())} | grounds
    scores = [_scores(ground, labels) for ground, labels in rows.items() if labels]
    grades: Grades = {
        AGENTS: {key: label for key, (label, _) in both.items()},
        EVERYBODY: {key: label for key, (_, label) in both.items()},
    }
    return AgentsBesidePeople(
        scores=tuple(scores),
        agreement=agreement(grades),
        alt_test=alt_test(
            blind_grades(votes), {key: label for key, (label, _) in judged.items()}, epsilon
        ),
    )


def write_truth(database: Database, sample: Sample, file: Path) -> int:
    """Write the majority's labels of a sample, each person's beside; return how many.

    As `tasks.inputs.pairs` reads them, which `cosqa compare-annotators` does.

    Raises:
        SettingsError: The sample's grades are no labels 0 and 1 of pairs.
    """
    if sample.kind == "preference" or sample.scale != "binary":
        asked = "a preference" if sample.kind == "preference" else "grades of 0 to 3"
        raise SettingsError(
            f"--truth writes labels 0 and 1, and sample {sample.sample_id} asks for {asked}"
        )
    last = last_votes(samples.readable_votes(database, sample))
    labels = majority_labels(last)
    given: dict[PairKey, dict[str, int | None]] = {}
    for vote in last:
        label = None if vote.relevance is None else int(vote.relevance)
        given.setdefault(vote.key, {})[vote.annotator] = label
    items = [item for item in sample.items if item.key in labels]
    lines = [
        {
            "query": shown.query.text,
            "code": shown.codes[0].text,
            "language": sample.languages.get(item.code_id) or shown.codes[0].language,
            "label": int(labels[item.key]),
            "labels": given[item.key],
        }
        for item, shown in zip(items, samples.show(database, items), strict=True)
    ]
    with space_on(file.absolute().parent, OTHER_OUTPUT), atomic_write(file) as partial:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        partial.write_text(text, "utf-8")
    return len(lines)


def _scores(ground: str, rows: Sequence[tuple[int, int]]) -> AgentScores:
    """Return the scores of (the agents', the people's) labels."""
    matches = [people for agents, people in rows if agents]
    found = [agents for agents, people in rows if people]
    return AgentScores(
        ground=ground,
        pairs=len(rows),
        accuracy=wilson_interval(sum(agents == people for agents, people in rows), len(rows)),
        precision=wilson_interval(sum(matches), len(matches)),
        recall=wilson_interval(sum(found), len(found)),
    )
