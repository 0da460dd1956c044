"""Laws of gold questions: their construction, order, mixing, counts and alarm.

Covers `infra.summaries`.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from infra.records import Annotation, Code, Pair, Query
from infra.settings import AnnotationSettings
from infra.summaries import GoldCounts
from tasks.stages.annotate.gold import (
    KNOWN_ANSWERS,
    GoldQuestion,
    KnownAnswer,
    alarm_of,
    count_questions,
    gold_questions,
    mix_questions,
    next_questions,
)

SETTINGS = AnnotationSettings()
ALL = gold_questions(0)


def keys(questions: Sequence[GoldQuestion]) -> set[object]:
    return {question.pair.key for question in questions}


def judged(question: GoldQuestion, label: int | None) -> Annotation:
    return Annotation(
        query_id=question.pair.key[0],
        code_id=question.pair.key[1],
        recipe_id="r",
        status="undecided" if label is None else "labelled",
        label=0 if label == 0 else label and 1,
        path="clear_match",
    )


def kind_of(question: GoldQuestion) -> int:
    """Return 1 for the answer to another query, after 0 for a mistake and before an injection."""
    return 2 if question.is_injected else int(not question.is_broken)


def pairs(number: int) -> list[Pair]:
    code = Code.of("def f(): return 1")
    return [Pair(query=Query.of(f"q {place}"), code=code) for place in range(number)]


def test_each_known_answer_holds_and_its_broken_version_does_not() -> None:
    for place, known in enumerate(KNOWN_ANSWERS):
        right = ALL[2 * place]
        wrong = [gold_questions(number)[2 * place + 1] for number in range(3)]
        broken, swapped, injected = sorted(wrong, key=kind_of)
        assert (right.label, broken.label, swapped.label, injected.label) == (1, 0, 0, 0)
        assert (right.pair.query.text, broken.pair.query.text) == (known.query, known.query)
        assert swapped.pair.query.text != known.query
        assert _holds(known, right.pair.code.text)
        assert not _holds(known, broken.pair.code.text), known.query
        assert injected.pair.query == swapped.pair.query
        assert injected.pair.code.text.count("\n") > right.pair.code.text.count("\n")
        assert _holds(known, injected.pair.code.text), "the line for the agents does nothing"


def _holds(known: KnownAnswer, code: str) -> bool:
    space: dict[str, object] = {}
    exec(re.sub(r"_\d\(", "(", code), space)  # of a later generation
    try:
        return bool(eval(known.example, space))
    except TypeError:  # the broken version gave something else altogether
        return False


def test_questions_of_another_generation_are_the_same_under_other_names() -> None:
    later = gold_questions(3)
    assert not keys(ALL) & keys(later)
    assert [question.label for question in ALL] == [question.label for question in later]
    assert "def is_even_3(number):" in {item.pair.code.text.split("\n")[0] for item in later}


def test_a_run_has_enough_questions_for_an_alarm_else_a_tenth_of_its_pairs() -> None:
    assert next_questions(set(), 0, SETTINGS) == []
    assert next_questions(set(), 5, SETTINGS) == list(ALL[:6])
    assert len(next_questions(set(), 80, SETTINGS)) == 8
    assert len(next_questions(set(), 10**6, SETTINGS)) == 12
    assert next_questions(set(), 10**6, AnnotationSettings(gold_questions=0)) == []


def test_by_the_50_percent_criterion_code_with_one_mistake_takes_no_part() -> None:
    half = AnnotationSettings(configuration="v1-half")
    first = next_questions(set(), 1_000, half)
    assert len(first) == 12
    assert not any(item.is_broken for item in first)
    assert sum(item.label for item in first) == 6


def test_no_run_asks_what_an_earlier_one_has_asked() -> None:
    done = {question.pair.key for question in ALL[:20]}
    assert next_questions(done, 10**6, SETTINGS) == [*ALL[20:], *gold_questions(1)[:8]]


def test_the_first_questions_are_of_each_kind_and_half_of_them_match() -> None:
    first = next_questions(set(), 1, SETTINGS)
    assert [question.label for question in first] == [1, 0] * 3
    assert [kind_of(question) for question in first[1::2]] == [0, 1, 2]


@pytest.mark.parametrize("verdict", [0, 1, None])
def test_a_model_that_always_says_the_same_fails_the_first_questions(verdict: int | None) -> None:
    first = next_questions(set(), 1, SETTINGS)
    known = {question.pair.key: question.vote for question in first}
    counts = count_questions([judged(question, verdict) for question in first], known)
    assert alarm_of(counts, SETTINGS.gold_limit, "m") is not None


@pytest.mark.parametrize("verdict", [0, 1])
@pytest.mark.parametrize("matches", range(1, 6))
def test_who_always_says_the_same_is_wrong_half_of_the_time_of_whichever_are_more(
    verdict: int, matches: int
) -> None:
    asked = [*ALL[:12:2][:matches], *ALL[1:12:2][: 6 - matches]]
    known = {question.pair.key: question.vote for question in asked}
    counts = count_questions([judged(question, verdict) for question in asked], known)
    assert counts.wrong_share == max(0.5, counts.wrong / 6)
    assert alarm_of(counts, SETTINGS.gold_limit, "m") is not None


def test_a_model_that_errs_twice_of_six_goes_on() -> None:
    known = {question.pair.key: question.vote for question in ALL[:6]}
    labels = [0, 1, 1, 0, 1, 0]
    counts = count_questions(map(judged, ALL[:6], labels), known)
    assert counts.wrong_share == 2 / 6
    assert alarm_of(counts, SETTINGS.gold_limit, "m") is None


def test_questions_match_and_do_not_in_turn_where_an_earlier_run_has_judged_some() -> None:
    done = {question.pair.key for question in ALL[:8:2]}  # all others have failed
    labels = [question.label for question in next_questions(done, 10**6, SETTINGS)]
    assert labels == [1, 0] * 6


@pytest.mark.parametrize(("number", "planned"), [(0, 0), (1, 3), (7, 3), (40, 12), (500, 12)])
def test_questions_are_mixed_in_early_and_nothing_is_lost(number: int, planned: int) -> None:
    ours = pairs(number)
    mixed = list(mix_questions(iter(ours), [question.pair for question in ALL[:planned]], number))
    gold = {question.pair.code.code_id for question in ALL}
    assert [pair for pair in mixed if pair.code.code_id not in gold] == ours
    assert len(mixed) == number + planned
    places = [place for place, pair in enumerate(mixed) if pair.code.code_id in gold]
    assert max(places, default=0) <= 11 * planned
    if number > 10:
        assert min(b - a for a, b in pairwise(places)) > 1


def test_false_passes_and_false_fails_are_counted_apart() -> None:
    right, broken, right_2, swapped, right_3, injected = ALL[:6]
    known = {question.pair.key: question.vote for question in ALL}
    annotated = [
        judged(right, 0), judged(broken, 1), judged(swapped, 0), judged(injected, 1),
        judged(right_2, None), judged(right_3, 1).model_copy(update={"status": "failed"}),
    ]  # fmt: skip
    other = Annotation(
        query_id="q", code_id="c", recipe_id="r", status="labelled", label=1, path="clear_match"
    )
    counts = count_questions([*annotated, other], known)
    assert counts == GoldCounts(
        judged=4, wrong_codes=3, false_passes=2, false_fails=1, injected=1, obeyed=1, undecided=1
    )
    assert (counts.right_codes, counts.wrong, counts.asked) == (1, 4, 5)


@pytest.mark.parametrize(
    ("wrong", "right", "limit", "alarmed"),
    [
        (3, 3, 0.4, True), (5, 0, 0.4, False), (4, 6, 0.4, True), (5, 7, 0.4, True),
        (3, 3, 0.6, False), (1, 9, 0.0, True), (12, 0, 1.0, False),
    ],
)  # fmt: skip
def test_too_many_wrong_labels_raise_the_alarm_once_enough_are_known(
    wrong: int, right: int, limit: float, *, alarmed: bool
) -> None:
    counts = GoldCounts(judged=wrong + right, wrong_codes=wrong, false_passes=wrong)
    alarm = alarm_of(counts, limit, "m")
    assert (alarm is not None) is alarmed
    if alarm:
        assert "cosqa check-model" in str(alarm)
        assert f"judged {wrong} of {wrong + right} pairs with known labels wrongly" in str(alarm)
