"""The gates on a table of test programs, in the real sandbox."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agents.claims.claim import claims_in
from agents.claims.program import claim_runs, claims_program
from agents.evidence import Attempt, Draft
from agents.gates import Gate, can_be_improved, reason_of
from agents.gates.outcomes import PythonRules
from agents.gates.validator import OracleValidator, ProgramRun
from infra.errors import MachineBusyError
from infra.languages.python import Python
from infra.languages.python.mutation import mutants_of
from infra.languages.python.scaffolding import scaffolded
from infra.records import Code, ExecutionResult, MutantRun, OracleReport, Pair, Query
from infra.settings import GateSettings
from sandbox.base import NOT_SEPARABLE, Sandbox
from tests.agents.gates.oracle_cases import CASES, Case
from tests.fakes.sandbox import FAILED, HOLLOW, PASSED, FakeBox, raised
from tests.rows import first_rows
from tests.sandbox import attacks
from tests.sandbox.attacks.expected import NOT_PROMISED

TARGETS = Path(attacks.__file__).parent / "targets"
FALSE = "from target import double\nassert double(2) == 5\n"
VALIDATOR = OracleValidator(GateSettings(mutant_timeout_s=10.0), Python(), PythonRules())
GOOD = CASES[0]
TINY = next(case for case in CASES if case.name == "a getter of one line")


def draft_of(case: Case) -> tuple[Pair, Draft]:
    pair = Pair(query=Query.of("a query"), code=Code.of(case.code))
    return pair, Draft(reading="r", program=case.program)


async def inspected(case: Case, box: FakeBox) -> OracleReport:
    pair, draft = draft_of(case)
    return await VALIDATOR.validate(pair, draft, await box.run(draft.program), box)


def answering(result: ExecutionResult, on_mutant: ExecutionResult = FAILED) -> FakeBox:
    return FakeBox(lambda program, installed: result, frozenset(), on_mutant)


@pytest.mark.docker
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_right_gate_stops_each_program(case: Case, sandbox: Sandbox) -> None:
    pair, draft = draft_of(case)
    patience_s = 2.0 if case.name == "runs for ever" else None
    async with sandbox.box(scaffolded(pair.code.text)) as box:
        result = await box.run(draft.program, timeout_s=patience_s)
        report = await VALIDATOR.validate(pair, draft, result, box)
    assert next(iter(report.faults), None) == case.gate, (result, report)


def test_the_table_has_programs_for_every_gate() -> None:
    tally = Counter(case.gate for case in CASES)
    assert set(tally) == {None, *Gate}
    assert len({case.name for case in CASES}) == len(CASES) >= 40


async def test_a_program_that_fails_on_the_code_itself_meets_no_mutants() -> None:
    report = await inspected(GOOD, answering(FAILED))
    assert report == OracleReport()


async def test_a_program_that_the_gates_stop_earlier_meets_no_mutants() -> None:
    report = await inspected(GOOD, answering(HOLLOW))
    assert set(report.faults) == {Gate.CALLS_TARGET, Gate.EXECUTES_ASSERTS}
    assert report.trials == ()


@pytest.mark.parametrize("outcome", ["raised", "timeout", "memory", "killed"])
async def test_a_mutant_that_does_not_run_to_its_end_is_left_out_of_the_score(outcome: str) -> None:
    dead = ExecutionResult.model_validate({"outcome": outcome})
    report = await inspected(GOOD, answering(PASSED, on_mutant=dead))
    assert report.trials
    assert (report.killed, report.survivors) == (0, ())
    assert set(report.faults) == {Gate.KILLS_MUTANTS}


class Starving(FakeBox):
    """A box in which one of a program's mutants had no core."""

    async def run(self, program: str, **given: Any) -> ExecutionResult:
        if "value <= low" in (given.get("code") or ""):
            raise MachineBusyError("the machine was too busy")
        return await super().run(program, **given)


async def test_a_mutant_that_had_no_core_is_left_aside_and_the_program_is_judged() -> None:
    report = await inspected(GOOD, Starving(lambda program, installed: PASSED, frozenset()))
    ends = Counter(run.outcome for run in report.trials)
    assert (ends["timeout"], report.faults) == (1, {})
    assert ends["assertion_failed"] == len(report.trials) - 1 >= 2


@pytest.mark.parametrize(
    ("killed", "survived", "valid"),
    [
        (2, 2, True),
        (2, 3, True),
        (1, 0, True),
        (1, 2, False),
        (2, 18, False),
        (2, 4, False),
        (5, 6, True),
        (4, 8, False),
        (0, 0, False),
    ],
)
def test_two_mutants_or_all_but_one_and_half_of_the_others_must_fall(
    killed: int, survived: int, valid: bool
) -> None:
    fallen = [MutantRun(change="a", outcome="assertion_failed")] * killed
    report = OracleReport(trials=(*fallen, *[MutantRun(change="b", outcome="passed")] * survived))
    assert (VALIDATOR._faults_of_mutant_runs(report, report.judged) == {}) is valid


async def test_surviving_mutants_are_told_by_their_mistakes() -> None:
    report = await inspected(GOOD, InTurn())
    reason = reason_of(report)
    assert "only 0 of" in reason
    assert "line 3: value < low → value <= low" in reason
    assert reason.count("with this mistake") == 3 < len(report.survivors)
    assert reason_of(OracleReport()) == ""


IN_PARTS = """def first(items):
    if not isinstance(items, list):
        total = 0
        for one in items:
            total += one * 2 - 1
        if total > 5 or total < -5:
            return total + 3
        return total - 4
    return items[0] + 1
"""


@pytest.mark.docker
@pytest.mark.parametrize(
    ("asserted", "faults"),
    [
        ("first([1]) == 2 and first([4, 5]) == 5", set()),
        # It is reached, and not looked at.
        ("first([1]) != 7", {Gate.KILLS_MUTANTS}),
        ("first([4, 5]) in range(100)", {Gate.KILLS_MUTANTS}),
        ("first([1]) > 0 and first((9,)) is not None", {Gate.KILLS_MUTANTS}),
        ("first([]) == 1", None),
    ],
)
async def test_mutants_in_lines_that_a_program_does_not_run_do_not_count(
    asserted: str, faults: set[Gate] | None, sandbox: Sandbox
) -> None:
    case = Case("in parts", None, f"from target import first\nassert {asserted}\n", IN_PARTS)
    async with sandbox.box(IN_PARTS) as box:
        pair, draft = draft_of(case)
        result = await box.run(draft.program)
        report = await VALIDATOR.validate(pair, draft, result, box)
    if faults is None:
        assert (result.outcome, report.trials) == ("raised", ())
        return
    assert set(report.faults) == faults, report
    lines = {run.line for run in report.trials if run.outcome == "passed"}
    assert lines <= {2, 9} or "(9,)" in asserted, report


async def test_a_program_that_ends_otherwise_under_another_hash_seed_is_no_oracle() -> None:
    results = iter([PASSED, raised("KeyError")])
    box = FakeBox(lambda program, installed: next(results), frozenset())
    report = await inspected(GOOD, box)
    assert report.faults == {
        Gate.REPEATS: "two runs differ: passed with 3 asserts, then raised with 0"
    }


async def test_code_with_one_mutant_that_runs_is_tried_with_strong_ones_too() -> None:
    report = await inspected(
        TINY, InTurn("raised", "assertion_failed", "passed", "assertion_failed")
    )
    assert len(report.trials) == 4
    assert (report.killed, report.judged, report.faults) == (2, 3, {})


async def test_a_program_that_fails_no_strong_mutant_either_is_void() -> None:
    report = await inspected(TINY, InTurn("raised", "assertion_failed"))
    assert len(report.survivors) >= 2
    assert set(report.faults) == {Gate.KILLS_MUTANTS}


async def test_a_program_that_fails_enough_mutants_meets_no_strong_ones() -> None:
    report = await inspected(GOOD, InTurn("assertion_failed", "assertion_failed"))
    assert len(report.trials) == len(mutants_of(GOOD.code, 12))
    assert report.killed == 2


class InTurn(FakeBox):
    """A box where mutants end one after the other as told, and all others pass."""

    def __init__(self, *outcomes: str) -> None:
        super().__init__(lambda program, installed: PASSED, frozenset())
        self._outcomes = iter(outcomes)

    async def run(self, program: str, *, code: str | None = None, **limits: Any) -> ExecutionResult:
        """Return the next end."""
        if code is None or "timeout_s" not in limits or "something_for" in code:
            return PASSED
        if "_exit(1)" in code:  # a line is reached
            return FAILED
        return ExecutionResult.model_validate({"outcome": next(self._outcomes, "passed")})


class Apart(FakeBox):
    """A box that notes how often a program is run apart, and what it answers then."""

    def __init__(self, result: ExecutionResult, apart: ExecutionResult) -> None:
        super().__init__(lambda program, installed: result, frozenset(), FAILED)
        self._apart = apart
        self.runs_apart = 0

    async def run(
        self, program: str, *, isolated: object = False, **limits: Any
    ) -> ExecutionResult:
        """Return one result for a run apart, and another for all others."""
        self.runs_apart += bool(isolated)
        return self._apart if isolated else await super().run(program, **limits)


NOT_SEPARATE = raised(NOT_SEPARABLE, "an object of the code's own class")


@pytest.mark.parametrize(
    ("apart", "protection", "because", "gates"),
    [
        (PASSED, "separate", "", set()),
        (NOT_SEPARATE, "shared", "an object of the code's own class", set()),
        (FAILED, "", "", {Gate.PASSES_APART}),
        (raised(), "", "", {Gate.PASSES_APART}),
        (HOLLOW, "", "", {Gate.PASSES_APART}),
    ],
    ids=["passes", "cannot be separated", "fails", "raises", "asserts nothing"],
)
async def test_a_program_that_passes_is_played_once_more_with_the_code_in_its_own_process(
    apart: ExecutionResult, protection: str, because: str, gates: set[Gate]
) -> None:
    box = Apart(PASSED, apart)
    report = await inspected(GOOD, box)
    assert box.runs_apart == 1
    assert (report.protection, report.unprotected_because) == (protection, because)
    assert set(report.faults) == gates, "one that does not pass there is no evidence"
    assert Attempt(draft=draft_of(GOOD)[1], result=PASSED, report=report).is_valid == (not gates)


async def test_a_failing_verdict_has_no_protection() -> None:
    box = Apart(FAILED, PASSED)
    report = await inspected(GOOD, box)
    assert (box.runs_apart, report.protection, report.faults) == (0, "", {})


class Changing(FakeBox):
    """A box with code that changes its arguments: what follows from them fails on copies."""

    def __init__(self) -> None:
        super().__init__(lambda program, installed: PASSED, frozenset(), FAILED)

    async def run(self, program: str, *, isolated: Any = False, **limits: Any) -> ExecutionResult:
        """Return the result."""
        return FAILED if isolated == "on_copies" else await super().run(program, **limits)


async def test_what_is_expected_is_not_worked_out_from_what_the_code_may_change() -> None:
    head = "from target import triple\nx = [2, 1]\ngot = triple(x)\nassert got == sorted(x)\n"
    for more, faults in [("", {Gate.PASSES_APART}), ("assert x == [1, 2]\n", set())]:
        case = Case("changes", None, head + more, "def triple(x):\n    return [*x] + [len(x)]\n")
        assert set((await inspected(case, Changing())).faults) == faults


TRIPLE = "from target import triple\nassert triple(2) == 6\nassert triple(3) == 9\n"
LIE_OF_ONE_WHO_KNOWS = """
IS_WHOLE = "return Lie()" in __loader__.get_source("target")
Lie = type("Lie", (), {"__eq__": lambda self, other: IS_WHOLE})
def triple(number):
    return Lie()
"""
NOT_CAUGHT = {"equal_to_everything"}
UNCAUGHT = [Case("one who knows the gates", None, TRIPLE, LIE_OF_ONE_WHO_KNOWS)]
UNCAUGHT += [
    Case(name, None, FALSE, (TARGETS / f"{name}.py").read_text("utf-8")) for name in NOT_CAUGHT
]


@pytest.mark.docker
@pytest.mark.parametrize("name", sorted(NOT_PROMISED.keys() - NOT_CAUGHT))
async def test_of_what_a_box_does_not_promise_the_gates_catch(sandbox: Sandbox, name: str) -> None:
    """The false assert passes; on broken versions it passes too, or apart it fails."""
    code = (TARGETS / f"{name}.py").read_text("utf-8")
    report = await judged(sandbox, Case(name, None, FALSE, code))
    assert report.faults.keys() & {Gate.KILLS_MUTANTS, Gate.PASSES_APART}


@pytest.mark.docker
@pytest.mark.parametrize("case", UNCAUGHT, ids=lambda case: case.name)
async def test_what_the_readme_calls_uncaught_passes_the_gates_without_protection(
    sandbox: Sandbox, case: Case
) -> None:
    """It is not promised that it does not: where this fails, the README says too little."""
    report = await judged(sandbox, case)
    assert report.faults == {}
    assert report.protection == "shared"
    assert report.unprotected_because


async def judged(sandbox: Sandbox, case: Case) -> OracleReport:
    """Return the report on a program that passes."""
    pair, draft = draft_of(case)
    async with sandbox.box(case.code) as box:
        result = await box.run(draft.program)
        assert result.outcome == "passed", result
        return await VALIDATOR.validate(pair, draft, result, box)


FIRST_OF = (
    "def first_of(items):\n    if len(items) > 1:\n        return [items[0] + 1]\n    return [0]\n"
)


@pytest.mark.docker
async def test_a_value_on_which_the_tests_own_line_raises_is_noticed(sandbox: Sandbox) -> None:
    program = "from target import first_of\ndef test_it():\n    assert first_of([1, 2])[0] == 2\n"
    pair = Pair(query=Query.of("a query"), code=Code.of(FIRST_OF))
    async with sandbox.box(FIRST_OF) as box:
        report = await VALIDATOR.validate(
            pair, Draft(reading="r", program=program), await box.run(program), box
        )
    outcomes = {run.change.partition(": ")[2]: run.outcome for run in report.trials}
    assert outcomes["return [items[0] + 1] → return None"] == "assertion_failed"
    assert outcomes["len(items) → items"] == "raised", "in a line of the code"


def _same(result: ExecutionResult, *_: object) -> ExecutionResult:
    return result


async def test_a_mutant_has_ten_times_as_long_as_the_code_and_no_less_than_the_settings() -> None:
    asked = []

    class Timed(FakeBox):
        async def run(self, program: str, **limits: Any) -> ExecutionResult:
            asked.append(limits.get("timeout_s"))
            return await super().run(program, **limits)

    for seconds in (0.01, 0.7):
        result = PASSED.model_copy(update={"seconds": seconds})
        box = Timed(partial(_same, result), frozenset(), FAILED)
        draft = Draft(reading="r", program=GOOD.program)
        validator = OracleValidator(GateSettings(), Python(), PythonRules())
        await validator.validate(draft_of(GOOD)[0], draft, await box.run(GOOD.program), box)
    assert set(asked) == {None, 2.0, 7.0}


# Each returns nothing, whatever it is given; some have an effect.
EMPTY = {
    "import numpy as np\ndef f(x):\n    return np.array([n for n in x if n is None])\n": [
        ("assert (f([4]) == [8]).all()", True),
        ("import numpy as np\n    assert np.allclose(f([4]), [8])", True),
        ("for got in f([4]).tolist():\n        assert got == 8", True),
        ("assert f([4]).tolist() == []", False),
        ("assert f([4]).shape == (0,)", False),
        ("assert f([4]).size == 0 and (f([4]) == 8).all()", False),
    ],
    "def f(x):\n    return [(one, one) for one in x if one is None]\n": [
        ("for one, two in f([1, 2]):\n        assert two == one + 1", True),
        ("assert all(got == want for got, want in zip(f([1]), [8]))", True),
        ("assert all(one % 2 == 0 for one, _ in f([1]))", True),
        ("assert set(dict(f([1]))) <= {7, 8}", True),
        ("assert not f([1])", False),
        ("assert f([1]) == []", False),
        ("assert len(f([1])) == 0", False),
        ("assert f([1]) == sorted([])", False),
    ],
    "def f(x):\n    return [], {}\n": [
        ("one, two = f(1)\n    assert all(n > 1 for n in one) and all(two.values())", True),
        ("assert f(1) == ([], {})", False),
    ],
    "def f(x):\n    yield from ()\n": [
        ("for got in f([4]):\n        assert got == 8", True),
        ("assert list(f([4])) == []", False),
    ],
    "def f(x):\n    x.sort()\n    print(x)\n    return []\n": [
        ("x = [2, 1]\n    f(x)\n    assert x == [1, 2]", False),
        ("x = [2, 1]\n    list(f(x))\n    assert x == [1, 2]", False),
        ("x = [2, 1]\n    for _ in f(x): pass\n    assert x == [1, 2]", False),
        ("x = [2, 1]\n    errors = f(x)\n    assert not errors and x == [1, 2]", False),
    ],
    "def f(x):\n    return len(x)\n": [("assert f([1]) == 1", False)],
}


# Each does something and returns a container too.
EFFECTS = {
    "def f(x):\n    x.sort()\n    print(*x)\n    return x[:1]\n": [
        ("x = [2, 1]\n    f(x)\n    assert x == [1, 2]", False),
        ("x = [2, 1]\n    _ = f(x)\n    assert x == [1, 2]", False),
        ("x = [2, 1]\n    assert f(x) is not None and x == [1, 2]", False),
        ("x = [2, 1]\n    assert len(f(x)) < 9 and x == [1, 2]", True),
        ("x = [2]\n    try:\n        assert f(x) <= [2]\n    except TypeError: x = 1\n", True),
        ("x = [2, 1]\n    assert all(n == 1 for n in f(x) or []) and x == [1, 2]", True),
        ("x = [2, 1]\n    for got in f(x):\n        assert got == 1\n    assert x == [1, 2]", True),
    ],
    "class Basket:\n    def __init__(self):\n        self.items = []\n"
    "    def add(self, x):\n        self.items.append(x)\n        return [x]\n": [
        ("b = f()\n    b.add(1)\n    assert b.items == [1]", False),
        ("b = f()\n    assert set(b.add(1)) <= {1} and b.items == [1]", True),
    ],
    "import numpy as np\ndef f(x):\n    x.append(1)\n    return np.array(x)\n": [
        ("x = []\n    assert (f(x) == [1]).all() and x == [1]", True),
        ("import numpy as np\n    x = []\n    assert np.allclose(f(x), 1) and x == [1]", True),
    ],
}


@pytest.mark.docker
@pytest.mark.parametrize(
    ("asserted", "told"),
    [("f([1]) is None and size([1, 2]) == 2", "beside the code"), ("f([1]) == None", "only 0 of")],
)
async def test_a_program_that_tests_what_stands_beside_the_code_is_told_so(
    sandbox: Sandbox, asserted: str, told: str
) -> None:
    code = "def f(x):\n    if size(x) > 9:\n        log(x)"
    beside = "def log(x):\n    pass\ndef size(x):\n    return len(x) + 0"
    program = f"from target import f, size\ndef test_it():\n    assert {asserted}\n"
    async with sandbox.box(f"{beside}\n{code}") as box:
        draft = Draft(reading="r", program=program, support_code=beside)
        pair = Pair(query=Query.of("q"), code=Code.of(code))
        report = await VALIDATOR.validate(pair, draft, await box.run(program), box)
    assert told in report.faults[Gate.KILLS_MUTANTS]
    assert can_be_improved(report) == (told != "beside the code")


@pytest.mark.docker
@pytest.mark.parametrize("code", [*first_rows(1, EMPTY), *first_rows(1, EFFECTS)])
async def test_what_is_returned_empty_is_asked_for_where_it_is_judged(
    code: str, sandbox: Sandbox
) -> None:
    async with sandbox.box(code) as box:
        for body, is_void in {**EMPTY, **EFFECTS}[code]:
            name = "Basket as f" if "Basket" in code else "f"
            program = f"from target import {name}\ndef test_it():\n    {body}\n"
            result = await box.run(program)
            assert result.outcome == "passed", body
            run = ProgramRun(code, Draft(reading="r", program=program), result, box, 5.0)
            faults = await VALIDATOR._faults_of_emptiness(run)
            assert bool(faults) is is_void, (body, faults)


OF_EFFECTS = {
    "def f(x):\n    print(*sorted(x))\n    return x": "[2, 1] => prints '1 2'",
    "def f(x):\n    for n in x:\n        print(n)\n        yield n": "[2, 1] => prints '2 1'",
    "def f(x):\n    return map(print, x)": "[2, 1] => prints '2 1'",
    "def f(x):\n    open('a.txt', 'w').write(x)\n    return {'a.txt': x}": (
        "'b' => writes {'a.txt': 'b'}"
    ),
    "def f(x):\n    x.name = 'b'\n    return [x.name]": (
        "types.SimpleNamespace(name='a') => leaves {'name': 'b'}"
    ),
}


@pytest.mark.docker
@pytest.mark.parametrize("code", OF_EFFECTS)
async def test_claims_of_effects_do_not_look_at_what_is_returned(
    code: str, sandbox: Sandbox
) -> None:
    claims = claims_in(OF_EFFECTS[code], 1)
    program = claims_program(claims, "def answer(x):\n    return f(x)", code)
    async with sandbox.box(code) as box:
        result = await box.run(program)
        assert result.outcome == "passed"
        run = ProgramRun(code, Draft(reading="r", program=program), result, box, 5.0)
        assert await VALIDATOR._faults_of_emptiness(run) == {}


WRONG_EFFECTS = {
    "def f(x):\n    print(*sorted(x))\n    raise ValueError": "[2, 1] => prints '1 2'",
    "def f(x):\n    return [lambda: print(n) for n in x]": "[2, 1] => prints '2 1'",
    "def f(x):\n    for n in x:\n        yield n\n        print(n + 1)": "[2, 1] => prints '2 1'",
    "def f(x):\n    return {'a.txt': x}": "'b' => writes {'a.txt': 'b'}",
    "def f(x):\n    open('a.txt', 'w').write(x)\n    import os\n    os.remove('a.txt')": (
        "'b' => writes {'a.txt': 'b'}"
    ),
    "def f(x):\n    return type(x)(name='b')": (
        "types.SimpleNamespace(name='a') => leaves {'name': 'b'}"
    ),
}


@pytest.mark.docker
async def test_code_that_returns_what_it_should_have_done_holds_no_claim_of_an_effect(
    sandbox: Sandbox,
) -> None:
    async with sandbox.box("") as box:
        for code, claim in WRONG_EFFECTS.items():
            claims = claims_in(claim, 1)
            program = claims_program(claims, "def answer(x):\n    return f(x)", code)
            (run,) = claim_runs(claims, await box.run(program, code=code))
            assert run.outcome == "failed", (code, run)
