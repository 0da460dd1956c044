"""Annotators against a truth: every configuration of the agents, every model, and people.

What the paper's Tables IV and VI show, from one run: pairs that an annotator has judged before, in
this store, are not judged again.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from threading import Lock
from typing import Any

from agents.evidence import was_executed
from infra.records import Annotation, Execution, LanguageModelCall, Record
from infra.settings import Configuration, Settings
from infra.store import Database, annotations, open_database
from tasks.benchmarks.labelled_pairs import TruePair
from tasks.stages.annotate.model_server import served_model
from tasks.stages.annotate.plan import current_recipe, record_recipe
from tasks.stages.annotate.shard import judge_all
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


class _Shelf:
    """Puts each annotation into the store as it comes, one after the other."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()  # DuckDB opens one file in one thread of a process at a time

    def put(self, annotation: Annotation) -> bool:
        with self._lock:
            annotations.add_annotations(self._database, [annotation])
        return True


def compare_annotators(
    truth: Sequence[TruePair],
    settings: Settings,
    models: Iterable[str],
    configurations: Sequence[Configuration],
) -> Iterator[AnnotatorScore]:
    """Yield the score of chance first, then people's, then each model's in each configuration.

    Args:
        truth: Pairs with their true labels.
        settings: Everything but model and configuration.
        models: litellm's names.
        configurations: Rows of the ablation.

    Raises:
        CosqaError: A model or the engine is out of reach; what was judged before is stored.
    """
    yield score_of_chance(truth)
    yield from scores_of_people(truth)
    for model in models:
        llm = settings.llm.model_copy(update={"model": model})
        for configuration in configurations:
            annotation = settings.annotation.model_copy(update={"configuration": configuration})
            chosen = settings.model_copy(update={"llm": llm, "annotation": annotation})
            score = score_of(f"{configuration} · {model}", truth, judged(truth, chosen))
            yield score.model_copy(update={"model": model})


def judged(truth: Sequence[TruePair], settings: Settings) -> list[Annotation]:
    """Return the agents' annotations of the pairs, judging those that the store has not."""
    database = open_database(settings.store)
    recipe = current_recipe(settings)
    recipe_id = recipe.recipe_id
    record_recipe(database, recipe, settings)
    annotations.record_pairs(database, [item.pair for item in truth])
    done = annotations.finished_pairs(database, recipe_id)
    waiting = [item.pair for item in truth if item.key not in done]
    if waiting:
        with served_model(settings.llm) as endpoint:
            asyncio.run(judge_all(waiting, settings, recipe_id, _Shelf(database), endpoint))
    return annotations.load_annotations(database, recipe_id, [item.key for item in truth])


def score_of_chance(truth: Sequence[TruePair]) -> AnnotatorScore:
    """Return the score of who always says the commoner label: what judges worse knows nothing."""
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
    true_labels = [label_of[item.query_id, item.code_id] for item in ended]
    calls = [call for item in ended for call in item.calls]
    runs = [run for item in ended for run in item.executions]
    return AnnotatorScore(
        name=name,
        agreement=agreement([item.label for item in ended], true_labels),
        failed=len(made) - len(ended),
        executable=_mean(_ran(item.executions[-1]) for item in ended if item.executions),
        valid_oracles=_mean(
            item.grade == "valid_oracle" for item in ended if item.grade.endswith("_oracle")
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
