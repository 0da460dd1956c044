"""The challenge flow: any methods' predictions for CodeSearchNet's challenge, and their scores."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prefect import State, flow
from prefect.runtime import flow_run

from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings
from flows.runtime.writing import writing
from infra.settings import load_settings
from tasks.benchmarks.trec import run_file
from tasks.ranking.methods import chosen_methods
from tasks.runtime.input_checks import ChallengeNeeds, whole_corpus
from tasks.sources import open_source
from tasks.stages.challenge.codesearchnet import (
    WrittenChallenge,
    asked_queries,
    draw_pool,
    predict,
    score_predictions,
    searched_languages,
)
from tasks.stages.challenge.rankings import Search, rank_codes, searching
from tasks.stages.collect import collect_source
from tasks.stages.preflight import Ready, check_inputs
from tasks.stages.scoring import Run


def _run_name() -> str:
    return f"challenge {flow_run.parameters['queries'].name}"


@flow(name="challenge", flow_run_name=_run_name, task_runner=SIDE_BY_SIDE)
def challenge(
    queries: Path,
    annotations: Path | None = None,
    depth: int = 300,
    pool: int | None = None,
    settings: FlowSettings = None,
    *,
    natural: bool = False,
) -> WrittenChallenge:
    """Rank all functions of each language for queries, write predictions and score them.

    One method and language after the other: each may take the memory that a search has. What one of
    them fails at is raised once all others are done.

    Args:
        queries: The challenge's queries.csv, or other queries.
        annotations: The challenge's annotationStore.csv, by which predictions are scored.
        depth: Results of a query in a language.
        pool: How many of each method's first results are drawn into a sample for people.
        settings: The source, the methods and the folder; None reads them from file and environment.
        natural: Leave out queries that are names of code and nothing else.
    """
    chosen = whole_corpus(settings or load_settings())
    ready = check_inputs(chosen, ChallengeNeeds())
    database, chosen = ready.database, ready.settings
    texts = asked_queries(queries, natural=natural)
    fingerprint = open_source(chosen.source).fingerprint()
    with writing(chosen.store):
        read = collect_source(database, chosen.source, fingerprint, return_state=True)
        collection = read.result()[0]
    with searching(collection, queries, texts, depth, chosen.publish.folder) as search:
        functions = searched_languages(database, collection)
        predicted = [
            _predicted(ready, search, queries, method, functions, read)
            for method in chosen_methods(chosen.evaluation, chosen.search)
        ]
        done = [state for state in predicted if state.is_completed()]
        written = [state.result() for state in done]
        scores = {}
        if annotations and written:
            scores = score_predictions(
                collection.name, written, annotations, search.folder, wait_for=done
            )
        sample = None
        if pool and written:
            runs = [
                Run(method=one.method, file=run_file(search.folder / language, one.method))
                for one in written
                for language in functions
            ]
            seed = chosen.annotation.seed
            sample = draw_pool(database, search, queries, runs, pool, seed, wait_for=done)
        for state in predicted:
            state.result()
        return WrittenChallenge(
            folder=search.folder,
            functions=functions,
            predictions=tuple(written),
            scores=scores,
            pool=sample,
        )


def _predicted(
    ready: Ready,
    search: Search,
    queries: Path,
    method: str,
    languages: Iterable[str],
    read: State[Any],
) -> State[Any]:
    """Rank each language by a method and write its predictions; return how that ended."""
    ranked = {
        language: rank_codes(
            ready.database, search.of_language(language), method, ready.settings,
            wait_for=[read], return_state=True,
        )
        for language in languages
    }  # fmt: skip
    if failed := [state for state in ranked.values() if not state.is_completed()]:
        return failed[0]
    runs = {language: state.result() for language, state in ranked.items()}
    return predict(
        ready.database, search, queries, method, runs,
        wait_for=list(ranked.values()), return_state=True,
    )  # fmt: skip
