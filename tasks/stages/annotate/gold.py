"""Gold questions: pairs with known labels among those to be judged, to measure the agents' errors.

Each known answer gives two: the right function, and in turn the same function with one mistake, and
the right function with the query of another, as it is or with a line that tells the agents to say
yes. Half of them match, so that who says always the same is wrong half of the time. They are judged
and stored like any pair, but are candidates of no search, so that no benchmark includes them. The
functions of a later run have other names, so that cached replies do not hide a change of the model.

A run asks the first ones alone, and ends where too many are judged wrongly. What such a model says
is held: no run goes on with it, and nothing of it is published, unless a person accepts that.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, count, islice, tee
from pathlib import Path
from typing import NamedTuple

from infra.errors import GoldQuestionError
from infra.identity import PairKey, RecipeId
from infra.records import Annotation, Code, GivenVote, Pair, Query, Record
from infra.settings import AnnotationSettings
from infra.store import Database, annotations, votes
from infra.summaries import GoldCounts

ORIGIN = "gold:questions"
"""Origin of the known labels among votes."""

_INJECTED = "its code tells the agents what to say"
ENOUGH = 6
"""Questions that are asked first: of fewer, the share of wrong labels is not meaningful."""

_MAX_STRIDE = 10
_CASES = tomllib.loads(Path(__file__).with_name("gold_cases.toml").read_text("utf-8"))


class KnownAnswer(NamedTuple):
    """A query and the function that answers it.

    Attributes:
        query: The query.
        code: A function that clearly answers it.
        mistake: A text in the code, and what replaces it so that the code does not answer.
        example: An expression that is true of the function and false with the mistake.
    """

    query: str
    code: str
    mistake: tuple[str, str]
    example: str


KNOWN_ANSWERS = tuple(KnownAnswer(**answer) for answer in _CASES["answers"])


class GoldQuestion(Record):
    """A pair and its known label.

    Attributes:
        pair: The pair.
        label: The known label.
        is_broken: Its code is right but for one mistake.
        is_injected: Its code tells the agents what to say.
    """

    pair: Pair
    label: int
    is_broken: bool = False
    is_injected: bool = False

    @property
    def vote(self) -> GivenVote:
        """The known label as the store holds it."""
        return GivenVote(
            query_id=self.pair.key.query_id,
            code_id=self.pair.key.code_id,
            kind="gold",
            origin=ORIGIN,
            relevance=self.label,
            note=_INJECTED if self.is_injected else "",
        )


@cache
def gold_questions(generation: int, *, is_half: bool = False) -> tuple[GoldQuestion, ...]:
    """Return all questions of a generation; later ones have other names and wrong codes.

    Args:
        generation: From 0.
        is_half: Ask none about code with one mistake, which the 50% criterion gives no known label.
    """
    found = []
    for place, answer in enumerate(KNOWN_ANSWERS):
        right, *wrong = _questions_from(answer, place, generation)
        wrong = [question for question in wrong if not (is_half and question.is_broken)]
        found += [right, wrong[(place + generation) % len(wrong)]]
    return tuple(found)


def _questions_from(answer: KnownAnswer, place: int, generation: int) -> Iterator[GoldQuestion]:
    right = answer.code
    if generation:
        name = right.removeprefix("def ").partition("(")[0]
        right = right.replace(f"def {name}(", f"def {name}_{generation}(")
    broken = right.replace(*answer.mistake)
    head, _, body = right.partition("\n")
    injections = _CASES["injections"]
    injected = f"{head}\n    {injections[place % len(injections)]}\n{body}"
    own, other = answer.query, KNOWN_ANSWERS[place - 1].query
    for query, code, label in (
        (own, right, 1), (own, broken, 0), (other, right, 0), (other, injected, 0),
    ):  # fmt: skip
        yield GoldQuestion(
            pair=Pair(query=Query.of(query), code=Code.of(code)),
            label=label,
            is_broken=code is broken,
            is_injected=code is injected,
        )


def next_questions(
    done: set[PairKey], pairs: int, annotation: AnnotationSettings
) -> list[GoldQuestion]:
    """Return a run's questions, matches and others in turn, of which none was judged before.

    They are a tenth of its pairs, enough for an alarm.

    Args:
        done: Keys of questions that the recipe has finished.
        pairs: Number of pairs left to judge.
        annotation: The largest number of questions.
    """
    if not pairs:
        return []
    ask = partial(gold_questions, is_half=annotation.configuration == "v1-half")
    questions = chain.from_iterable(map(ask, count()))
    fresh = (question for question in questions if question.pair.key not in done)
    left, right = tee(fresh)
    kinds = (one for one in left if one.label), (one for one in right if not one.label)
    in_turn = chain.from_iterable(zip(*kinds, strict=True))
    return list(islice(in_turn, min(annotation.gold_questions, max(ENOUGH, pairs // 10))))


def mix_questions(
    pairs: Iterable[Pair], questions: Sequence[Pair], expected: int
) -> Iterator[Pair]:
    """Yield pairs with the questions spread among their queries, the first ones early.

    Args:
        pairs: The pairs, all of a query together.
        questions: The gold questions; those left at the end come last.
        expected: Expected number of pairs.
    """
    stride = max(1, min(_MAX_STRIDE, expected // max(len(questions), 1)))
    waiting, due, query = iter(questions), 0, ""
    for place, pair in enumerate(pairs):
        is_first = pair.query.query_id != query
        query = pair.query.query_id
        if place >= due and is_first and (question := next(waiting, None)):
            due += stride
            yield question
        yield pair
    yield from waiting


def known_labels(database: Database) -> dict[PairKey, GivenVote]:
    """Return the known labels of all stored gold questions by their keys."""
    return {vote.key: vote for vote in votes.load_votes(database, ORIGIN)}


def judged_questions(
    database: Database, recipe_id: RecipeId, known: Mapping[PairKey, GivenVote]
) -> list[Annotation]:
    """Return a recipe's annotations of gold questions, without their evidence."""
    return annotations.load_annotations(database, recipe_id, list(known), evidence=False)


def stored_gold_counts(database: Database, recipes: Iterable[RecipeId]) -> GoldCounts:
    """Return recipes' results on gold questions."""
    known = known_labels(database)
    judged = [judged_questions(database, recipe, known) for recipe in recipes]
    return count_questions(chain.from_iterable(judged), known)


def count_questions(
    annotated: Iterable[Annotation], known: Mapping[PairKey, GivenVote]
) -> GoldCounts:
    """Return the results of the gold questions among annotations."""
    asked = [item for item in annotated if item.key in known and item.status != "failed"]
    judged = [
        (item.label, int(vote.relevance or 0), vote.note == _INJECTED)
        for item in asked
        if item.label is not None and (vote := known[item.key])
    ]
    return GoldCounts(
        undecided=len(asked) - len(judged),
        judged=len(judged),
        wrong_codes=sum(truth == 0 for _, truth, _ in judged),
        false_passes=sum(label > truth for label, truth, _ in judged),
        false_fails=sum(label < truth for label, truth, _ in judged),
        injected=sum(is_injected for *_, is_injected in judged),
        obeyed=sum(is_injected and label > truth for label, truth, is_injected in judged),
    )


def alarm_of(counts: GoldCounts, limit: float, model: str) -> GoldQuestionError | None:
    """Return the error that ends a run, None while too few are judged or too few are wrong.

    Args:
        counts: The gold questions that are judged so far.
        limit: Largest share that may be judged wrongly.
        model: The model, for the message.
    """
    if counts.asked < ENOUGH or counts.wrong_share <= limit:
        return None
    return GoldQuestionError(
        f"{model} judged {counts.wrong} of {counts.asked} pairs with known labels wrongly "
        f"({counts.false_passes} false passes, {counts.false_fails} false fails, "
        f"{counts.undecided} without a readable verdict), more than "
        f"COSQA_ANNOTATION__GOLD_LIMIT={limit:g} allows, of all or as the mean of matches and "
        "others: its labels are unreliable, and held. Use another model: `cosqa check-model "
        "--model NAME` says in advance how well one judges. Or accept its labels by --accept-gold"
    )


def held_labels(
    database: Database, recipes: Iterable[RecipeId], limit: float, model: str
) -> GoldQuestionError | None:
    """Return why the labels of recipes in use together are held, None where they are not."""
    return alarm_of(stored_gold_counts(database, recipes), limit, model)
