"""The check of a model before anything is spent on it: how well it judges pairs with known labels.

Twenty gold questions, half of them matches, are judged in this process by the agents as they are
configured. Labels and replies are kept like all others: what was judged is not asked again, and no
run asks these questions once more. A model is refused where the lower end of the 95% interval of
its share of right labels (Wilson) is not above one half, which is what chance gives; once it cannot
get there any more, the rest is not asked. One that repeats itself for ever is told by its first
reply.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from agents import journal_ledger, recipe_of
from agents.llm.reply import repetition
from infra.errors import CosqaError, GoldQuestionError
from infra.identity import PairKey
from infra.records import Annotation, GivenVote, Pair
from infra.settings import Settings
from infra.store import annotations, open_database
from infra.text import words
from tasks.reports.text import counted, format_cost, format_duration
from tasks.runtime.input_checks import check, check_source
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.gold import count_questions, gold_questions
from tasks.stages.annotate.monitor import store_annotations
from tasks.stages.annotate.shard import judge_pairs
from tasks.stages.preflight import annotation_plan, ask_once
from tasks.statistics.intervals import wilson_interval

QUESTIONS = 20
_AT_ONCE = 4
_SLOW_S = 20.0  # of the first pair; after it they are judged one by one
_FIRST_S = 90.0  # that the first pair may take where no small request was answered before
_PROBE_TOKENS = 128
_PAIRS = 100  # of a run about which nothing is known

Known = Mapping[PairKey, GivenVote]


def check_judge(
    settings: Settings, recipe: RecipeReference, run_pairs: int | None, tell: Callable[[str], None]
) -> None:
    """Let a model judge the questions, and tell how it goes, its figures and what a run takes.

    The run is of so many pairs, else of those that are pending.

    Raises:
        GoldQuestionError: The model is not better than chance, repeats itself or does not answer.
    """
    is_half = settings.annotation.configuration == "v1-half"
    questions = gold_questions(0, is_half=is_half)[:QUESTIONS]
    known = {question.pair.key: question.vote for question in questions}
    pairs = [question.pair for question in questions]
    database = open_database(settings.store)
    body = recipe_of(settings.committee, recipe.sandbox)
    annotations.record_recipes(database, {recipe.recipe_id: body})
    annotations.record_pairs(database, pairs, list(known.values()))
    limit_s = None if _is_quick(settings) else _FIRST_S
    judged, asked, at_once, started = list[Annotation](), 0, 1, time.monotonic()
    while asked < QUESTIONS and is_above_chance(QUESTIONS - count_questions(judged, known).wrong):
        _judge(settings, recipe, pairs[asked : asked + at_once], limit_s)
        asked += at_once
        judged = annotations.load_annotations(database, recipe.recipe_id, list(known))
        for call in judged[0].calls:
            if call.status == "unreadable":
                _refuse_repetition(recipe.model, call.reply)
        counts, taken_s = count_questions(judged, known), time.monotonic() - started
        right = counts.asked - counts.wrong
        tell(f"{counts.asked} of {QUESTIONS} pairs judged, {right} right, {taken_s:.0f} s")
        if asked == 1:
            limit_s, at_once = None, (1 if taken_s > _SLOW_S else _AT_ONCE)
    finished = [item for item in judged if item.status != "failed"]
    if not finished:
        raise GoldQuestionError(f"no pair could be judged: {judged[-1].reason}")
    for line in _figures(finished, {pair.key: pair for pair in pairs}, known):
        tell(line)
    tell(_of_run(finished, settings, run_pairs))
    counts = count_questions(finished, known)
    if not is_above_chance(counts.asked - counts.wrong, counts.asked):
        raise GoldQuestionError(
            f"{recipe.model} is not better than chance: of {counts.asked} pairs with known labels, "
            f"half of them matches, it labelled {counts.asked - counts.wrong} rightly "
            f"({counts.false_passes} false passes, {counts.false_fails} false fails, "
            f"{counts.undecided} without a readable verdict), and the 95% interval of that share "
            f"must lie above 50%, to which the other {QUESTIONS - counts.asked} of {QUESTIONS} "
            "could not bring it. Use another model: labels of this one say nothing"
        )


def is_above_chance(right: int, asked: int = QUESTIONS) -> bool:
    """Return True if the 95% interval of a share of right labels lies above one half."""
    return wilson_interval(right, asked).low > 0.5


def shared_words(pair: Pair) -> float:
    """Return the share of a query's words that its code has."""
    asked = set(words(pair.query.text))
    return len(asked & set(words(pair.code.text))) / len(asked)


def _is_quick(settings: Settings) -> bool:
    """Return True if a small request is answered at once; few tokens show an endless reply."""
    most = min(_PROBE_TOKENS, settings.llm.max_tokens)
    llm = settings.llm.model_copy(update={"max_tokens": most})
    answer = asyncio.run(ask_once(llm, settings.store))
    if answer and answer.is_cut:
        _refuse_repetition(llm.model, answer.text)
    return answer is not None


def _judge(
    settings: Settings, recipe: RecipeReference, pairs: Sequence[Pair], limit_s: float | None
) -> None:
    """Judge those of some pairs that the recipe has not finished."""
    database = open_database(settings.store)
    done = annotations.finished_pairs(database, recipe.recipe_id)
    pending = [pair for pair in pairs if pair.key not in done]
    if not pending:
        return
    slots, ledger = asyncio.Semaphore(_AT_ONCE), journal_ledger(settings.store, settings.llm)
    judging = judge_pairs(pending, settings.committee, recipe, ledger, slots)
    judged = asyncio.run(asyncio.wait_for(judging, limit_s))
    store_annotations(database, judged.annotations)
    if judged.is_interrupted:
        raise GoldQuestionError(
            f"{recipe.model} answered no small request, and did not judge one pair in "
            f"{limit_s:.0f} s: its server is busy with others, far too slow, or the model repeats "
            "itself for ever. Ask it by hand; with a free server, run the same command again"
        )
    if judged.error:
        raise judged.error


def _refuse_repetition(model: str, text: str) -> None:
    if repetition(text):
        raise GoldQuestionError(
            f"{model} repeats itself for ever: a reply of it ends with {text[-60:]!r}. Use another "
            "model; of a server of your own, look at its chat template first"
        )


def _figures(
    judged: Sequence[Annotation], pairs: Mapping[PairKey, Pair], known: Known
) -> Iterator[str]:
    counts, whole = count_questions(judged, known), len(judged)
    share = wilson_interval(whole - counts.wrong, whole)
    by_words = [(shared_words(pairs[item.key]), known[item.key].relevance == 1) for item in judged]
    best = max(
        sum((found >= least) == label for found, label in by_words)
        for least in (*(found for found, _ in by_words), 2.0)
    )
    yield (
        f"right labels: {whole - counts.wrong} of {whole}: {share.mean:.1%} (95% interval "
        f"{share.low:.1%} to {share.high:.1%}); by chance 50%, by counting shared words "
        f"{best / whole:.1%}"
    )
    calls = [call for item in judged for call in item.calls]
    unreadable = sum(call.status == "unreadable" for call in calls)
    yield f"unreadable replies: {unreadable} of {len(calls)}"
    accepted = sum(item.support in ("valid_oracle", "overruled") for item in judged)
    ran = sum(bool(item.executions) for item in judged)
    yield f"programs: of {ran} pairs one ran, of {accepted} one was accepted"


def _of_run(judged: Sequence[Annotation], settings: Settings, run_pairs: int | None) -> str:
    """Return the cost of a pair, and of a run: of so many, else of those pending, else of 100."""
    if run_pairs:
        pairs, about = run_pairs, "as given"
    else:
        pairs, about = _PAIRS, "say how many by --pairs"
        with suppress(CosqaError):  # nothing is collected by these settings
            plan = annotation_plan(check(settings, check_source))
            if plan.taken:
                pairs, about = plan.taken, f"pending of {plan.collection}"
            else:
                about = "none pends"
    calls, whole = [call for item in judged for call in item.calls], len(judged)
    runs = sum(run.result.seconds for item in judged for run in item.executions)
    seconds = (sum(call.seconds for call in calls) + runs) / whole
    tokens = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in calls)
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    usd = sum(costs) / whole if len(costs) == len(calls) else None
    return (
        f"a pair: {seconds:.1f} s, {tokens / whole:,.0f} tokens, cost {format_cost(usd)}\n"
        f"{counted(pairs, 'pairs')} ({about}): {format_duration(pairs * seconds)} one after "
        "another, less where the server answers several at once; "
        f"{pairs * tokens / whole:,.0f} tokens, cost "
        f"{format_cost(None if usd is None else pairs * usd)}"
    )
