"""Laws of the program that runs claims: what counts as the value that is demanded.

Covers `agents.claims.program`.
"""

import json
import math
import re
import sys
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from agents.claims.claim import Claim, claims_in
from agents.claims.program import claim_runs, claims_program
from agents.claims.values import text_of, to_plain
from agents.gates.static_checks import faults_of, names_defined_by
from infra.records import CaseResult, ExecutionResult
from sandbox.base import Sandbox

ADAPTER = "def answer(value):\n    return same(value)"
CODE = "def same(value):\n    return value\n\ndef text_of(value):\n    return value"


@pytest.fixture(autouse=True)
def target(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("target")
    exec(CODE, module.__dict__)
    monkeypatch.setitem(sys.modules, "target", module)


def space_of(claims: list[Claim], adapter: str = ADAPTER) -> dict[str, Any]:
    """Return the names of a program of claims."""
    space: dict[str, Any] = {}
    exec(claims_program(claims, adapter, CODE), space)
    return space


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        ("1, math.pi / 2 => (0, 1)", (math.cos(math.pi / 2), math.sin(math.pi / 2))),
        ("3, 2 => [1.5, 2]", iter((Fraction(3, 2), 2.0000000001))),
    ],
)
def test_a_value_that_is_right_but_for_the_last_digits_holds(claim: str, given: object) -> None:
    (read,) = claims_in(claim, 1)
    space = space_of([read]) | {"math": math}
    exec(claims_program([read], ADAPTER, CODE), space)
    space["adapted_answer"] = lambda *_: given
    space["test_claim_1"]()


@pytest.mark.parametrize(
    ("raised", "wanted", "given"),
    [
        (ValueError(), "ValueError", "raises ValueError"),
        (json.JSONDecodeError("", "", 0), "ValueError", "raises ValueError"),
        (FileNotFoundError(), "FileNotFoundError", "raises FileNotFoundError"),
        (re.error(""), "error", "raises error"),
        (OSError(), "ValueError", None),
        (ValueError(), "KeyError", None),  # not by the code: it has no step in it
        (ValueError(), "", None),
        (ValueError(), "object", None),
    ],
)
def test_an_exception_is_what_an_except_clause_would_catch(
    raised: Exception, wanted: str, given: str | None
) -> None:
    def call() -> None:
        raise raised

    space = space_of([])
    space["adapted_answer"] = call
    if given is not None:
        assert space["given_by"]((), wanted) == ("raises", given)
    else:
        with pytest.raises(type(raised)):
            space["given_by"]((), wanted)


def test_an_exception_does_not_say_itself_what_it_is() -> None:
    lie = {"__class__": property(lambda self: ImportError)}
    kind: type = type("Base", (Exception,), lie)
    for name in ("KeyError", "OSError", "ValueError"):
        kind = type(name, (kind,), {})
    lying = type("Lying", (type,), {"__name__": "TypeError", "__mro__": (TypeError,)})
    error = lying("Own", (kind,), {})()
    space = space_of([])
    assert space["kinds_of"](error) == {"Own", "Base"}
    assert not space["lacks_something"](lying("Own", (Exception,), lie)())
    assert not space["is_parameter"](type("float64", (), {"__module__": "numpy"}))
    of_types = {"__class__": property(lambda self: type), "__bases__": (float,)}
    assert not space["is_parameter"](type("Lie", (), of_types)())


def test_an_error_of_a_kind_that_unfit_arguments_cause_is_told_with_its_place() -> None:
    code = "def same(value):\n    return value.no"
    exec(compile(code, "target.py", "exec"), sys.modules["target"].__dict__)
    assert space_of([])["given_by"]((1,)) == ("raises", "raises AttributeError in same")


RAISED_BY_LOGIC = [
    "for value in []: last = value\nreturn last",
    "import re\nreturn re.sub('(', '', value)",
    "import struct\nreturn struct.unpack('i', b'')",
    "import ast\nreturn ast.literal_eval('1 +')",
    "raise Exception('no')",
    "class Wrong(Exception): pass\nraise Wrong(value)",
    "try: [][1]\nexcept LookupError: raise KeyError(value)",
    "return value.no_attribute",
    "return same(value)",
]
RAISED_FOR_WANT_OF_SURROUNDINGS = [
    "import module_of_nobody_1a2b",
    "try: import module_of_nobody_1a2b\nexcept ImportError: raise RuntimeError('install it')",
    "try: import module_of_nobody_1a2b\nexcept ImportError: raise RuntimeError('it') from None",
    "try: open('/no/such')\nexcept OSError as error: raise ValueError('no file') from error",
    "return unknown_name",
    "raise MemoryError",
    "import os\nreturn os.environ['NO_SUCH_1A2B']",
    "raise LookupError('****\\n  Resource punkt not found.\\n  Please use the NLTK Downloader')",
    "class URLError(Exception): pass\nraise URLError('no network')",
    "class MaxRetryError(Exception): pass\nclass Own(MaxRetryError): pass\nraise Own('network')",
    "import math\nreturn math.no_function",
    "return value.iteritems()",
    "return dict({}.items() + {}.items())",
    "raise RuntimeError('Working outside of application context.')",
]


def gives(body: str) -> bool:
    """Return whether a code of these lines gives something, as the program of its claims sees it.

    What it gives here is always that it raises; else the program itself raises.
    """
    code = "def same(value):\n" + "\n".join(f"    {line}" for line in body.splitlines())
    exec(compile(code, "target.py", "exec"), sys.modules["target"].__dict__)
    try:
        given = space_of([])["given_by"]((1,))
    except Exception:  # noqa: BLE001 - whatever the code raised
        return False
    assert given[0] == "raises"
    return True


@pytest.mark.parametrize("body", RAISED_BY_LOGIC)
def test_whatever_the_code_raises_by_itself_is_what_it_gives(body: str) -> None:
    assert gives(body)


@pytest.mark.parametrize("body", RAISED_FOR_WANT_OF_SURROUNDINGS)
def test_what_is_missing_around_the_code_is_no_value_also_wrapped_in_another(body: str) -> None:
    assert not gives(body)


def test_what_keeps_the_code_from_being_loaded_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "target")

    class Loader:
        def find_spec(self, name: str, path: object, target: object = None) -> None:
            if name == "target":
                exec(compile("def f(): [][1]\nf()", "target.py", "exec"), {})

    monkeypatch.setattr(sys, "meta_path", [Loader(), *sys.meta_path])
    with pytest.raises(IndexError):
        space_of([])["given_by"]((1,))


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ("one, other", ([3, 1], 2)), ("one, other=0", (([3, 1], 2), 0)),
        ("one", (([3, 1], 2),)), ("one, other, more=0", ([3, 1], 2, 0)),
        ("*ones", (([3, 1], 2),)),
    ],
)  # fmt: skip
def test_a_tuple_alone_is_the_arguments_of_an_adapter_that_needs_more(
    parameters: str, given: tuple[object, ...]
) -> None:
    names = re.findall(r"\*?[a-z]+", parameters)
    adapter = f"def answer({parameters}):\n    return same([{', '.join(names)}])"
    space = space_of([Claim(arguments="([3, 1], 2)", value="'another'")], adapter)
    with pytest.raises(AssertionError, match=re.escape(f"gave {text_of(to_plain(given))}")):
        space["test_claim_1"]()


def test_an_adapter_may_import_the_code_itself() -> None:
    adapter = "def answer(value, more=2):\n    from target import same\n    return same(value)"
    assert "more=2" in claims_program([], adapter, CODE)
    assert space_of([], adapter)["adapted_answer"](3) == 3


def test_annotations_of_an_adapter_are_not_run() -> None:
    adapter = "def answer(value: exec('1 / 0')) -> exec('1 / 0'):\n    return same(value)"
    assert space_of([], adapter)["adapted_answer"](3) == 3
    adapter = "def answer(value):\n    found: exec('1 / 0') = same(value)\n    return found"
    assert space_of([], adapter)["adapted_answer"](3) == 3


def test_a_claim_cannot_demand_what_the_code_gives() -> None:
    space = space_of([Claim(arguments="3", value="3"), Claim(arguments="3", value="same(3)")])
    space["test_claim_1"]()
    with pytest.raises(NameError):
        space["test_claim_2"]()


@pytest.mark.parametrize("adapter", [ADAPTER, "def answer(text_of):\n    return same(text_of)"])
def test_names_of_code_program_and_parameters_do_not_hide_one_another(adapter: str) -> None:
    space = space_of([Claim(arguments="'a'", value="'a'")], adapter)
    space["test_claim_1"]()
    other = space_of([Claim(arguments="'a'", value="'a'")], ADAPTER.replace("same", "text_of"))
    other["test_claim_1"]()
    assert other["adapted_answer"](3) == 3, "the code's, not the program's"


def test_what_was_given_is_read_to_its_end() -> None:
    given = "'a (line 1: assert b) \\n (line 2: c)'"
    message = f"gave {given} (line 70: assert approx_equal(given, demanded)"
    case = CaseResult(name="test_claim_1", outcome="assertion_failed", message=message)
    result = ExecutionResult(outcome="assertion_failed", tests=(case,))
    (run,) = claim_runs([Claim(arguments="1", value="2")], result)
    assert (run.outcome, run.gave) == ("failed", given)


OWN_LINE = " (line 70: assert approx_equal(given, expected), difference(given, expected))"
OTHER_LINE = " (line 60: return look(adapted_answer(*arguments)))"


@pytest.mark.parametrize(
    ("message", "outcome", "gave"),
    [
        (f"gave 5{OWN_LINE}", "failed", "5"),
        ("gave 5 (line 7: assert suits(given, 'one of', expected), difference())", "failed", "5"),
        ("gave 5 (line 7: assert alike_of_claims(given_of_claims, expected", "failed", "5"),
        ("gave 5", "failed", "5"),  # of another language
        (f"gave {'ü' * 290}", "failed", "ü" * 290),
        (f"gave 5{OTHER_LINE}", "not_run", None),
        (f"gave 5{OWN_LINE}{OTHER_LINE}", "not_run", None),
        (f"formed 5{OTHER_LINE}", "not_run", None),
        (f"gave up\n{OTHER_LINE}", "not_run", None),
        (f"no 5{OWN_LINE}", "not_run", None),
    ],
)  # fmt: skip
def test_an_assertion_of_the_code_is_no_verdict_of_the_program(
    message: str, outcome: str, gave: str | None
) -> None:
    case = CaseResult(
        name="test_claim_1",
        outcome="assertion_failed",
        error_type="AssertionError",
        message=message,
    )
    result = ExecutionResult(outcome="assertion_failed", tests=(case,))
    (run,) = claim_runs([Claim(arguments="1", value="2")], result)
    assert run.outcome == outcome
    assert run.gave == (f"AssertionError: {message}"[:300] if gave is None else gave)


@pytest.mark.docker
async def test_what_code_asserts_for_want_of_a_module_is_no_failure(sandbox: Sandbox) -> None:
    code = (
        "def same(value):\n    try:\n        import module_of_nobody_1a2b\n"
        "    except ImportError:\n        exec('raise AssertionError(\"gave 5\")')"
    )
    claims = claims_in("1 => 2", 1)
    async with sandbox.box(code) as box:
        result = await box.run(claims_program(claims, ADAPTER, code))
    assert [case.outcome for case in result.tests] == ["assertion_failed"]
    assert [run.outcome for run in claim_runs(claims, result)] == ["not_run"]


def test_claims_that_a_language_cannot_say_tell_nothing_of_the_adapter() -> None:
    ends = [("Error", "not said in Go: bytes"), ("Error", "the adapter makes it"), ("", "gave 3")]
    cases = tuple(
        CaseResult(
            name=f"test_claim_{number}",
            outcome="assertion_failed" if message.startswith("gave") else "raised",
            error_type=error_type,
            message=message,
        )
        for number, (error_type, message) in enumerate(ends, 1)
    )
    claims = [Claim(arguments=str(number), value="2") for number in range(3)]
    runs = claim_runs(claims, ExecutionResult(outcome="raised", tests=cases))
    assert [(run.claim.arguments, run.outcome, run.gave) for run in runs] == [
        ("1", "not_run", "Error: the adapter makes it"),
        ("2", "failed", "3"),
        ("0", "not_run", "not said in Go: bytes"),
    ]


@pytest.mark.parametrize(
    ("gave", "outcomes"),
    [
        (["raises TypeError in f", "raises TypeError in g"], {"not_run"}),
        (["raises AttributeError in f"] * 2, {"not_run"}),
        (["raises TypeError in f", "raises IndexError in f"], {"failed"}),
        (["raises TypeError in f", "'raises TypeError in f'"], {"failed"}),
        (["raises ValueError", "raises ValueError"], {"failed"}),
        (["raises TypeError", "raises TypeError"], {"failed"}),  # of a former release
        (["raises TypeError in f", ""], {"failed", "held"}),
    ],
)
def test_arguments_of_a_shape_that_the_code_never_takes_are_no_failure(
    gave: list[str], outcomes: set[str]
) -> None:
    cases = tuple(
        CaseResult(
            name=f"test_claim_{number}",
            outcome="assertion_failed" if given else "passed",
            message=f"gave {given} (line 7: assert approx_equal(given, demanded)",
        )
        for number, given in enumerate(gave, 1)
    )
    result = ExecutionResult(outcome="assertion_failed", tests=cases)
    claims = [Claim(arguments=str(number), value="2") for number in range(len(gave))]
    assert {run.outcome for run in claim_runs(claims, result)} == outcomes


@pytest.mark.parametrize("claim", ["[1.0] => [1.0000000001]", "2 => raises TypeError"])
def test_a_code_may_have_any_name_that_the_program_has(claim: str) -> None:
    read = claims_in(claim, 1)
    plain_program = claims_program(read, ADAPTER, CODE, ["1"])
    bound = names_defined_by(plain_program) - {"adapted_answer"}
    names = sorted(name for name in bound if not name.startswith("test_"))
    assert {"close", "to_plain", "LACKS"} < set(names)
    code = "def same(value):\n    return value\n\n" + "\n".join(f"{name} = None" for name in names)
    program = claims_program(read, ADAPTER, code, ["1"])
    assert faults_of(plain_program, CODE) == faults_of(program, code) == {}
    space: dict[str, Any] = {}
    exec(program, space)
    if "raises" in claim:
        with pytest.raises(AssertionError, match="gave 2"):
            space["test_claim_1"]()
    else:
        space["test_claim_1"]()
