"""The check of a model before anything is spent on it: how well it judges pairs with known labels.

Twenty gold questions, half of them matches, are judged in this process by the agents as they are
configured. Labels and replies are kept like all others: what was judged is not asked again, and no
run asks these questions once more. A model is refused where the lower end of the 95% interval of
its share of right labels (Wilson) is not above one half, which is what chance gives; once it cannot
get there any more, the rest is not asked. One that repeats itself for ever is told by its first
reply.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from agents import build_model, journal_ledger, recipe_of
from infra.errors import CosqaError, GoldQuestionError
from infra.ids import PairKey
from infra.records import Annotation, GivenVote, Pair, Record
from infra.settings import CommitteeSettings, Settings, StoreSettings
from infra.store import annotations, open_database, recipes
from infra.summaries import GoldCounts
from infra.words import words
from tasks.runtime.references import RecipeReference
from tasks.stages.annotate.gold import count_questions, gold_questions
from tasks.stages.annotate.shard import judge_pairs
from tasks.stages.annotate.writer import store_annotations
from tasks.stages.preflight import annotation_plan
from tasks.statistics.intervals import Interval, wilson_interval

QUESTIONS = 20
CHANCE = 0.5
_AT_ONCE = 4
_SLOW_S = 20.0  # of the first pair; after it they are judged one by one
_FIRST_S = 90.0  # that the first pair may take where no small request was answered before
_PROBE_TOKENS = 128
_PAIRS = 100  # of a run about which nothing is known
_REPETITION = re.compile(r"(?s)(.{1,80}?)\1{7,}.{0,80}\Z")
_LONGEST_TAIL, _REPEATED = 1_200, 200  # characters at a reply's end; those that repeat one text
_ACCEPTED = ("valid_oracle", "overruled")


class Judge(NamedTuple):
    """Who is checked: the agents, their recipe, and the store that keeps what they say."""

    committee: CommitteeSettings
    recipe: RecipeReference
    store: StoreSettings


class ModelCheck(Record):
    """How a model has judged pairs with known labels; seconds, tokens and dollars are of a pair.

    Attributes:
        counts: Its labels.
        by_words: Right labels by counting the words that query and code share, at the threshold
            that is best for these very pairs.
        replies: Number of its replies.
        unreadable: Those that could not be read.
        ran: Pairs of which a program ran.
        accepted: Pairs of which one passed the gates.
        seconds: Mean time in model and sandbox.
        tokens: Mean number, sent and received.
        usd: Mean cost; None where it is unknown.
    """

    counts: GoldCounts
    by_words: int
    replies: int
    unreadable: int
    ran: int
    accepted: int
    seconds: float
    tokens: float
    usd: float | None

    @property
    def right(self) -> int:
        """Number of right labels."""
        return self.counts.asked - self.counts.wrong

    @property
    def interval(self) -> Interval:
        """The share of right labels."""
        return wilson_interval(self.right, self.counts.asked)


def check_judge(judge: Judge, tell: Callable[[str], object]) -> ModelCheck:
    """Return how a model judges the questions, of which ``tell`` gets the progress.

    Raises:
        GoldQuestionError: It repeats itself for ever, or does not answer.
    """
    committee, recipe, store = judge
    is_half = committee.annotation.configuration == "v1-half"
    questions = gold_questions(0, is_half=is_half)[:QUESTIONS]
    known = {question.pair.key: question.vote for question in questions}
    database = open_database(store)
    recipes.record_recipes(database, {recipe.recipe_id: recipe_of(committee, recipe.sandbox)})
    pairs = [question.pair for question in questions]
    annotations.record_pairs(database, pairs, list(known.values()))
    limit_s = None if asyncio.run(_is_quick(judge)) else _FIRST_S
    asked, at_once, started = 0, 1, time.monotonic()
    judged: list[Annotation] = []
    while asked < len(pairs) and _may_pass(count_questions(judged, known)):
        asked += at_once
        _judge(judge, pairs[asked - at_once : asked], limit_s)
        judged = annotations.load_annotations(database, recipe.recipe_id, list(known))
        for call in judged[0].calls:
            if call.status == "unreadable":
                _refuse_repetition(recipe.model, call.reply)
        taken_s = time.monotonic() - started
        counts = count_questions(judged, known)
        right = counts.asked - counts.wrong
        tell(f"{counts.asked} of {len(pairs)} pairs judged, {right} right, {taken_s:.0f} s")
        if asked == 1:
            limit_s, at_once = None, (1 if taken_s > _SLOW_S else _AT_ONCE)
    return _figures(judged, pairs, known)


def refuse_by_chance(model: str, check: ModelCheck) -> None:
    """Refuse a model that is not better than chance.

    Raises:
        GoldQuestionError: It is not; the message has its figures.
    """
    counts, share = check.counts, check.interval
    if share.low > CHANCE:
        return
    raise GoldQuestionError(
        f"{model} is not better than chance: of {counts.asked} pairs with known labels, half of "
        f"them matches, it labelled {check.right} rightly ({counts.false_passes} false passes, "
        f"{counts.false_fails} false fails, {counts.undecided} without a readable verdict). The "
        f"95% interval of that share, {share.low:.1%} to {share.high:.1%}, must lie above 50%. Use "
        "another model: labels of this one say nothing"
    )


def pairs_to_judge(settings: Settings) -> tuple[int, str]:
    """Return how many pairs a run would judge, and of what; 100 where no plan is known."""
    if settings.store.database.exists():
        try:
            plan = annotation_plan(settings)
        except CosqaError:
            pass
        else:
            if plan.taken:
                return plan.taken, f"the pending ones of {plan.collection}"
    return _PAIRS, "say how many by --pairs"


async def _is_quick(judge: Judge) -> bool:
    """Return whether a small request is answered at once; few tokens show an endless reply."""
    update = {"max_tokens": min(_PROBE_TOKENS, judge.committee.llm.max_tokens), "max_retries": 0}
    llm = judge.committee.llm.model_copy(update=update)
    model = build_model(llm, journal_ledger(judge.store, llm))
    try:
        answer = await model.check_answer()
    finally:
        await model.close()
    if answer is not None and answer.is_cut:
        _refuse_repetition(llm.model, answer.text)
    return answer is not None


def _judge(judge: Judge, pairs: Sequence[Pair], limit_s: float | None) -> None:
    """Judge those of some pairs that the recipe has not finished."""
    committee, recipe, store = judge
    database = open_database(store)
    done = annotations.finished_pairs(database, recipe.recipe_id)
    pending = [pair for pair in pairs if pair.key not in done]
    if not pending:
        return
    slots, ledger = asyncio.Semaphore(_AT_ONCE), journal_ledger(store, committee.llm)
    judging = judge_pairs(pending, committee, recipe, ledger, slots)
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
    found = _REPETITION.search(text[-_LONGEST_TAIL:])
    if found and len(found[0]) > _REPEATED:
        raise GoldQuestionError(
            f"{model} repeats itself for ever: a reply of it ends with {text[-60:]!r}. Use another "
            "model; of a server of your own, look at its chat template first"
        )


def _may_pass(counts: GoldCounts) -> bool:
    """Return whether all questions together can still show that a model beats chance."""
    return wilson_interval(QUESTIONS - counts.wrong, QUESTIONS).low > CHANCE


def _figures(
    judged: Sequence[Annotation], pairs: Sequence[Pair], known: Mapping[PairKey, GivenVote]
) -> ModelCheck:
    by_key = {pair.key: pair for pair in pairs}
    finished = [item for item in judged if item.status != "failed"]
    if not finished:
        raise GoldQuestionError(f"no pair could be judged: {judged[-1].reason}")
    calls = [call for item in finished for call in item.calls]
    costs = [call.cost_usd for call in calls]
    runs = [run.result.seconds for item in finished for run in item.executions]
    labels = [int(known[item.key].relevance or 0) for item in finished]
    shared = [shared_words(by_key[item.key]) for item in finished]
    return ModelCheck(
        counts=count_questions(finished, known),
        by_words=max(
            sum(
                (share >= least) == bool(label) for share, label in zip(shared, labels, strict=True)
            )
            for least in {*shared, 2.0}
        ),
        replies=len(calls),
        unreadable=sum(call.status == "unreadable" for call in calls),
        ran=sum(bool(item.executions) for item in finished),
        accepted=sum(item.support in _ACCEPTED for item in finished),
        seconds=(sum(call.seconds for call in calls) + sum(runs)) / len(finished),
        tokens=sum((x.prompt_tokens or 0) + (x.completion_tokens or 0) for x in calls)
        / len(finished),
        usd=None if None in costs else sum(filter(None, costs)) / len(finished),
    )


def shared_words(pair: Pair) -> float:
    """Return the share of a query's words that its code has."""
    asked = set(words(pair.query.text))
    return len(asked & set(words(pair.code.text))) / len(asked)
