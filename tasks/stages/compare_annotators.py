"""Scores of annotators against known labels: agents by configuration and model, and humans.

These are the figures of the paper's Tables IV and VI. Pairs that this store has annotations of are
not judged again.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from prefect.logging import get_run_logger

from agents import journal_ledger, recipe_of
from agents.evidence import was_executed
from infra.batches import batched
from infra.draws import Draw
from infra.errors import EstimationError, SettingsError
from infra.ids import RecipeId
from infra.records import Annotation, LanguageModelCall, Pair, Record
from infra.registry import unknown_name
from infra.settings import (
    COMPARED_CONFIGURATIONS,
    CONFIGURATION_SUMMARIES,
    CommitteeSettings,
    Configuration,
    StoreSettings,
)
from infra.store import annotations, open_database, recipes
from tasks.benchmarks.labelled_pairs import TruePair, read_truth
from tasks.runtime.caching import MODEL_AWAY, stage
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.shard import judge_pairs
from tasks.stages.annotate.writer import store_annotations
from tasks.statistics import Values
from tasks.statistics.agreement import krippendorff_alpha
from tasks.statistics.alternative_annotator import (
    MIN_ITEMS,
    AlternativeAnnotator,
    alternative_annotator_test,
)
from tasks.statistics.annotator_scores import Agreement, agreement

_GATED = ("valid_oracle", "overruled", "void_oracle")
_STORED_TOGETHER = 256
_UNDEFINED = ("accuracy_low", "accuracy_high", "precision", "recall", "kappa", "alpha")


class AnnotatorScore(Record):
    """An annotator's score; None is undefined or unknown.

    Attributes:
        name: Configuration and model, name of the human annotators, or the baseline's name.
        model: The model; empty for human annotators and the baseline.
        agreement: Agreement with the known labels, without failed pairs.
        alpha_with_people: Krippendorff's alpha, nominal, of the people and this annotator together;
            of the average human, of the people alone. None without two coders.
        alternative: Whether it may stand in for a person. None for people, and where fewer than 3
            of them share at least 30 pairs with others.
        failed: Number of pairs for which the model or the sandbox was unavailable.
        executable: Share of the pairs with a test program whose last program ran to its end.
        valid_oracles: Share of the pairs that reached the gates whose oracle is valid.
        mutation_score: Mean over the programs that were run on mutants.
        tokens: Mean number of prompt and completion tokens of a pair.
        usd: Mean cost of a pair, as if no reply had been cached.
        seconds: Mean time of a pair in models and the sandbox.
    """

    name: str
    model: str = ""
    agreement: Agreement
    alpha_with_people: float | None = None
    alternative: AlternativeAnnotator | None = None
    failed: int = 0
    executable: float | None = None
    valid_oracles: float | None = None
    mutation_score: float | None = None
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None


class JudgedTruth(Record):
    """Reference to the annotations of the truth by one configuration and model."""

    name: str
    model: str
    recipe_id: RecipeId


def committees_of(
    chosen: CommitteeSettings, models: Iterable[str], configurations: Sequence[Configuration]
) -> Iterator[CommitteeSettings]:
    """Yield a committee with each model and each configuration in turn, none meaning the paper's.

    Raises:
        SettingsError: There is no such configuration.
    """
    for name in configurations:
        if name not in CONFIGURATION_SUMMARIES:
            raise SettingsError(unknown_name("configuration", name, list(CONFIGURATION_SUMMARIES)))
    wanted = configurations or COMPARED_CONFIGURATIONS
    for model in models:
        llm = chosen.llm.model_copy(update={"model": model})
        for configuration in CONFIGURATION_SUMMARIES:
            if configuration not in wanted:
                continue
            annotation = chosen.annotation.model_copy(update={"configuration": configuration})
            yield replace(chosen, llm=llm, annotation=annotation)


@stage(
    "judge-truth",
    "judge {truth.name} by {recipe.model} as {committee.annotation.configuration}",
    retries=MODEL_AWAY,
)
def judge_truth(
    truth: Path,
    limit: int | None,
    recipe: RecipeReference,
    committee: CommitteeSettings,
    store: StoreSettings,
) -> JudgedTruth:
    """Judge the pairs of a file that the store has no annotation of; store people's votes on them.

    Args:
        truth: The file, see `read_truth`.
        limit: Number of pairs to judge, drawn at random by ``annotation.seed``; None takes all.
        recipe: The recipe of the committee.
        committee: The model and the configuration.
        store: Where annotations are stored.

    Raises:
        LanguageModelError: The model is unavailable; pairs judged before are stored.
    """
    known = read_truth(truth, Draw(limit, committee.annotation.seed))
    pairs = [item.pair for item in known]
    origin = f"people:{truth.name}"
    votes = [vote for item in known for vote in item.votes(origin)]
    annotations.record_pairs(open_database(store), pairs, votes)
    judged = annotate_in_process(pairs, recipe, committee, store)
    name = f"{committee.annotation.configuration} · {recipe.model}"
    get_run_logger().info("%s: %s of %s pairs judged now", name, f"{judged:,}", f"{len(pairs):,}")
    return JudgedTruth(name=name, model=recipe.model, recipe_id=recipe.recipe_id)


def annotate_in_process(
    pairs: Sequence[Pair],
    recipe: RecipeReference,
    committee: CommitteeSettings,
    store: StoreSettings,
) -> int:
    """Judge stored pairs that a recipe has not finished, in this process; return their number."""
    database = open_database(store)
    body = recipe_of(committee, recipe.sandbox)
    recipes.record_recipes(database, {recipe.recipe_id: body})
    done = annotations.finished_pairs(database, recipe.recipe_id)
    pending = [pair for pair in pairs if pair.key not in done]
    for some in batched(pending, _STORED_TOGETHER):
        places = asyncio.Semaphore(committee.annotation.in_flight)
        ledger = journal_ledger(store, committee.llm)
        judged = asyncio.run(judge_pairs(some, committee, recipe, ledger, places))
        store_annotations(database, judged.annotations)
        if judged.error:
            raise judged.error
    return len(pending)


def annotator_scores(
    truth: Sequence[TruePair], judged: Iterable[JudgedTruth], store: StoreSettings
) -> Iterator[AnnotatorScore]:
    """Yield the baseline's score, those of human annotators, then those of the agents."""
    yield score_majority(truth)
    people = list(score_humans(truth))
    yield from people
    if len(people) > 1:
        yield score_average_human(truth, people)
    database = open_database(store)
    keys = [item.key for item in truth]
    for annotator in judged:
        annotated = annotations.load_annotations(database, annotator.recipe_id, keys)
        score = score_agents(annotator.name, truth, annotated)
        label_of = {item.key: item.label for item in annotated}
        labels = [label_of.get(key) for key in keys]
        update = {
            "model": annotator.model,
            "alpha_with_people": alpha_with_people(truth, labels),
            "alternative": alternative_to_people(truth, labels),
        }
        yield score.model_copy(update=update)


def score_majority(truth: Sequence[TruePair]) -> AnnotatorScore:
    """Return the score of the baseline that predicts the majority label for every pair."""
    labels = [item.label for item in truth]
    majority = int(2 * sum(labels) >= len(labels))
    return AnnotatorScore(
        name=f"always {majority}", agreement=agreement([majority] * len(labels), labels)
    )


def score_humans(truth: Sequence[TruePair]) -> Iterator[AnnotatorScore]:
    """Yield the score of each human annotator, or group, over the pairs that they labelled."""
    for name in sorted({name for item in truth for name in item.by_people}):
        pairs = [item for item in truth if name in item.by_people]
        predicted = [item.by_people[name] for item in pairs]
        truth_labels = [item.label for item in pairs]
        yield AnnotatorScore(name=name, agreement=agreement(predicted, truth_labels))


def score_average_human(
    truth: Sequence[TruePair], people: Sequence[AnnotatorScore]
) -> AnnotatorScore:
    """Return the mean of people's accuracies, and the alpha of them all.

    The row of the average human in CoSQA+'s comparisons (arXiv 2406.11589v1, Tables 3 and 4).
    """
    accuracies = [score.agreement.accuracy for score in people]
    return AnnotatorScore(
        name="average human",
        agreement=Agreement(
            pairs=len(truth),
            decided=sum(any(v is not None for v in item.by_people.values()) for item in truth),
            accuracy=_mean(value for value in accuracies if value is not None),
            **dict.fromkeys(_UNDEFINED),
        ),
        alpha_with_people=alpha_with_people(truth),
    )


def alpha_with_people(
    truth: Sequence[TruePair], labels: Sequence[int | None] | None = None
) -> float | None:
    """Return Krippendorff's alpha, nominal, with people as coders and maybe an annotator.

    Args:
        truth: The pairs with people's labels.
        labels: The annotator's labels of the pairs, None where undecided; none without annotator.
    """
    people = labels_of_people(truth)
    coders = [*people.values(), *([np.array(labels, np.float64)] if labels is not None else [])]
    if not people or len(coders) < 2:
        return None
    alpha = krippendorff_alpha(np.array(coders), "nominal")
    return None if math.isnan(alpha) else alpha


def alternative_to_people(
    truth: Sequence[TruePair], labels: Sequence[int | None]
) -> AlternativeAnnotator | None:
    """Return whether an annotator may stand in for a person; None where people labelled too little.

    Args:
        truth: The pairs with people's labels.
        labels: The annotator's labels of the pairs, None where undecided.
    """
    people = {
        name: own
        for name, own in labels_of_people(truth).items()
        if np.count_nonzero(~np.isnan(own)) >= MIN_ITEMS
    }
    try:
        return alternative_annotator_test(people, np.array(labels, np.float64))
    except EstimationError:  # too few people, or pairs that two of them labelled
        return None


def labels_of_people(truth: Sequence[TruePair]) -> dict[str, Values]:
    """Return person → (pairs,) labels, NaN where there is none."""
    names = sorted({name for item in truth for name in item.by_people})
    return {
        name: np.array([item.by_people.get(name) for item in truth], np.float64) for name in names
    }


def score_agents(
    name: str, truth: Sequence[TruePair], annotated: Sequence[Annotation]
) -> AnnotatorScore:
    """Return the score of a model's agents from their annotations of the pairs."""
    label_of = {item.key: item.label for item in truth}
    finished = [item for item in annotated if item.status != "failed"]
    true_labels = [label_of[item.key] for item in finished]
    calls = [call for item in finished for call in item.calls]
    runs = [run for item in finished for run in item.executions]
    last = [item.executions[-1] for item in finished if item.executions]
    return AnnotatorScore(
        name=name,
        agreement=agreement([item.label for item in finished], true_labels),
        failed=len(annotated) - len(finished),
        # A program that gates checked has run, too.
        executable=_mean(run.oracle is not None or was_executed(run.result) for run in last),
        valid_oracles=_mean(
            item.support != "void_oracle" for item in finished if item.support in _GATED
        ),
        mutation_score=_mean(
            run.oracle.mutation_score
            for run in runs
            if run.oracle and run.oracle.mutation_score is not None
        ),
        tokens=_per_pair(finished, calls, _tokens),
        usd=_per_pair(finished, calls, lambda call: call.cost_usd),
        seconds=_per_pair(
            finished, [*calls, *(run.result for run in runs)], lambda effort: effort.seconds
        ),
    )


def _tokens(call: LanguageModelCall) -> float | None:
    if call.prompt_tokens is None or call.completion_tokens is None:
        return None
    return call.prompt_tokens + call.completion_tokens


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return fmean(numbers) if numbers else None


def _per_pair(
    pairs: Sequence[Annotation], efforts: Sequence[Any], value: Callable[[Any], float | None]
) -> float | None:
    """Return the mean over pairs of a value of calls or runs, None if one is unknown."""
    values = [value(effort) for effort in efforts]
    numbers = [number for number in values if number is not None]
    return sum(numbers) / len(pairs) if pairs and len(numbers) == len(values) else None
