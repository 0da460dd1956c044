"""Confidence of the agents' labels: what all judges' votes say, and whether that holds its word.

A judge is a model with a configuration of agents, in one labelling round; its vote on a pair is the
label by its recipe last in use. Pairs of known label, canaries and what people said, tell how it
errs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from infra.ids import PairKey, RecipeId
from infra.store import Database, annotations, recipes
from infra.store.labels import CurrentLabels, Judge, Judges, count_ballots
from infra.store.recipes import Body
from infra.summaries import Effort
from tasks.benchmarks.confidence import Confidence, JudgeFigures
from tasks.stages.annotate.canaries import load_judged_canaries
from tasks.statistics.calibration import Calibration, Rated, calibration_of
from tasks.statistics.dawid_skene import (
    SEEN_WRONG,
    Ballot,
    DawidSkene,
    HeldOut,
    fit_dawid_skene,
    held_out,
)

PEOPLE = "people:"  # begins the origin of labels that people gave
_DIGITS = 6  # so that an export's bytes do not depend on the order of sums


class Voter(NamedTuple):
    """A judge: its model, its agents, its labelling round, and its recipes, last used first."""

    model: str
    configuration: str
    round: int
    recipes: tuple[RecipeId, ...]


class Weighed(NamedTuple):
    """The votes of judges, and what they weigh.

    Attributes:
        voters: The judges.
        ballots: Their votes on candidates and canaries.
        rates: How often each is right.
        wrong: What is known of that beforehand (`fit_dawid_skene`).
    """

    voters: tuple[Voter, ...]
    ballots: tuple[Ballot, ...]
    rates: DawidSkene
    wrong: tuple[float, ...]

    def known(self, place: int) -> int:
        """Return how many pairs of known label a judge has voted on."""
        return sum(
            ballot.pairs
            for ballot in self.ballots
            if ballot.truth is not None and ballot.votes[place] is not None
        )

    @property
    def judges(self) -> Judges:
        """The same for the store."""
        return Judges(
            judges=tuple(
                Judge(
                    recipes=voter.recipes,
                    if_zero=rates.weights[0],
                    if_one=rates.weights[1],
                    is_known=self.known(place) > 0,
                )
                for place, (voter, rates) in enumerate(
                    zip(self.voters, self.rates.judges, strict=True)
                )
            ),
            prior=self.rates.prior_weight,
        )


def weigh_votes(database: Database, labels: CurrentLabels) -> Weighed:
    """Return what the votes on candidates weigh, of all recipes whose labels are comparable."""
    voters = voters_of(labels, recipes.load_bodies(database))
    unweighed = Judges(judges=tuple(Judge(recipes=voter.recipes) for voter in voters))
    counted = count_ballots(database, labels.model_copy(update={"judges": unweighed}), PEOPLE)
    ballots = [Ballot(item.votes, item.pairs, item.truth) for item in counted]
    ballots += _of_canaries(database, voters)
    wrong = _wrong_beforehand(labels, voters)
    rates = fit_dawid_skene(ballots, len(voters), wrong=wrong)
    return Weighed(voters, tuple(ballots), rates, wrong)


def with_judges(database: Database, labels: CurrentLabels) -> CurrentLabels:
    """Return labels with what the judges' votes weigh, where sets of judges decide them.

    Elsewhere no label depends on it, and the votes are not read.
    """
    if not labels.coverage.judged:
        return labels
    return labels.model_copy(update={"judges": weigh_votes(database, labels).judges})


def voters_of(labels: CurrentLabels, bodies: Mapping[RecipeId, Body]) -> tuple[Voter, ...]:
    """Return the judges of labels, those in use first, in their order."""
    coverage = labels.coverage
    in_use = dict.fromkeys(recipe_id for rounds in coverage.sets for recipe_id in rounds)
    others = sorted(coverage.voters - in_use.keys())
    found: dict[tuple[str, str, int], list[RecipeId]] = {}
    for recipe_id in (*in_use, *others):
        if recipe_id in bodies:
            body = bodies[recipe_id]
            number = int(str(body.get("round", 1)))
            key = recipes.model_of(body), str(body.get("configuration", "")), number
            found.setdefault(key, []).append(recipe_id)
    return tuple(Voter(*key, tuple(items)) for key, items in found.items())


def confidence_of(database: Database, labels: CurrentLabels, weighed: Weighed) -> Confidence:
    """Return the figures of an export's judges, and how far their confidence holds its word."""
    judges = len(weighed.voters)
    tried = list(held_out(weighed.ballots, judges, weighed.rates, wrong=weighed.wrong))
    parts = {
        "canaries": [item for item in tried if item.ballot.planted],
        "people": [item for item in tried if not item.ballot.planted],
    }
    found = {name: calibration_of(list(_rated(items))) for name, items in parts.items()}
    return Confidence(
        prior=round(weighed.rates.prior, _DIGITS),
        converged=weighed.rates.converged,
        judges=tuple(
            _figures(weighed, place, annotations.effort(database, voter.recipes, labels.search_ids))
            for place, voter in enumerate(weighed.voters)
        ),
        calibration={name: _rounded(item) for name, item in found.items() if item},
    )


def _wrong_beforehand(labels: CurrentLabels, voters: Sequence[Voter]) -> tuple[float, ...]:
    """Return how often each judge is taken to have erred: of judges in use, each half as often.

    Who names the cheapest first takes the next one for better, which a few canaries may not show:
    without this, of 40 made-up stores with 12 to 48 canaries one to three followed the worse judge.
    """
    coverage = labels.coverage
    in_use = coverage.sets[0] if 0 in coverage.judged else ()
    return tuple(
        SEEN_WRONG / 2 ** next((n for n, item in enumerate(in_use) if item in voter.recipes), 0)
        for voter in voters
    )


def _of_canaries(database: Database, voters: Sequence[Voter]) -> list[Ballot]:
    """Return the votes on canaries."""
    votes: dict[PairKey, list[int | None]] = {}
    truth: dict[PairKey, int] = {}
    for place, voter in enumerate(voters):
        for recipe_id in reversed(voter.recipes):  # the last used one has the last word
            judged, known = load_judged_canaries(database, recipe_id)
            for item in judged:
                if item.label is not None:
                    truth[item.key] = known[item.key].label
                    votes.setdefault(item.key, [None] * len(voters))[place] = item.label
    counted = Counter((tuple(given), truth[key]) for key, given in votes.items())
    in_order = sorted(counted.items(), key=lambda item: str(item[0]))
    return [Ballot(given, number, label, planted=True) for (given, label), number in in_order]


def _rated(tried: Sequence[HeldOut]) -> Iterator[Rated]:
    """Yield the labels of known pairs, each with its confidence by the others' rates."""
    for ballot, rates in tried:
        confidence = rates.confidence(ballot.votes)
        if confidence is not None:
            yield Rated(confidence, rates.label(ballot.votes) == ballot.truth, ballot.pairs)


def _figures(weighed: Weighed, place: int, effort: Effort) -> JudgeFigures:
    voter, rates = weighed.voters[place], weighed.rates.judges[place]
    tokens = (effort.prompt_tokens, effort.completion_tokens)
    return JudgeFigures(
        **voter._asdict(),
        labels=sum(
            ballot.pairs
            for ballot in weighed.ballots
            if ballot.votes[place] is not None and not ballot.planted
        ),
        known=weighed.known(place),
        sensitivity=round(rates.sensitivity, _DIGITS),
        specificity=round(rates.specificity, _DIGITS),
        cost_usd=effort.cost_usd,
        tokens=None if None in tokens else sum(number or 0 for number in tokens),
    )


def _rounded(found: Calibration) -> Calibration:
    """Return the figures by six digits."""

    def by_digits(value: object) -> object:
        return round(value, _DIGITS) if isinstance(value, float) else value

    row = {name: by_digits(value) for name, value in found}
    bins = [{name: by_digits(value) for name, value in item} for item in found.bins]
    return Calibration.model_validate(row | {"bins": bins})
