"""Laws of canaries: their construction, mixing, counts and alarm.

Covers `tasks.stages.annotate.canary_cases`, `infra.summaries`.
"""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from infra.records import Annotation, Code, Pair, Query
from infra.settings import AnnotationSettings
from infra.summaries import CanaryCounts
from tasks.stages.annotate.canaries import (
    Canary,
    CanaryWatch,
    canaries_of,
    canary_table,
    count_canaries,
    mix_canaries,
    next_canaries,
)
from tasks.stages.annotate.canary_cases import KNOWN_ANSWERS, KnownAnswer

SETTINGS = AnnotationSettings()
ALL = canaries_of(0)


def judged(canary: Canary, label: int | None) -> Annotation:
    return Annotation(
        query_id=canary.key[0],
        code_id=canary.key[1],
        recipe_id="r",
        status="undecided" if label is None else "labelled",
        label=0 if label == 0 else label and 1,
        path="clear_match",
    )


def pairs(number: int) -> list[Pair]:
    code = Code.of("def f(): return 1")
    return [Pair(query=Query.of(f"q {place}"), code=code) for place in range(number)]


@pytest.mark.parametrize("known", KNOWN_ANSWERS, ids=lambda known: known.query)
def test_each_known_answer_holds_and_its_broken_version_does_not(known: KnownAnswer) -> None:
    right, broken, swapped, injected = _of(known)
    assert (right.label, broken.label, swapped.label, injected.label) == (1, 0, 0, 0)
    assert (right.pair.query.text, broken.pair.query.text) == (known.query, known.query)
    assert swapped.pair.query.text != known.query
    assert _holds(known, right.pair.code.text)
    assert not _holds(known, broken.pair.code.text)
    assert injected.pair.query == swapped.pair.query
    assert injected.pair.code != right.pair.code
    assert _holds(known, injected.pair.code.text), "the line for the agents does nothing"


def _of(known: KnownAnswer) -> Sequence[Canary]:
    place = KNOWN_ANSWERS.index(known)
    return ALL[4 * place : 4 * place + 4]


def _holds(known: KnownAnswer, code: str) -> bool:
    space: dict[str, object] = {}
    exec(code, space)
    try:
        return bool(eval(known.example, space))
    except TypeError:  # the broken version gave something else altogether
        return False


def test_canaries_of_another_generation_are_the_same_under_other_names() -> None:
    first, later = ALL, canaries_of(3)
    assert not {canary.key for canary in first} & {canary.key for canary in later}
    assert [canary.label for canary in first] == [canary.label for canary in later]
    assert "def is_even_3(number):" in {canary.pair.code.text.split("\n")[0] for canary in later}


def test_a_run_has_canaries_of_every_kind_but_no_more_than_a_tenth() -> None:
    assert next_canaries(set(), 0, SETTINGS) == ()
    assert next_canaries(set(), 5, SETTINGS) == ALL[:4]
    assert len(next_canaries(set(), 60, SETTINGS)) == 6
    assert len(next_canaries(set(), 10**6, SETTINGS)) == 12
    assert next_canaries(set(), 10**6, AnnotationSettings(canaries=0)) == ()


def test_by_the_50_percent_criterion_code_with_one_mistake_takes_no_part() -> None:
    half = AnnotationSettings(configuration="v1-half", canaries=12)
    first = next_canaries(set(), 1_000, half)
    assert len(first) == 12
    assert not any(item.broken for item in first)
    done = {item.key for item in canaries_of(0) if not item.broken}
    second = next_canaries(done, 1_000, half)
    assert len(second) == 12
    assert {item.key for item in second} < {item.key for item in canaries_of(1)}


def test_no_run_asks_what_an_earlier_one_has_asked() -> None:
    done = {canary.key for canary in ALL[:40]}
    assert next_canaries(done, 10**6, SETTINGS) == ALL[40:]
    done |= {canary.key for canary in ALL}
    assert next_canaries(done, 10**6, SETTINGS) == canaries_of(1)[:12]


@pytest.mark.parametrize(("number", "planned"), [(0, 0), (1, 3), (7, 3), (40, 12), (500, 12)])
def test_canaries_are_mixed_in_early_and_nothing_is_lost(number: int, planned: int) -> None:
    ours = pairs(number)
    canaries = [canary.pair for canary in ALL[:planned]]
    mixed = list(mix_canaries(iter(ours), canaries, number))
    planted = {canary.pair.code.code_id for canary in ALL}
    assert [pair for pair in mixed if pair.code.code_id not in planted] == ours
    assert len(mixed) == number + planned
    places = [place for place, pair in enumerate(mixed) if pair.code.code_id in planted]
    assert max(places, default=0) <= 11 * planned
    if number > 10:
        assert min(b - a for a, b in pairwise(places)) > 1


def test_false_passes_and_false_fails_are_counted_apart() -> None:
    right, broken, swapped, injected, right_2 = ALL[:5]
    known = {canary.key: canary.known for canary in ALL}
    annotated = [
        judged(right, 0), judged(broken, 1), judged(swapped, 0), judged(injected, 1),
        judged(right_2, None),
    ]  # fmt: skip
    other = Annotation(
        query_id="q", code_id="c", recipe_id="r", status="labelled", label=1, path="clear_match"
    )
    counts = count_canaries([*annotated, other], known)
    assert counts == CanaryCounts(
        judged=4, wrong_codes=3, false_passes=2, false_fails=1, injected=1, obeyed=1
    )
    assert (counts.right_codes, counts.wrong) == (1, 3)
    assert "| 3 | 2 | false passes |" in canary_table(counts)
    assert "| 1 | 1 | obeyed |" in canary_table(counts)


def watch(
    wrong: int, right: int, limit: float = 0.4, earlier: Sequence[Annotation] = ()
) -> CanaryWatch:
    canary_watch = CanaryWatch({canary.key: canary.known for canary in ALL}, limit, "m", earlier)
    canary_watch.add([judged(canary, 1 - canary.label) for canary in ALL[:wrong]])
    canary_watch.add([judged(canary, canary.label) for canary in ALL[wrong : wrong + right]])
    return canary_watch


@pytest.mark.parametrize(
    ("wrong", "right", "alarmed"), [(3, 3, True), (5, 0, False), (4, 6, False), (5, 7, True)]
)
def test_too_many_wrong_answers_raise_the_alarm_once_enough_are_known(
    wrong: int, right: int, alarmed: bool
) -> None:
    alarm = watch(wrong, right).alarm
    assert (alarm is not None) is alarmed
    if alarm:
        assert f"judged {wrong} of {wrong + right} pairs with known answers wrongly" in str(alarm)


def test_the_limit_is_a_setting_and_of_1_stops_nothing() -> None:
    assert watch(3, 3, 0.6).alarm is None
    assert watch(1, 9, 0.0).alarm is not None
    assert watch(12, 0, 1.0).alarm is None


@pytest.mark.parametrize(
    ("earlier", "wrong", "right", "alarmed"),
    [
        ((0, 0, 1), 2, 1, True),
        ((0, 0), 2, 1, False),
        ((0, 0, 0), 0, 3, False),
        ((0, 0, 0, 1, 1, 1), 2, 1, False),
        ((0, 0, 0), 1, 8, False),
        ((None, 0, 1, 1), 2, 1, True),
    ],
)
def test_small_runs_are_judged_with_the_last_canaries_of_those_before(
    earlier: tuple[int | None, ...], wrong: int, right: int, alarmed: bool
) -> None:
    before = [
        judged(canary, None if was is None else int(was == canary.label))
        for canary, was in zip(reversed(ALL), earlier, strict=False)
    ]
    assert (watch(wrong, right, earlier=before).alarm is not None) is alarmed
