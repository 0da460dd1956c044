"""Annotators against a truth: every configuration of the agents, every model, and people.

What the paper's Tables IV and VI show, from one run: pairs that an annotator has judged before, in
this store, are not judged again.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from prefect import task
from prefect.logging import get_run_logger

from agents.evidence import was_executed
from infra.ids import RecipeId
from infra.records import Annotation, Execution, LanguageModelCall, Pair, Record
from infra.settings import Configuration, Settings, StoreSettings
from infra.store import annotations, open_database
from tasks.benchmarks.labelled_pairs import TruePair, read_truth
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.model_server import served_model
from tasks.stages.annotate.plan import record_recipe
from tasks.stages.annotate.shard import judge_all
from tasks.stages.annotate.sinks import StoreSink
from tasks.statistics.annotator_scores import Agreement, agreement


class AnnotatorScore(Record):
    """How one annotator did; None is undefined or unknown.

    Attributes:
        name: Configuration and model, who the people were, or what is said without looking.
        model: The model; empty for the others.
        agreement: Figures against the truth; pairs that failed are left out of them.
        failed: Pairs for which the model or the box was out of reach.
        executable: Share of the pairs with a test program whose last program ran to its end.
        valid_oracles: Share of the pairs that met the gates whose oracle is valid.
        mutation_score: Mean over the programs that met mutants.
        tokens: Mean for a pair, asked and answered together.
        usd: Mean cost of a pair, as if nothing had come from the store of replies.
        seconds: Mean time of a pair in models and boxes.
        demo: Whether a demonstration model judged.
    """

    name: str
    model: str = ""
    agreement: Agreement
    failed: int = 0
    executable: float | None = None
    valid_oracles: float | None = None
    mutation_score: float | None = None
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None
    demo: bool = False


class JudgedTruth(Record):
    """A configuration and a model whose annotations of the truth are in the store."""

    name: str
    model: str
    recipe_id: RecipeId


def settings_of_annotators(
    settings: Settings, models: Iterable[str], configurations: Sequence[Configuration]
) -> Iterator[Settings]:
    """Yield the settings of each model in each configuration, everything else as it is."""
    for model in models:
        llm = settings.llm.model_copy(update={"model": model})
        for configuration in configurations:
            annotation = settings.annotation.model_copy(update={"configuration": configuration})
            yield settings.model_copy(update={"llm": llm, "annotation": annotation})


@task(name="judge-truth", task_run_name="judge-truth-{recipe.recipe_id}", tags=["annotate"])
def judge_truth(
    truth: Path, limit: int | None, recipe: RecipeReference, settings: Settings
) -> JudgedTruth:
    """Have the agents judge the pairs of a file that the store has no annotation of.

    Args:
        truth: The file, see `read_truth`.
        limit: Only its first so many pairs count.
        recipe: The recipe that the settings mean.
        settings: Whose agents judge, and the store.

    Raises:
        LanguageModelError: The model is out of reach; what was judged before is stored.
    """
    pairs = [item.pair for item in read_truth(truth, limit)]
    judged = annotate_in_process(pairs, recipe, settings)
    name = f"{settings.annotation.configuration} · {recipe.model}"
    get_run_logger().info("%s: %s of %s pairs judged now", name, f"{judged:,}", f"{len(pairs):,}")
    return JudgedTruth(name=name, model=recipe.model, recipe_id=recipe.recipe_id)


def annotate_in_process(pairs: Sequence[Pair], recipe: RecipeReference, settings: Settings) -> int:
    """Judge pairs that the recipe has not finished, and store them; return how many those were."""
    database = open_database(settings.store)
    record_recipe(database, recipe, settings)
    annotations.record_pairs(database, pairs)
    done = annotations.finished_pairs(database, recipe.recipe_id)
    waiting = [pair for pair in pairs if pair.key not in done]
    if waiting:
        with served_model(settings.llm) as endpoint:
            asyncio.run(judge_all(waiting, settings, recipe, StoreSink(database), endpoint))
    return len(waiting)


def annotator_scores(
    truth: Sequence[TruePair], judged: Iterable[JudgedTruth], store: StoreSettings
) -> Iterator[AnnotatorScore]:
    """Yield the score of the majority label, then people's, then that of each model's agents."""
    yield score_of_chance(truth)
    yield from scores_of_people(truth)
    database = open_database(store)
    keys = [item.key for item in truth]
    for annotator in judged:
        made = annotations.load_annotations(database, annotator.recipe_id, keys)
        yield score_of(annotator.name, truth, made).model_copy(update={"model": annotator.model})


def score_of_chance(truth: Sequence[TruePair]) -> AnnotatorScore:
    """Return the score of always giving the commoner label: the baseline."""
    labels = [item.label for item in truth]
    commoner = int(2 * sum(labels) >= len(labels))
    return AnnotatorScore(
        name=f"always {commoner}", agreement=agreement([commoner] * len(labels), labels)
    )


def scores_of_people(truth: Sequence[TruePair]) -> Iterator[AnnotatorScore]:
    """Yield the score of each person, or group, over the pairs that they were asked about."""
    for name in sorted({name for item in truth for name in item.by_people}):
        asked = [item for item in truth if name in item.by_people]
        given = [item.by_people[name] for item in asked]
        yield AnnotatorScore(name=name, agreement=agreement(given, [item.label for item in asked]))


def score_of(name: str, truth: Sequence[TruePair], made: Sequence[Annotation]) -> AnnotatorScore:
    """Return the score of an annotator from its annotations of the pairs."""
    label_of = {item.key: item.label for item in truth}
    ended = [item for item in made if item.status != "failed"]
    true_labels = [label_of[item.key] for item in ended]
    calls = [call for item in ended for call in item.calls]
    runs = [run for item in ended for run in item.executions]
    return AnnotatorScore(
        name=name,
        agreement=agreement([item.label for item in ended], true_labels),
        failed=len(made) - len(ended),
        executable=_mean(_ran(item.executions[-1]) for item in ended if item.executions),
        valid_oracles=_mean(
            item.support == "valid_oracle" for item in ended if item.support.endswith("_oracle")
        ),
        mutation_score=_mean(
            run.oracle.mutation_score
            for run in runs
            if run.oracle and run.oracle.mutation_score is not None
        ),
        tokens=_per_pair(ended, calls, _tokens),
        usd=_per_pair(ended, calls, lambda call: call.cost_usd),
        seconds=_per_pair(
            ended, [*calls, *(run.result for run in runs)], lambda effort: effort.seconds
        ),
        demo=any(item.demo for item in made),
    )


def _ran(run: Execution) -> bool:
    return was_executed(run.result)


def _tokens(call: LanguageModelCall) -> float | None:
    if call.prompt_tokens is None or call.completion_tokens is None:
        return None
    return call.prompt_tokens + call.completion_tokens


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


def _per_pair(
    pairs: Sequence[Annotation], efforts: Sequence[Any], value: Callable[[Any], float | None]
) -> float | None:
    """Return the sum of a value over all efforts for each pair, None if one is unknown."""
    values = [value(effort) for effort in efforts]
    known = [number for number in values if number is not None]
    return sum(known) / len(pairs) if pairs and len(known) == len(values) else None
