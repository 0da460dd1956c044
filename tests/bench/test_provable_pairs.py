"""Laws of the pairs with proved labels: each kind of code has the label that it is made for.

Covers `tests.bench.provable_pairs`, `tests.fakes.fallible_reader`.
"""

import pytest

from agents.claims.adapter import adapter_fault
from agents.llm.prompt import fence
from infra.languages.python.scaffolding import scaffolded, undefined_names
from infra.languages.python.translation import translated
from sandbox.base import Sandbox
from tests.bench.provable_pairs.ambiguous import AmbiguousQuery, load_ambiguous
from tests.bench.provable_pairs.case import Case, load_cases, name_in, names_bound_by
from tests.bench.provable_pairs.made import ProvedPair, proved_pairs
from tests.fakes.fallible_reader import FallibleReader, Habits
from tests.fakes.llm_server import KEY
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

CASES, REAL = load_cases("made"), load_cases("real")
ANSWERS = {"answer", "wider"}


def test_there_are_hundreds_of_pairs_of_different_queries() -> None:
    assert len(CASES) > 60
    assert len({case.query for case in CASES + REAL}) == len(CASES + REAL)
    assert len({case.answer for case in CASES + REAL}) == len(CASES + REAL)


def test_real_code_lacks_names_or_its_class_and_works_on_files_or_prints() -> None:
    lacking = {case.query: undefined_names(translated(case.answer)) for case in REAL}
    assert sum(map(bool, lacking.values())) >= 60
    assert sum("self" in case.answer for case in REAL) >= 14
    assert sum("file(" in case.calls or "folder(" in case.calls for case in REAL) >= 10
    assert sum(bool(case.effect) for case in REAL) >= 14
    assert sum(case.answer != translated(case.answer) for case in REAL) >= 3
    for case in REAL:
        assert lacking[case.query] <= set(names_bound_by(case.beside)), case.query
        assert name_in(case.narrower) == name_in(case.answer), "one program tests both"


def test_a_case_has_calls_enough_to_grade_mistakes_and_code_that_can_be_read() -> None:
    for case in CASES + REAL:
        assert len(set(case.arguments)) == len(case.arguments) >= (6 if case.program else 8)
        for code in filter(None, (case.answer, case.wider, case.narrower)):
            assert name_in(code), case


async def _check(cases: tuple[Case, ...]) -> int:
    async with real_sandbox(LIMITS) as sandbox:
        pairs = await proved_pairs(sandbox, cases)
        for pair in filter(lambda pair: pair.program, pairs):
            name = name_in(pair.code)
            receiver = "from target import DummySelf\n" * ("DummySelf" in pair.program)
            async with sandbox.box(scaffolded(f"{pair.beside}\n{translated(pair.code)}")) as box:
                result = await box.run(f"from target import {name}\n{receiver}{pair.program}")
            assert (result.outcome == "passed") == pair.label, (pair.query, pair.kind, result)
    for pair in pairs:
        assert pair.label == (pair.kind in ANSWERS), (pair.query, pair.kind)
        assert (pair.wrong == 0) == (pair.label == 1)
    assert {pair.kind for pair in pairs} >= {"answer", "another's", "narrower", "broken 1"}
    return len(pairs)


@pytest.mark.exhaustive
@pytest.mark.docker
async def test_code_that_is_made_to_answer_does_and_other_code_does_not() -> None:
    assert await _check(CASES[:2] + REAL[::40]) > 15


@pytest.mark.docker
@pytest.mark.nightly
@pytest.mark.parametrize(("cases", "fewest"), [(CASES, 300), (REAL, 250)], ids=["made", "real"])
async def test_all_labels_are_proved(cases: tuple[Case, ...], fewest: int) -> None:
    assert await _check(cases) >= fewest


@pytest.mark.exhaustive
@pytest.mark.docker
async def test_the_readings_of_an_ambiguous_query_differ() -> None:
    async with real_sandbox(LIMITS) as sandbox:
        for query in load_ambiguous():
            first, second = await _both(sandbox, query)
            assert first != second, query


async def _both(sandbox: Sandbox, query: AmbiguousQuery) -> list[str]:
    values = []
    async with sandbox.box("") as box:
        for reading in query.readings:
            program = f"import target\nprint(target.{name_in(reading.code)}({query.call}))"
            result = await box.run(program, code=reading.code)
            values.append(result.stdout if result.outcome == "passed" else result.error_type or "")
    return values


def made_up(number: int, label: int) -> ProvedPair:
    kind = "answer" if label else "broken 4"
    return ProvedPair(f"query {number}", "def f(): ...", label, kind, (1 - label) / 10, {"1": "2"})


def said_of(reader: FallibleReader, pair: ProvedPair, role: str, text: str = "") -> str:
    content = f"{fence('query', pair.query)}\n{fence('code', pair.code)}\n{text}"
    messages = [{"content": f"Role: {role}\n"}, {"content": content}]
    step = reader.answer({"messages": messages}, KEY)
    return str(step["reply"].get("verdict") or step["reply"]["program"])


@pytest.mark.parametrize(("label", "rate"), [(0, 0.15), (1, 0.03)])
def test_a_stand_in_errs_as_often_as_it_is_told_to(label: int, rate: float) -> None:
    pairs = [made_up(number, label) for number in range(1_000)]
    with FallibleReader(pairs, Habits()) as reader:
        told = [said_of(reader, pair, "exact_judge") for pair in pairs]
        again = [said_of(reader, pair, "claims_arbiter") for pair in pairs]
    wrong = told.count("does_not_answer" if label else "answers") / len(pairs)
    assert wrong == pytest.approx(rate, abs=0.03)
    assert told == again, "it reads a pair alike in every role"


def test_a_stand_in_follows_runs_and_writes_programs_that_demand_the_values() -> None:
    pairs = [made_up(number, 0) for number in range(200)]
    confirmed = "Two programs that were written independently"
    with FallibleReader(pairs, Habits(near_miss_errors=1.0)) as reader:
        told = [said_of(reader, pair, "arbiter", confirmed) for pair in pairs]
        programs = [said_of(reader, pair, "writer") for pair in pairs]
    assert told.count("does_not_answer") / len(pairs) == pytest.approx(0.95, abs=0.04)
    right = sum("assert plain(f(1)) == 2\n" in program for program in programs)
    assert right / len(pairs) == pytest.approx(0.9, abs=0.05)


def reply_of(reader: FallibleReader, pair: ProvedPair, role: str, text: str = "") -> dict[str, str]:
    content = f"{fence('query', pair.query)}\n{fence('code', pair.code)}\n{text}"
    messages = [{"content": f"Role: {role}\n- adapter: one\n"}, {"content": content}]
    return dict(reader.answer({"messages": messages}, KEY)["reply"])


@pytest.mark.parametrize("knows_beside", [False, True])
def test_a_stand_in_writes_right_programs_and_says_what_the_code_lacks(knows_beside: bool) -> None:
    pair = made_up(1, 1)._replace(
        code="def f(x): return np.abs(x)", beside="import numpy as np", program="assert f(-1) == 1"
    )
    with FallibleReader([pair], Habits(), len) as reader:
        text = f"{fence('query', pair.query)}\n{fence('code', pair.code)}"
        field = '"program", "beside"' if knows_beside else '"program"'
        messages = [{"content": f"Role: writer\n{field}"}, {"content": text}]
        step = reader.answer({"messages": messages}, KEY)
    program = step["reply"]["program"]
    assert program.endswith("from target import f\nassert f(-1) == 1")
    assert ("target.np = np" in program) != knows_beside
    assert step["reply"].get("beside") == (pair.beside if knows_beside else None)
    assert reader.right == {program}
    assert step["usage"]["prompt_tokens"] == sum(len(one["content"]) for one in messages)


def test_a_stand_in_specifies_screens_and_reads_values_with_known_errors() -> None:
    pairs = [made_up(number, 0)._replace(shown_by=("1",)) for number in range(300)]
    asked = fence("arguments", "1")
    with FallibleReader(pairs, Habits(near_miss_errors=0.0, doubt=0.0)) as reader:
        examples = [reply_of(reader, pair, "specifier")["examples"] for pair in pairs]
        calls = [reply_of(reader, pair, "screener")["call"] for pair in pairs]
        values = [reply_of(reader, pair, "value_reader", asked)["value"] for pair in pairs]
    for told, right in ((examples, "1 => 2"), (calls, "1 => 2"), (values, "2")):
        assert told.count(right) / len(pairs) == pytest.approx(0.9, abs=0.06)
    wrong = [value != "2" for value in values]
    assert wrong != [call != "1 => 2" for call in calls], "roles err apart"


def test_a_stand_in_that_misreads_right_code_demands_a_wrong_value() -> None:
    pairs = [made_up(number, 1) for number in range(50)]
    with FallibleReader(pairs, Habits(errors=1.0, doubt=0.0)) as reader:
        for pair in pairs:
            reply = reply_of(reader, pair, "screener")
            assert (reply["verdict"], reply["call"]) == ("clear_non_match", "1 => [2]")
            assert adapter_fault(reply["adapter"], pair.code) == ""


@pytest.mark.parametrize(
    ("calls", "verdict"),
    [
        ("1 => 2 | the code gave 3 | a reader who saw no code demands 2", "does_not_answer"),
        ("1 => 2 | the code gave that", "answers"),
        ("1 => 2 | the code gave 3 | a reader who saw no code demands 3", "answers"),
    ],
)
def test_a_stand_in_follows_calls_that_two_readers_agree_on(calls: str, verdict: str) -> None:
    pair = made_up(1, 1 if verdict == "answers" else 0)
    with FallibleReader([pair], Habits(trust=1.0, errors=0.0, near_miss_errors=0.0)) as reader:
        assert said_of(reader, pair, "claims_arbiter", fence("calls", calls)) == verdict
