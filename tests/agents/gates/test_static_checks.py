"""Laws of the static checks and of `agents.gates`: whatever a program's text is, it has a verdict.

At the end those of names that a program shares with the code under test: no call is of anything
else. ``test_validator.py`` holds the checks against a table of programs, in real boxes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.gates import Gate, can_be_improved, reason_of
from agents.gates.static_checks import faults_of, names_defined_by
from infra.records import ExecutionResult, MutantRun, OracleReport
from tests.agents.conftest import ANSWERS, IN_DOUBT, Bench, always, written
from tests.fakes.sandbox import PASSED, FakeSandbox

HEAD = "from target import backwards\n"


def nested(terms: int) -> dict[str, str]:
    """Return programs that the parser takes, each nested as deeply as it has terms."""
    return {
        "sum": f"{HEAD}assert backwards('') == {' + '.join(['1'] * terms)}",
        "calls": f"{HEAD}assert backwards(''){'.f()' * terms}",
        "attributes": f"{HEAD}assert backwards('').{'.'.join(['a'] * terms)} == 1",
        "subscripts": f"{HEAD}assert backwards(''){'[0]' * terms} == 1",
        "negations": f"{HEAD}assert {'not ' * (terms // 4)}backwards('')",
        "elif": HEAD + "if a:\n    pass\n" + "elif a:\n    pass\n" * (terms // 2),
        "in an argument": f"{HEAD}check(backwards({' * '.join(['a'] * terms)}))",
        "parentheses": f"{HEAD}assert {'(' * 150}1{')' * 150}",
    }


def test_a_program_nested_deeply_has_faults_and_never_raises() -> None:
    for terms in [100, 330, 500, 990, 3_000, 9_000]:
        for shape in nested(1):
            faults = faults_of(nested(terms)[shape], "def backwards(text): ...")
            assert all(isinstance(gate, Gate) and fault for gate, fault in faults.items()), (
                shape,
                terms,
            )


def test_a_program_nested_too_deeply_is_not_readable() -> None:
    for shape in ("sum", "calls", "attributes"):
        faults = faults_of(nested(2_000)[shape], "")
        assert set(faults) == {Gate.READABLE}


@pytest.mark.parametrize("shape", ["sum", "calls", "subscripts"])
async def test_a_model_that_repeats_itself_ends_no_pair(bench: Bench, shape: str) -> None:
    sandbox = always(PASSED)
    annotation = await bench.judge(
        [*IN_DOUBT, written(nested(2_000)[shape]), ANSWERS], sandbox, "spec"
    )
    assert (annotation.status, annotation.support) == ("labelled", "void_oracle")


async def test_no_repair_makes_a_program_too_deep_to_be_read(bench: Bench) -> None:
    deep = nested(2_000)["sum"]
    fixes = {"reply": {"diagnosis": "d", "action": "replace_program", "content": deep}}
    imports = {
        "reply": {"diagnosis": "d", "action": "add_import", "content": "import " + "a." * 5_000}
    }
    raised = ExecutionResult(outcome="raised", error_type="RecursionError")
    annotation = await bench.judge(
        [*IN_DOUBT, written(deep), {"role": "fixer", "steps": [fixes, imports, fixes]}, ANSWERS],
        FakeSandbox(lambda *_: raised),
        "spec",
    )
    assert annotation.path == "unclear_never_executable"


@given(st.text())
def test_any_text_is_checked(program: str) -> None:
    assert faults_of(program, program)


@pytest.mark.parametrize("code", ["def f(:", "\0", "x = " + "(" * 400, nested(5_000)["sum"]])
def test_code_that_cannot_be_read_defines_no_names_or_known_ones(code: str) -> None:
    assert names_defined_by(code) == frozenset()


def test_a_report_without_faults_has_no_reason() -> None:
    assert reason_of(OracleReport()) == ""
    assert not can_be_improved(OracleReport())


@pytest.mark.parametrize(
    ("outcome", "improvable"), [("passed", True), ("raised", False), ("timeout", False)]
)
def test_a_program_can_be_improved_where_mutants_survive(outcome: str, improvable: bool) -> None:
    run = MutantRun.model_validate({"change": "a → b", "outcome": outcome})
    report = OracleReport(faults={Gate.KILLS_MUTANTS: "only 0"}, trials=(run,))
    assert can_be_improved(report) is improvable
    assert ("a → b" in reason_of(report)) is improvable


@pytest.mark.parametrize(
    "lines",
    [
        "import inspect\nassert inspect.isgenerator(f())",
        "from inspect import iscoroutinefunction, signature\nassert signature(f)",
        "import inspect as i\nassert list(i.signature(f).parameters) == ['a']",
        "import inspect\nassert f(1) == 2",
        "assert tokenize('a b') == ['a', 'b']",
        "dis = f(1)\nassert dis == 2",
        "assert f('inspect') == 'inspect'",
        "inspect = f(1)\nassert inspect.result == 3",
    ],
)
def test_what_only_sounds_like_reading_code_is_allowed(lines: str) -> None:
    faults = faults_of(f"from target import f, tokenize\n{lines}", "def f(a): ...")
    assert Gate.IGNORES_SPELLING not in faults


@pytest.mark.parametrize(
    "lines",
    [
        "import inspect\nassert getattr(inspect, 'getsource')(f)",
        "import inspect\nx = inspect\nassert x.getsource(f)",
        "from inspect import *\nassert getsource(f)",
        "import dis\nassert dis.Bytecode(f).codeobj",
        "from importlib import import_module as load\nassert load('inspect').getsource(f)",
        "assert f.__code__.co_code",
        "assert getattr(f, '__code__').co_consts == (None, 1)",
        "import target\nassert target.__spec__.loader.get_source('target')",
        "assert f().gi_code.co_name",
        "import tokenize\nassert tokenize.open('target.py')",
    ],
)
def test_what_reads_code_is_a_fault(lines: str) -> None:
    faults = faults_of(f"from target import f\n{lines}\nassert f(1) == 2", "def f(a): ...")
    assert set(faults) == {Gate.IGNORES_SPELLING}


@pytest.mark.parametrize(
    ("lines", "repeats"),
    [
        ("import numpy as np\nr = np.random.default_rng(3)\nx = r.random()", True),
        ("import numpy as np\nr = np.random.default_rng(seed=3)", True),
        ("from numpy.random import RandomState\nr = RandomState(1)", True),
        ("import random\nrandom.seed(1)\nx = random.random()", True),
        ("import random\nx = random.Random('a').random()", True),
        ("import numpy as np\nr = np.random.default_rng()", False),
        ("import numpy as np\nr = np.random.default_rng(None)", False),
        ("import numpy as np\nnp.random.seed(1)\nr = np.random.default_rng(seed=None)", False),
        ("from numpy.random import default_rng\nr = default_rng()", False),
        ("import random\nrandom.seed()\nx = random.random()", False),
        ("import random\nrandom.seed(1)\nx = random.Random().random()", False),
        ("import random\nrandom.seed(1)\nx = random.SystemRandom().random()", False),
        ("import os\nx = os.getrandom(1)", False),
    ],
)
def test_chance_repeats_only_by_a_seed(lines: str, repeats: bool) -> None:
    faults = faults_of(f"from target import f\n{lines}\nassert f(1) == 2", "def f(a): ...")
    assert set(faults) == (set() if repeats else {Gate.NEEDS_NOTHING_OUTSIDE})


@pytest.mark.parametrize(
    "lines",
    [
        "with contextlib.suppress(Exception):\n    r = f(3)",
        "with contextlib.suppress(KeyError, Exception):\n    r = f(3)",
        "from contextlib import suppress as quiet\nwith quiet(Exception):\n    r = [*map(f, [3])]",
        "try:\n    r = f(3)\nexcept Exception:\n    pass",
        "for n in (1, 2):\n    try:\n        r = f(n)\n    except:\n        continue",
        "try:\n    assert f(3) == 3\nexcept* Exception:\n    pass",
    ],
)
def test_what_passes_over_all_that_the_code_raises_before_an_assertion_is_a_fault(
    lines: str,
) -> None:
    program = f"import contextlib\nfrom target import f\nr = None\n{lines}\nassert r == 3"
    assert set(faults_of(program, "def f(a): ...")) == {Gate.LETS_ASSERTIONS_FAIL}


@pytest.mark.parametrize(
    "lines",
    [
        "with contextlib.suppress(KeyError):\n    r = f(3)",
        "with contextlib.suppress(Exception):\n    os.remove('x')",
        "try:\n    r = f(3)\nexcept KeyError:\n    pass",
        "try:\n    r = f(3)\nexcept Exception as error:\n    r = type(error)",
        "try:\n    f('x')\nexcept Exception:\n    pass\nelse:\n    assert False",
        "try:\n    r = other(3)\nexcept Exception:\n    pass",
    ],
)
def test_what_tells_of_an_exception_or_catches_another_one_is_none(lines: str) -> None:
    program = f"import contextlib, os\nfrom target import f\nr = None\n{lines}\nassert r == 3"
    assert not faults_of(program, "def f(a): ...")


def test_what_is_passed_over_after_the_last_assertion_is_no_fault() -> None:
    program = "import contextlib\nfrom target import f\nassert f(3) == 3\n"
    assert not faults_of(
        f"{program}with contextlib.suppress(Exception):\n    f(4)", "def f(a): ..."
    )


def test_a_demand_for_an_exception_demands_something() -> None:
    program = "import pytest\nfrom target import f\nwith pytest.raises(ValueError):\n    f(-1)"
    assert not faults_of(program, "def f(a): ...")


NOT_COUNTED = [
    "def assert_nothing(*_): pass\nassert_nothing(f(1), 2)",
    "assert_nothing = print\nassert_nothing(f(1), 2)",
    "def g(assert_nothing):\n    assert_nothing(f(1), 2)\ng(print)",
    "from os.path import join as assert_equal\nassert_equal(f('1'), '2')",
    "from numpy.testing import assert_equal\ndef assert_equal(*_): pass\nassert_equal(f(1), 2)",
    "from numpy.testing import assert_equal\nassert_equal = print\nassert_equal(f(1), 2)",
    "from a import assert_equal\nfrom os import getcwd as assert_equal\nassert_equal(f('1'), '2')",
    "from a import assert_equal\nfor assert_equal in [print]:\n    assert_equal(f(1), 2)",
    "from numpy.testing import assert_equal\n(lambda assert_equal: assert_equal(f(1), 2))(print)",
    "from target import assert_positive\nassert_positive(f(1))",
    "from target import assert_positive\nfrom os import assert_positive\nassert_positive(f(1))",
    "def assert_a(*_): pass\nfrom __main__ import assert_a as assert_b\nassert_b(f(1), 2)",
    "from typing import assert_type\nassert_type(f(1), int)",
    "from numpy.testing import assert_equal\nr = f(1)\nassert_equal(r, r)",
]


@pytest.mark.parametrize("lines", NOT_COUNTED)
def test_a_call_that_only_sounds_like_an_assertion_demands_nothing(lines: str) -> None:
    faults = faults_of(
        f"from target import f\n{lines}", "def f(a): ...\ndef assert_positive(a): ..."
    )
    assert Gate.DEMANDS_VALUES in faults


@pytest.mark.parametrize(
    "lines",
    [
        "from numpy.testing import assert_array_equal\nassert_array_equal(f([1]), [1])",
        "from numpy.testing import assert_allclose as same\nsame(f([1]), [1])",
        "def test_it():\n    from numpy.testing import assert_equal\n    assert_equal(f(1), 1)",
        "from pytest import raises\nwith raises(ValueError):\n    f(1)",
        "import numpy.testing as npt\nnpt.assert_equal(f(1), 1)",
    ],
)
def test_a_function_that_asserts_may_be_imported_and_called_by_its_name(lines: str) -> None:
    assert not faults_of(f"from target import f\n{lines}", "def f(a): ...")


def test_an_imported_assertion_is_not_to_be_caught() -> None:
    program = "from numpy.testing import assert_equal\nfrom target import f\ntry:\n"
    program += "    assert_equal(f(1), 1)\nexcept Exception:\n    print('no')"
    assert set(faults_of(program, "def f(a): ...")) == {Gate.LETS_ASSERTIONS_FAIL}


CODE = "def clamp(x): ...\nclass Stack:\n    limit = 3\n    def push(self, x): ..."


def test_what_puts_something_in_the_place_of_the_code_is_refused() -> None:
    for line in [
        'put = setattr\nput(target, "clamp", fake)',
        'object.__setattr__(target, "clamp", fake)',
        'type(target).__setattr__(target, "clamp", fake)',
        'partial(setattr, target, "clamp")(fake)',
        'swap = patch.object\nwith swap(target, "clamp", fake): pass',
        'monkeypatch.setattr(target, "clamp", fake)',
        'monkeypatch.setattr("target.clamp", fake)',
        'change = patch\nwith change("target.clamp", fake): pass',
        'mock.patch.multiple("target", clamp=fake)',
        "mock.patch.multiple(target, clamp=fake)",
        'vars(target)["clamp"] = fake',
        "vars(target).update(clamp=fake)",
        'target.__dict__["clamp"] = fake',
        "target.__dict__ |= {'clamp': fake}",
        'sys.modules["target"].clamp = fake',
        'sys.modules["target"] = fake',
        "target.Stack.push = fake",
        "Stack.push = fake",
        'mock.patch.object(Stack, "push", fake)',
        "del Stack.push",
    ]:
        program = (
            "import sys\nimport target\nfrom target import Stack\nfrom functools import partial\n"
        )
        honest = "assert target.clamp(2) == 2\n"
        for lines in (f"{line}\n{honest}", f"{honest}{line}\n"):
            assert Gate.LEAVES_TARGET_ALONE in faults_of(program + lines, CODE), lines


@pytest.mark.parametrize(
    "line",
    [
        'mock.patch.object(target, "open", fake)', 'monkeypatch.setattr(target, "os", fake)',
        'getattr(target, "clamp")(2)', 'hasattr(target, "clamp")', "map(target.clamp, [2])",
        "Stack.limit = 4", 'print("clamp", target.clamp(2))', "vars(Stack())", "globals().items()",
        'sys.modules["os"]',
    ],
)  # fmt: skip
def test_what_changes_only_what_the_code_uses_is_allowed(line: str) -> None:
    program = "import sys\nimport target\nfrom target import Stack\nassert target.clamp(2) == 2\n"
    assert not faults_of(program + line, CODE)


CLAMP_AND_SIZE = "def clamp(value, low, high): ...\ndef size(items): ..."
SHARING = "import target\nfrom target import clamp, size\nfrom target import clamp as subject\n"
HONEST = "assert target.clamp(1, 2, 3) == 2\n"


def is_refused(lines: str) -> bool:
    return Gate.LEAVES_TARGET_ALONE in faults_of(f"{SHARING}{HONEST}{lines}", CLAMP_AND_SIZE)


def test_a_variable_may_share_a_name_with_the_code_where_it_is_not_called() -> None:
    for lines in [
        "def f(x):\n    size = len(x)\n    return size + 1",
        "def f(x, *size, **clamp):\n    return size, clamp",
        "def f(x):\n    for size in x:\n        print(size)",
        "def f(x):\n    with open(x) as size:\n        return size.read()",
        "def f(x):\n    if (size := len(x)) > 1:\n        return size",
        "def f(x):\n    size = 0\n    size += 1\n    return size",
        "def f(x):\n    try:\n        x()\n    except OSError as size:\n        print(size)",
        "def f(x):\n    match x:\n        case [size, *clamp]:\n            return size, clamp",
        "def f(x):\n    size = 0\n    def g():\n        nonlocal size\n        size += 1\n    g()",
        "def f(x):\n    return sorted(size for size in x)",
        "pairs = [(size, other) for other in (1, 2) for size in (3, 4)]",
        "def f(x):\n    size = 1\ndef g(x):\n    return size(x)",
        "class A:\n    def size(self): return 1\n    def g(self): return size([1])",
        "def f():\n    size = target.size\n    return size([1])",
        "clamp, size = target.clamp, target.size",
        "def f():\n    from target import size\n    return size([1])",
        "def f():\n    target = 5\n    return clamp(target, 1, 2)",
    ]:
        assert not is_refused(lines)


def test_what_gives_a_name_of_the_code_another_meaning_is_refused() -> None:
    for lines in [
        # the module's
        "size = 3",
        "size = target.size = 3",
        "clamp, size = target.clamp, len",
        "for size in [len]:\n    pass",
        "with open('x') as size:\n    pass",
        "(size := len)",
        "[size := len for _ in '1']",
        "from os import getcwd as clamp",
        "import size.part",
        "try:\n    pass\nexcept OSError as size:\n    pass",
        "match len:\n    case size:\n        pass",
        "if HONEST:\n    def size(x): return 1",
        "def f():\n    global size\n    size = len",
        "subject = len",
        # a function's own function, class or module
        "def f():\n    def size(x): return 1",
        "def f():\n    async def size(x): return 1",
        "def f():\n    class size: pass",
        "def f():\n    from os import getcwd as clamp",
        "def f():\n    size = lambda x: 1\n    return map(size, [1])",
        # a variable that is called
        "def f():\n    size = len\n    return size([1])",
        "def f():\n    size = len\n    return [size(x) for x in [[1]]]",
        "def f():\n    size = len\n    def g():\n        return size([1])\n    return g()",
        "def f():\n    size = len\n    return (lambda: size([1]))()",
        "def f():\n    size = len\n    return map(size, [[1]])",
        "def f(self):\n    size = len\n    self.assertRaises(TypeError, size, 1)",
        "def f():\n    size = len\n    @size\n    def g(): pass",
        "def f(size=len):\n    assert size([1]) == 1",
        "(lambda size: size([1]))(len)",
        "assert [size([1]) for size in [len]] == [1]",
        "def f():\n    for size in [len]:\n        assert size([1]) == 1",
        "def f(x):\n    with x as size:\n        assert size([1]) == 1",
        "def f():\n    assert (size := len) and size([1]) == 1",
        "def f():\n    size, other = len, 1\n    return size([1])",
        "def f(x):\n    match x:\n        case [size]:\n            return size([1])",
        "def f(x):\n    try:\n        x()\n    except OSError as size:\n        size([1])",
        "def f():\n    size = target.size\n    size = len\n    return size([1])",
        """def f():
            size = target.size
            def g():
                nonlocal size
                size = len
            g()
            return size([1])""",
        "class A:\n    size = len\n    assert size([1]) == 1",
        "class A:\n    def f(self):\n        clamp = max\n        assert clamp(1, 2, 3) == 3",
        # what stands for the module, or a part of it
        "target = other\nassert target.clamp(1, 2, 3) == 3",
        "class target:\n    clamp = max\nassert target.clamp(1, 2, 3) == 3",
        "def f(target):\n    assert target.clamp(1, 2, 3) == 3",
        "def f(target):\n    return map(target.size, [1])",
        "for target.clamp in [max]:\n    pass",
        "target.clamp, other = max, 1",
    ]:
        assert is_refused(lines)
