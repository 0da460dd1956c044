"""The flows of other people's challenges: any methods ranked by them, and their scores.

`challenge` is CodeSearchNet's, `neural_code_search` that of the dataset of that name.
"""

from functools import partial
from pathlib import Path

from prefect import flow

from flows.collect import read_source
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, run_name
from infra.settings import load_settings
from tasks.corpus.neural_code_search import read_questions
from tasks.inputs.challenge import challenge_queries
from tasks.ranking.methods import chosen_methods
from tasks.runtime.input_checks import whole_corpus
from tasks.stages.challenge.codesearchnet import (
    WrittenChallenge,
    draw_pool,
    open_challenge,
    predict,
    score_predictions,
    searched_languages,
    unknown_functions,
)
from tasks.stages.challenge.neural_code_search import WrittenSheet, judge_rankings, open_questions
from tasks.stages.challenge.rankings import open_search, rank_codes
from tasks.stages.preflight import check_inputs
from tasks.stages.scoring import Run
from tasks.suites.neural_code_search import DEEPEST

_DEPTH = 300  # results of a query in a language that the challenge reads


@flow(name="challenge", flow_run_name=run_name, task_runner=SIDE_BY_SIDE)
def challenge(
    queries: Path,
    annotations: Path | None = None,
    pool: int | None = None,
    settings: FlowSettings = None,
) -> WrittenChallenge:
    """Rank all functions of each language for queries, write predictions and score them.

    One method and language after the other: each may take the memory that a search has.

    Args:
        queries: The challenge's queries.csv, or other queries.
        annotations: The challenge's annotationStore.csv, by which predictions are scored.
        pool: How many of each method's first results are drawn into a sample for people.
        settings: The source, the methods and the folder; None reads them from file and environment.
    """
    given = settings or load_settings()
    corpus = given.model_copy(update={"source": whole_corpus(given.source)})
    ready = check_inputs(corpus, partial(open_challenge, queries=queries, annotations=annotations))
    database, chosen = ready.database, ready.settings
    collection, read = read_source(ready)
    texts = challenge_queries(queries)
    search = open_search(collection, queries, texts, _DEPTH, chosen.publish.folder)
    functions = searched_languages(database, collection)
    runs: list[Run] = []
    steps, written = [], []
    for method in chosen_methods(chosen.scoring):
        ranked = {
            language: rank_codes(
                database, search.of_language(language), method, chosen.encoder, chosen.ray,
                wait_for=[read], return_state=True,
            )
            for language in functions
        }  # fmt: skip
        by_language = {language: state.result() for language, state in ranked.items()}
        step = predict(
            database, search, queries, method, by_language,
            wait_for=list(ranked.values()), return_state=True,
        )  # fmt: skip
        written.append(step.result())
        steps.append(step)
        runs += by_language.values()
    scores, unknown, sample = {}, dict[str, int](), None
    if annotations:
        scores = score_predictions(
            collection.name, written, annotations, search.folder, wait_for=steps
        )
        unknown = unknown_functions(database, collection, annotations)
    if pool:
        seed = chosen.annotation.seed
        sample = draw_pool(database, search, queries, runs, pool, seed, wait_for=steps)
    return WrittenChallenge(
        folder=search.folder,
        functions=functions,
        predictions=tuple(written),
        scores=scores,
        unknown=unknown,
        pool=sample,
    )


@flow(
    name="neural-code-search",
    flow_run_name=run_name,
    task_runner=SIDE_BY_SIDE,
)
def neural_code_search(
    questions: Path, settings: FlowSettings = None, *, post_rank: bool = False
) -> WrittenSheet:
    """Rank a source's methods for questions, judge the first 50, and write the score sheet.

    Args:
        questions: ``287_android_questions.json``, or others like it.
        settings: The source, the methods and the folder; None reads them from file and environment.
        post_rank: Score each method also with a second pass by the question's words.
    """
    ready = check_inputs(settings, partial(open_questions, questions=questions))
    database, chosen = ready.database, ready.settings
    texts = [question.question for question in read_questions(questions)]
    collection, read = read_source(ready)
    search = open_search(collection, questions, texts, DEEPEST, chosen.publish.folder)
    ranked = [
        rank_codes(
            database, search, method, chosen.encoder, chosen.ray, wait_for=[read], return_state=True
        )
        for method in chosen_methods(chosen.scoring)
    ]
    runs = [state.result() for state in ranked]
    return judge_rankings(database, search, questions, runs, post_rank=post_rank, wait_for=ranked)
