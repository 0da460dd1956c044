"""Laws of programs that travel: they state contradictions, forge nothing and change no label.

Covers `agents.committee.travelling_programs`, `agents.committee.comparison`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from agents.committee.travelling import CodeBehaviour, QueryBehaviour, travel
from agents.committee.travelling_programs import ProgramRuns, accepted_program
from agents.gates.specified_validator import SpecifiedValidator
from infra.languages.python import Python
from infra.records import (
    Annotation,
    Code,
    Execution,
    ExecutionResult,
    MutantRun,
    OracleReport,
    Pair,
    Query,
)
from infra.settings import GateSettings
from tests.fakes.sandbox import FakeSandbox
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

QUERY = Query.of("python rotate a list to the left by n places")
RIGHT = """
def rotate(items, n):
    n = n % len(items) if items else 0
    return items[n:] + items[:n]"""
PROGRAM = """
from target import rotate

def test_a_few():
    assert rotate([1, 2, 3], 1) == [2, 3, 1]
    assert rotate([1, 2, 3], 0) == [1, 2, 3]

def test_beyond():
    assert rotate([1, 2, 3], 4) == [2, 3, 1]
    assert rotate([], 2) == []
"""
SHORT = "def rotate(items, n):\n    return items[n:] + items[:n]"  # for n beyond the length
TWIN = """
def turned(values, places):
    if not values:
        return []
    places = places % len(values)
    return values[places:] + values[:places]"""
OTHER_ORDER = "def rotate(n, items):\n    return items[n:] + items[:n]"
LACKING = "def rotate(items, n):\n    return helper_of_the_repository(items, n)"
FORM = (
    "def rotate(items, n):\n    n = n % max(len(items), 1)\n    return str(items[n:] + items[:n])"
)
FORGER = """
class Same(list):
    def __eq__(self, other):
        return True
    __hash__ = None

def rotate(items, n):
    n = n + 1
    return Same(items[n:])"""

VALID = OracleReport(
    trials=(MutantRun(change="line 3: % → *", outcome="assertion_failed"),), protection="separate"
)
RUNS = ProgramRuns(validator=SpecifiedValidator(GateSettings(), Python()))
Label = Literal[0, 1]


def accepted(code: str = RIGHT, **changes: Any) -> tuple[Pair, Annotation]:
    """Return a pair with an annotation that a program has decided."""
    run = Execution(
        round=0, program=changes.pop("program", PROGRAM), result=ExecutionResult(outcome="passed"),
        oracle=changes.pop("oracle", VALID),
    )  # fmt: skip
    return labelled(
        code, 1, path="unclear_passed", support="valid_oracle", executions=(run,), **changes
    )


def labelled(code: str, label: Label | None, **changes: Any) -> tuple[Pair, Annotation]:
    """Return a pair with an annotation, by reading if nothing else is said."""
    pair = Pair(query=QUERY, code=Code.of(code))
    fields = {"path": "clear_match", "support": "screened", "decided_by": "screener"} | changes
    annotation = Annotation(
        query_id=pair.query.query_id, code_id=pair.code.code_id, recipe_id="recipe",
        status="undecided" if label is None else "labelled", label=label, **fields,
    )  # fmt: skip
    return pair, annotation


async def compared(
    judged: Sequence[tuple[Pair, Annotation]], known: Mapping[tuple[str, str], str] | None = None
) -> QueryBehaviour:
    runs = ProgramRuns(validator=RUNS.validator, made_by="here", known=known or {})
    async with real_sandbox(LIMITS) as sandbox:
        found = await travel(judged, sandbox, Python(), runs)
    assert found is not None
    assert all(one.agreed == one.label for one in found.codes), "no label changes"
    assert len(found.programs) == 1
    return found


async def behaviour_of(code: str, label: Label | None) -> CodeBehaviour:
    found = await compared([accepted(), labelled(code, label)])
    assert found.codes[0].outcomes == ("passes",), "the program's own code"
    assert found.codes[0].reason == ""
    return found.codes[1]


@pytest.mark.docker
@pytest.mark.parametrize("code", [TWIN, RIGHT.replace("items", "values")])
async def test_a_code_that_passes_and_is_labelled_0_is_a_contradiction_that_is_told(
    code: str,
) -> None:
    found = await behaviour_of(code, 0)
    assert found.outcomes == ("passes",)
    assert f"it passes the accepted test program of code {Code.of(RIGHT).code_id}" in found.reason
    assert (await behaviour_of(code, 1)).reason == ""
    assert (await behaviour_of(code, None)).reason == ""


@pytest.mark.docker
async def test_a_code_that_fails_and_is_labelled_1_is_a_contradiction_that_is_told() -> None:
    found = await behaviour_of(SHORT, 1)
    assert found.outcomes[0].startswith("fails: AssertionError")
    assert "it fails the accepted test program of code" in found.reason
    assert "[1, 2, 3], 4" in found.reason, "with what failed"
    assert (await behaviour_of(SHORT, 0)).reason == ""


@pytest.mark.docker
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (OTHER_ORDER, "at another place"),
        ("def rotate(items):\n    return items", "does not take the calls"),
        ("def rotate(items, n:\n", "no Python"),
        (LACKING, "surroundings missing: NameError"),
        (FORM, "no assertion holds"),
        ("def rotate(items, n):\n    while True:\n        pass", "stopped"),
    ],
    ids=["order", "parameters", "syntax", "surroundings", "another form", "no end"],
)
async def test_a_code_that_the_program_does_not_fit_is_not_run_and_never_fails(
    code: str, told: str
) -> None:
    for label in (1, 0):
        found = await behaviour_of(code, label)
        assert found.outcomes[0].startswith("not run: ")
        assert told in found.outcomes[0]
        assert found.reason == ""


@pytest.mark.docker
async def test_a_code_cannot_forge_that_it_passes() -> None:
    found = await behaviour_of(FORGER, 0)
    assert found.outcomes[0].startswith("not run: ")
    assert found.reason == ""


@pytest.mark.docker
async def test_an_outcome_that_is_known_is_not_run_again() -> None:
    judged = [accepted(), labelled(SHORT, 1)]
    first = await compared(judged)
    [name] = first.programs
    codes = [str(pair.code.code_id) for pair, _ in judged]
    known = {(name, code): "passes" for code in codes}
    again = await compared(judged, known)
    assert [one.outcomes for one in again.codes] == [("passes",)] * 2
    other = await compared(judged, {("program of another", code): "passes" for code in codes})
    assert other == first


async def test_five_programs_of_a_query_travel_at_most() -> None:
    judged = [accepted(f"# number {number}\n{RIGHT}") for number in range(7)]
    programs = [program for item in judged if (program := accepted_program(*item))]
    codes = [str(pair.code.code_id) for pair, _ in judged]
    known = {(RUNS.name_of(program), code): "passes" for program in programs for code in codes}
    sandbox = FakeSandbox(lambda program, installed: ExecutionResult(outcome="passed"))
    found = await travel(
        judged, sandbox, Python(), ProgramRuns(RUNS.validator, RUNS.made_by, known)
    )
    assert found is not None
    assert list(found.programs) == [RUNS.name_of(program) for program in programs[:5]]
    assert [one.outcomes for one in found.codes] == [("passes",) * 5] * 7


async def test_programs_that_decided_no_match_do_not_travel() -> None:
    fault = VALID.model_copy(update={"faults": {"repeats": "two runs differ"}})
    pair, annotation = accepted()
    assert accepted_program(pair, annotation) is not None
    refused = [
        accepted(oracle=None),
        accepted(oracle=fault),
        accepted(oracle=OracleReport()),  # no mutant failed it
        labelled(RIGHT, 1),
        (pair, annotation.model_copy(update={"label": 0})),
        (pair, annotation.model_copy(update={"support": "void_oracle"})),
        (
            pair,
            annotation.model_copy(
                update={
                    "executions": (
                        *annotation.executions,
                        Execution(
                            round=1, program=PROGRAM, result=ExecutionResult(outcome="raised")
                        ),
                    )
                }
            ),
        ),
    ]
    assert [accepted_program(*item) for item in refused] == [None] * len(refused)
    sandbox = FakeSandbox(lambda program, installed: ExecutionResult(outcome="passed"))
    assert await travel(refused[:5], sandbox, Python(), RUNS) is None


async def test_a_pass_with_less_protection_than_the_programs_own_is_none() -> None:
    class Shared(SpecifiedValidator):
        async def validate(self, *_: object) -> OracleReport:
            return VALID.model_copy(
                update={"protection": "shared", "unprotected_because": "its own class"}
            )

    passed = ExecutionResult(outcome="passed", asserts_executed=3, target_calls=3)
    sandbox = FakeSandbox(lambda program, installed: passed)
    runs = ProgramRuns(validator=Shared(GateSettings(), Python()))
    for own, outcome in (
        ("separate", "not run: the code cannot be kept apart: its own class"),
        ("shared", "passes"),
    ):
        judged = [accepted(oracle=VALID.model_copy(update={"protection": own})), labelled(SHORT, 0)]
        found = await travel(judged, sandbox, Python(), runs)
        assert found is not None
        assert found.codes[1].outcomes == (outcome,)
