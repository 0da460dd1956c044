"""Laws of outcomes: whose fault a failure is follows from the traceback.

Covers `agents.gates.outcomes`, `agents.gates.exception_handlers` and
`infra.languages.python.failures`.
"""

import pytest

from agents.evidence import Attempt, Draft, RunEvidence, RunOutcome, evidence_of
from agents.gates.outcomes import PythonRules, handler_lines
from infra.languages.python.failures import exceptions_in
from infra.languages.python.scaffolding import scaffolded
from infra.records import CaseResult, ExecutionResult
from sandbox.base import Sandbox
from tests.fakes.sandbox import FAILED, PASSED, lacks

CODE = """
import os, json
from collections import Counter
LIMIT = 3
def most(words):
    return Counter(words).most_common(1)[0][0]
def strict(x):
    if x < 0:
        raise ValueError("negative")
    return x
def helped(x):
    return helper_of_the_repository(x)
def late(x):
    if x:
        value = x
    return value
def settings():
    return open("settings_of_the_repository.ini").read()
def reads(path):
    return open(path).read()
def home():
    return os.environ["NAME_THAT_NOBODY_SETS"]
def size_of(holder):
    return holder.size
def scale(self, x):
    return x * self.factor
def imports(x):
    import no_such_package_of_the_repository
def old():
    return os.getcwdu()
def checked(x):
    assert x > 0
    return x
def decoded(text):
    return json.loads(text)
def requires(text):
    try:
        import no_such_package_of_the_repository as package
    except ImportError:
        raise RuntimeError("the package is required")
    return package.parse(text)
def exits(text):
    try:
        import no_such_package_of_the_repository as package
    except ImportError as error:
        raise SystemExit(1) from error
def reads_or_refuses(x):
    try:
        return {}[x]
    except KeyError:
        raise ValueError("no such item")
def tokens(text):
    import nltk
    return nltk.word_tokenize(text)
def connects(x):
    import socket
    socket.create_connection(("192.0.2.1", 80), timeout=0.5)
def merged(one, more):
    return dict(one.items() + more.items())
def with_row(rows, row):
    import pandas
    return len(pandas.DataFrame(rows).append(row, ignore_index=True))
def waits(x):
    raise TimeoutError("no worker was free")
"""
outcome_of, outcomes_of_tests = PythonRules().outcome_of, PythonRules().outcomes_of_tests
H = RunOutcome
HEAD = "from target import *\nfrom target import DummySelf\n"
CASES: dict[str, tuple[str, RunOutcome]] = {
    "it holds": ("assert strict(1) == 1", H.PASSED),
    "another value": ("assert strict(1) == 2", H.FAILED_ASSERTION),
    "its own raise": ("assert strict(-1) == 1", H.CODE_RAISED),
    "its own assert": ("assert checked(-1) == 1", H.CODE_RAISED),
    "an item that is not there": ("assert most([]) is None", H.CODE_RAISED),
    "an error inside a library that it called": ("assert decoded('x') == 1", H.CODE_RAISED),
    "a variable that is not bound yet": ("assert late(0) == 0", H.CODE_RAISED),
    "a file that the test named": ("assert reads('/tmp/none') == ''", H.CODE_RAISED),
    "a name of its repository": ("assert helped(1) == 1", H.DEPENDENCY_MISSING),
    "a file of its repository": ("assert settings() == ''", H.DEPENDENCY_MISSING),
    "a variable of its environment": ("assert home() == '/'", H.DEPENDENCY_MISSING),
    "a package of its repository": ("assert imports(1) is None", H.DEPENDENCY_MISSING),
    "a package of its repository, told by an exception of its own": (
        "assert requires('a') == 1", H.DEPENDENCY_MISSING,
    ),
    "a package of its repository, told by its end": (
        "assert exits('a') == 1", H.DEPENDENCY_MISSING,
    ),
    "its own raise after an exception of its own": (
        "assert reads_or_refuses(1) == 1", H.CODE_RAISED,
    ),
    "its own raise while the test lacks a module": (
        "try:\n    import no_such_module\nexcept ImportError:\n    assert strict(-1) == 1",
        H.CODE_RAISED,
    ),
    "data of a library": ("assert tokens('a b') == ['a', 'b']", H.DEPENDENCY_MISSING),
    "the network": ("assert connects(1) is None", H.DEPENDENCY_MISSING),
    "lists of Python 2": (
        "assert merged({1: 2}, {3: 4}) == {1: 2, 3: 4}", H.DEPENDENCY_MISSING,
    ),
    "a former pandas": ("assert with_row([{'a': 1}], {'a': 2}) == 2", H.DEPENDENCY_MISSING),
    "a time limit of its own": ("assert waits(1) == 1", H.CODE_RAISED),
    "Python 2": ("assert old() == '/'", H.DEPENDENCY_MISSING),
    "an attribute of the object": ("assert scale(DummySelf(), 2) == 4", H.DEPENDENCY_MISSING),
    "an attribute of a stand-in": (
        "class Box: pass\nassert size_of(Box()) == 1", H.TEST_AT_FAULT,
    ),
    "a wrong call": ("assert strict() == 1", H.TEST_AT_FAULT),
    "a name that the test lacks": ("assert strict(one) == 1", H.TEST_AT_FAULT),
    "a function that is not there": ("import target\nassert target.none() == 1", H.TEST_AT_FAULT),
    "a program that is no Python": ("assert strict(1) = 1", H.TEST_AT_FAULT),
    "a module that the test lacks": ("import no_such_module", H.DEPENDENCY_MISSING),
    "no end": ("while True: pass", H.STOPPED),
    "an exception turned into a failed assertion": (
        "try:\n    strict(-1)\nexcept ValueError:\n    assert False, 'raised'", H.CODE_RAISED,
    ),
    "missing surroundings turned into a failed assertion": (
        "try:\n    helped(1)\nexcept Exception:\n    assert False", H.DEPENDENCY_MISSING,
    ),
    "a failed assertion turned into an exception": (
        "try:\n    assert strict(1) == 2\nexcept AssertionError:\n    raise KeyError(1)",
        H.FAILED_ASSERTION,
    ),
    "an item missing in the result, told by an assertion": (
        "try:\n    [strict(1)][1]\nexcept IndexError:\n    assert False", H.FAILED_ASSERTION,
    ),
}  # fmt: skip
LOADS_BADLY = "from flask_app import db\n@db.route\ndef f(x):\n    return x"
OLD = "def f(x):\n    print x"


def in_test(body: str) -> str:
    lines = body.splitlines()
    return f"{HEAD}def test_it():\n" + "".join(
        f"    {line}\n" for line in lines if "import *" not in line
    )


@pytest.mark.exhaustive
@pytest.mark.docker
async def test_each_failure_is_laid_to_whom_it_belongs_in_a_test_and_outside_one(
    sandbox: Sandbox,
) -> None:
    found: dict[str, set[RunOutcome]] = {}
    async with sandbox.box(scaffolded(CODE)) as box:
        for name, (body, _) in CASES.items():
            for program in (f"{HEAD}{body}", in_test(body)):
                patience_s = 2.0 if name == "no end" else None
                result = await box.run(program, timeout_s=patience_s)
                found.setdefault(name, set()).add(outcome_of(result, program, CODE))
    assert found == {name: {outcome} for name, (_, outcome) in CASES.items()}


@pytest.mark.docker
@pytest.mark.parametrize("code", [LOADS_BADLY, OLD, "f = undefined_name"])
async def test_code_that_cannot_be_loaded_lacks_its_surroundings(
    sandbox: Sandbox, code: str
) -> None:
    program = "from target import f\ndef test_it():\n    assert f(1) == 1"
    async with sandbox.box(code) as box:
        result = await box.run(program)
    assert outcome_of(result, program, code) is H.DEPENDENCY_MISSING


def raising(name: str, last: str, error_type: str = "ValueError", message: str = "m") -> CaseResult:
    frames = "".join(f'  File "{file}", line 1, in f\n    f()\n' for file in ("program.py", last))
    text = f"Traceback (most recent call last):\n{frames}{error_type}: {message}\n"
    return CaseResult(
        name=name, outcome="raised", error_type=error_type, message=message, traceback=text
    )


def ended(*tests: CaseResult, outcome: str = "raised") -> ExecutionResult:
    return ExecutionResult.model_validate(
        {"outcome": outcome, "error_type": "ValueError", "tests": [t.model_dump() for t in tests]}
    )


LOGIC, WRONG_CALL = raising("test_a", "target.py"), raising("test_b", "program.py")
LACKING = raising("test_c", "target.py", "NameError", "name 'other' is not defined")
ASSERTION = CaseResult(name="test_d", outcome="assertion_failed", error_type="AssertionError")


@pytest.mark.parametrize(
    ("tests", "outcome"),
    [
        ((LOGIC, WRONG_CALL), H.CODE_RAISED),
        ((WRONG_CALL, LOGIC, LACKING), H.DEPENDENCY_MISSING),
        ((WRONG_CALL,), H.TEST_AT_FAULT),
    ],
)
def test_of_several_failures_the_one_counts_that_decides_what_is_done_next(
    tests: tuple[CaseResult, ...], outcome: RunOutcome
) -> None:
    assert outcome_of(ended(*tests), "", CODE) is outcome


def test_a_failed_assertion_stands_whatever_else_failed() -> None:
    result = ended(LACKING, LOGIC, ASSERTION, outcome="assertion_failed")
    assert outcome_of(result, "", CODE) is H.FAILED_ASSERTION
    assert outcomes_of_tests(result, "", CODE) == {
        "test_c": H.DEPENDENCY_MISSING,
        "test_a": H.CODE_RAISED,
        "test_d": H.FAILED_ASSERTION,
    }


@pytest.mark.parametrize(
    ("result", "outcome", "evidence"),
    [
        (PASSED, H.PASSED, RunEvidence.PASSED),
        (FAILED, H.FAILED_ASSERTION, RunEvidence.FAILED_ASSERTION),
        (ended(LOGIC), H.CODE_RAISED, RunEvidence.CODE_RAISED),
        (ended(WRONG_CALL), H.TEST_AT_FAULT, RunEvidence.NOT_EXECUTED),
        (lacks("yaml"), H.DEPENDENCY_MISSING, RunEvidence.NOT_EXECUTED),
        (ExecutionResult(outcome="timeout"), H.STOPPED, RunEvidence.NOT_EXECUTED),
        (ExecutionResult(outcome="killed"), H.STOPPED, RunEvidence.NOT_EXECUTED),
    ],
)
def test_only_what_the_code_did_is_evidence(
    result: ExecutionResult, outcome: RunOutcome, evidence: RunEvidence
) -> None:
    assert outcome_of(result, "", CODE) is outcome
    assert evidence_of(result, outcome) is evidence
    attempt = Attempt(draft=Draft(reading="r", program=""), result=result, outcome=outcome)
    repairable = outcome in (H.DEPENDENCY_MISSING, H.TEST_AT_FAULT)
    assert (attempt.evidence, attempt.is_repairable) == (evidence, repairable)


def test_a_traceback_that_is_cut_off_is_read_in_stderr() -> None:
    whole = LOGIC.traceback
    cut = LOGIC.model_copy(update={"traceback": "m" * 100})
    result = ended(cut).model_copy(update={"stderr": f"noise\n{whole}"})
    assert outcome_of(result, "", CODE) is H.CODE_RAISED
    assert outcome_of(ended(cut), "", CODE) is H.TEST_AT_FAULT


def test_where_a_program_catches_what_the_code_raises_is_known() -> None:
    for body, caught in [
        ("try:\n    f(1)\nexcept ValueError:\n    raised = True", "line 2 catches ValueError"),
        ("try:\n    f(1)\nexcept:\n    assert False", "line 2 catches everything"),
        ("try:\n    g(1)\nexcept (KeyError, OSError):\n    pass", ""),
        ("def run():\n    return f(1)\ntry:\n    run()\nexcept KeyError:\n    pass",
         "line 4 catches KeyError"),
        ("try:\n    DummySelf(x=1).f()\nexcept KeyError:\n    pass", "line 2 catches KeyError"),
        ("try:\n    f(1)\nfinally:\n    pass", ""),
        ("f(1)", ""),
        ("def (", ""),
        ("import pytest\nwith pytest.raises(Exception):\n    f(1)", "line 3 catches Exception"),
        ("import pytest\nwith pytest.raises(KeyError, match='x'):\n    f(1)",
         "line 3 catches KeyError"),
        ("from pytest import raises\nwith raises(expected_exception=KeyError):\n    f(1)",
         "line 3 catches KeyError"),
        ("import pytest\npytest.raises(KeyError, f, 1)", "line 3 catches KeyError"),
        ("import pytest\npytest.raises(KeyError, lambda: f(1))", "line 3 catches KeyError"),
        ("with self.assertRaises((KeyError, OSError)):\n    f(1)",
         "line 2 catches (KeyError, OSError)"),
        ("self.assertRaises(Exception, f, 1)", "line 2 catches Exception"),
        ("with contextlib.suppress(KeyError, OSError):\n    f(1)",
         "line 2 catches KeyError and OSError"),
        ("from contextlib import suppress as quiet\nwith quiet(KeyError):\n    f(1)",
         "line 3 catches KeyError"),
        ("try:\n    list(map(f, [1]))\nexcept KeyError:\n    pass", "line 2 catches KeyError"),
        ("try:\n    sorted([1], key=f)\nexcept KeyError:\n    pass", "line 2 catches KeyError"),
        ("try:\n    f(1)\nexcept* KeyError:\n    pass", "line 2 catches KeyError"),
        ("import pytest\nwith pytest.raises(KeyError):\n    g(1)", ""),
        ("self.assertRaises(Exception, g, 1)", ""),
        ("with open('x') as file:\n    f(1)", ""),
        ("try:\n    list(map(g, [1]))\nexcept KeyError:\n    pass", ""),
    ]:  # fmt: skip
        found = handler_lines(f"from target import f\n{body}", "def f(x):\n    return x")
        assert found == ((caught,) if caught else ())


def test_what_the_code_lacks_around_it_is_not_its_own_logic() -> None:
    for error_type, message, outcome in [
        ("OSError", "[Errno 101] Network is unreachable", H.DEPENDENCY_MISSING),
        ("OSError", "[Errno 99] Cannot assign requested address", H.DEPENDENCY_MISSING),
        ("OSError", "[E050] Can't find model 'en_core_web_sm'.", H.DEPENDENCY_MISSING),
        ("OSError", "[Errno 22] Invalid argument", H.CODE_RAISED),
        ("TimeoutError", "timed out", H.DEPENDENCY_MISSING),
        ("TimeoutError", "[Errno 110] Connection timed out", H.DEPENDENCY_MISSING),
        ("TimeoutError", "no worker was free", H.CODE_RAISED),
        ("LookupError", "\n***\n  Resource punkt_tab not found.\n", H.DEPENDENCY_MISSING),
        ("LookupError", "no such item", H.CODE_RAISED),
        ("TypeError", "'filter' object is not subscriptable", H.DEPENDENCY_MISSING),
        ("TypeError", "unsupported operand type(s) for +: 'dict_items' and 'dict_items'",
         H.DEPENDENCY_MISSING),
        ("TypeError", "'NoneType' object is not subscriptable", H.CODE_RAISED),
        ("AttributeError", "'str' object has no attribute 'decode'", H.DEPENDENCY_MISSING),
        ("AttributeError", "'dict_keys' object has no attribute 'sort'", H.DEPENDENCY_MISSING),
        ("AttributeError", "'DataFrame' object has no attribute 'ix'", H.DEPENDENCY_MISSING),
        ("AttributeError", "'NoneType' object has no attribute 'group'", H.CODE_RAISED),
        ("PermissionError", "[Errno 13] Permission denied: '/x'", H.DEPENDENCY_MISSING),
    ]:  # fmt: skip
        case = raising("test_a", "target.py", error_type, message)
        assert outcome_of(ended(case), "", CODE) is outcome


WRAPPED = """Traceback (most recent call last):
  File "target.py", line 3, in f
{lines}LookupError: {empty}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "program.py", line 3, in test_a
    f(1)
  File "target.py", line 5, in f
    raise RuntimeError("no data")
RuntimeError: no data
"""


def test_what_a_code_replaced_is_found_also_where_its_traceback_is_cut_off() -> None:
    lines = '  File "/x/nltk/data.py", line 579, in find\n    raise LookupError(text)\n' * 20
    whole = WRAPPED.format(lines=lines, empty="")
    case = CaseResult(
        name="test_a",
        outcome="raised",
        error_type="RuntimeError",
        message="no data (line 3: f(1))",
        traceback=whole[-1500:],
    )
    told = ended(case).model_copy(update={"stderr": f"printed\n{whole}"})
    assert outcome_of(told, "", CODE) is H.DEPENDENCY_MISSING
    assert outcome_of(ended(case), "", CODE) is H.CODE_RAISED


UNMET = """Traceback (most recent call last):
  File "program.py", line 5, in test_a
    with pytest.raises(ValueError):
  File "/x/_pytest/raises.py", line 699, in __exit__
    fail("DID NOT RAISE ValueError")
  File "/x/_pytest/outcomes.py", line 163, in __call__
    raise Failed(msg=reason, pytrace=pytrace)
Failed: {message}
"""


@pytest.mark.parametrize(
    ("message", "traceback", "outcome"),
    [
        ("DID NOT RAISE <class 'ValueError'>", UNMET, H.FAILED_ASSERTION),
        ("DID NOT RAISE ValueError", UNMET[-300:], H.FAILED_ASSERTION),
        ("DID NOT RAISE ValueError", UNMET.replace("/x/_pytest/outcomes", "o"), H.FAILED_ASSERTION),
        ("no error", UNMET, H.FAILED_ASSERTION),
        ("no error", UNMET.replace("/x/_pytest/outcomes", "o"), H.TEST_AT_FAULT),
    ],
)
def test_an_exception_that_is_demanded_and_not_raised_is_a_failed_assertion(
    message: str, traceback: str, outcome: RunOutcome
) -> None:
    text = traceback.format(message=message) if "{" in traceback else traceback
    case = CaseResult(
        name="test_a", outcome="raised", error_type="Failed", message=message, traceback=text
    )
    assert outcome_of(ended(case), "", CODE) is outcome


def test_what_the_code_itself_raises_by_that_name_is_its_own() -> None:
    case = raising("test_a", "target.py", "Failed", "DID NOT RAISE ValueError")
    assert outcome_of(ended(case), "", CODE) is H.CODE_RAISED


@pytest.mark.parametrize("terms", [330, 990, 3_000, 9_000])
def test_text_nested_deeply_has_an_outcome_and_never_raises(terms: int) -> None:
    deep = " + ".join(["f(1)"] * terms)
    program = f"from target import f\ntry:\n    {deep}\nexcept {deep}:\n    pass\nassert {deep}"
    assert outcome_of(ended(LOGIC), program, f"def f(x):\n    return {deep}") is H.CODE_RAISED
    assert isinstance(handler_lines(program, f"f = {deep}"), tuple)


def test_only_the_last_traceback_of_a_text_is_read_with_those_it_was_raised_after() -> None:
    head = "Traceback (most recent call last):\n"
    first = f'printed\n{head}  File "a.py", line 1, in f\nKeyError: 1\n'
    second = f'{head}  File "b.py", line 2, in g\n    g(1)\n    ^^^^\nmodule.Error: bad\nmore\n'
    link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    third = f'{head}  File "c.py", line 3, in <module>\nValueError\n'
    chain = exceptions_in(first + second + link + third)
    assert [(item.error_type, item.message) for item in chain] == [
        ("Error", "bad"),
        ("ValueError", ""),
    ]
    assert [frame for item in chain for frame in item.frames] == [
        ("b.py", "g"),
        ("c.py", "<module>"),
    ]


@pytest.mark.parametrize("text", ["", "\n", "Traceback", 'File "', "\0", "a: b"])
def test_any_text_is_read(text: str) -> None:
    assert len(exceptions_in(text)) == 1
