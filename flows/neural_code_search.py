"""The flow of Neural Code Search: methods ranked for its questions, judged and scored."""

from functools import partial
from pathlib import Path

from prefect import flow

from flows.collect import read_source
from flows.runtime.runs import SIDE_BY_SIDE, FlowSettings, run_name
from tasks.corpus.neural_code_search import read_questions
from tasks.ranking.methods import chosen_methods
from tasks.stages.challenge.neural_code_search import WrittenSheet, judge_rankings, open_questions
from tasks.stages.challenge.rankings import open_search, rank_codes
from tasks.stages.preflight import check_inputs
from tasks.suites.neural_code_search import DEEPEST


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
