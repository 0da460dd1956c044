"""Each test's outcome is reported, as the guard sees it, and no program can report others.

What Python 2 has left in programs is recognised, and named as such. Covers
`sandbox.inside.collection`, `sandbox.inside.failures`, `sandbox.inside.python2` and
`sandbox.inside.processes` beside ``run_tests.py``, and `sandbox.backends.docker.jobs`.
"""

import inspect
import linecache

import pytest

from infra.records import ExecutionResult
from sandbox.base import Box, Sandbox
from sandbox.inside.child import places
from sandbox.inside.processes import read_report
from sandbox.inside.python2 import hint
from sandbox.inside.run_tests import run_tests
from tests.sandbox.inside.test_runner import whole

docker = pytest.mark.docker


def outcomes(result: ExecutionResult) -> dict[str, str]:
    return {test.name: test.outcome for test in result.tests}


def test_the_guard_looks_at_the_lines_where_run_tests_waits() -> None:
    text = [
        [linecache.getline(inspect.getfile(run_tests), line).strip() for line in sorted(lines)]
        for lines in places(run_tests.__code__)
    ]
    assert text == [["signal_guard(None)", "wait_for_guard()"]] * 4
    before = [linecache.getline(inspect.getfile(run_tests), min(lines) - 1).strip() for lines in
              places(run_tests.__code__)]  # fmt: skip
    assert before[0].startswith("gravest = ")
    assert before[1:] == ["case_reports.append(name)", "if failed:", "else:"]


CASE = b"test_b\0raised\0ValueError\0message\0trace\0"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (b"=++\ntest_a\0test_b\0", ["passed", "passed"]),
        (b"=+-\n!raised\0ValueError\0message\0\0test_a\0" + CASE, ["passed", "raised"]),
        (b"=\n!raised\0ValueError\0message\0\0", []),
        (b"=+-\ntest_a\0" + CASE, None),  # passed, with a test that failed
        (b"=++\ntest_a\0", None),
        (b"=+\ntest_a\0test_b\0", None),
        (b"=+\ntest_a\0tail", None),
        (b"=?\ntest_a\0", None),
        (b"\ntest_a\0", None),
        (b"=+\n" + b"n" * 201 + b"\0", None),
        (b"=-\n!raised\0E\0m\0\0" + CASE.replace(b"raised", b"passed"), None),
        (b"=-\n!raised\0E\0m\0\0" + CASE.replace(b"trace", b"t" * 1501), None),
        (b"=+\n!raised\0E\0m\0\0" + CASE, None),
    ],
)
def test_only_a_report_that_agrees_with_the_guard_is_read(
    texts: bytes, expected: list[str] | None
) -> None:
    report = read_report(whole(b"1 2 3 " + texts))
    assert (report and [test["outcome"] for test in report["tests"]]) == expected


class TestInABox:
    pytestmark = docker

    async def test_every_kind_of_test_goes_on_after_one_that_fails(self, box: Box) -> None:
        result = await box.run(
            "import asyncio, functools, unittest\n"
            "def twice(f):\n    @functools.wraps(f)\n    def g():\n        f()\n        f()\n"
            "    return g\n"
            "def test_first():\n    assert False\n"
            "async def test_second():\n    await asyncio.sleep(0)\n    raise KeyError\n"
            "@twice\ndef test_third():\n    import no_such_module\n"
            "class Case(unittest.TestCase):\n"
            "    @classmethod\n    def setUpClass(cls):\n        cls.number = 3\n"
            "    def test_one(self):\n        self.assertEqual(self.number, 4)\n"
            "    def test_two(self):\n        self.assertEqual(self.number, 3)\n"
            "if __name__ == '__main__':\n    test_first()\n    unittest.main()\n"
        )
        assert outcomes(result) == {
            "test_first": "assertion_failed",
            "test_second": "raised",
            "test_third": "import_error",
            "Case.test_one": "assertion_failed",
            "Case.test_two": "passed",
        }
        assert (result.outcome, result.missing_module) == ("import_error", "no_such_module")

    @pytest.mark.parametrize(
        ("bodies", "outcome"),
        [
            (("pass", "raise KeyError"), "raised"),
            (("raise KeyError", "assert False"), "assertion_failed"),
            (("assert False", "import no_such_module"), "import_error"),
            (("import no_such_module", "raise MemoryError"), "memory"),
        ],
    )
    async def test_the_gravest_failure_is_the_whole_programs(
        self, box: Box, bodies: tuple[str, str], outcome: str
    ) -> None:
        first, second = bodies
        program = f"def test_1():\n    {first}\ndef test_2():\n    {second}\n"
        assert (await box.run(program)).outcome == outcome
        program = f"def test_1():\n    {second}\ndef test_2():\n    {first}\n"
        assert (await box.run(program)).outcome == outcome

    async def test_a_programs_own_call_of_its_tests_hides_none(self, box: Box) -> None:
        tests = "def test_1():\n    assert False\ndef test_2():\n    pass\n"
        swallowed = await box.run(f"{tests}for t in (test_1, test_2):\n    try:\n        t()\n"
                                  "    except AssertionError:\n        print('FAIL')")  # fmt: skip
        assert outcomes(swallowed) == {"test_1": "assertion_failed", "test_2": "passed"}
        loud = await box.run(f"{tests}for t in (test_1, test_2):\n    t()")
        assert outcomes(loud) == {**outcomes(swallowed), "program.py": "assertion_failed"}

    async def test_a_failure_of_the_module_itself_is_that_of_the_whole(self, box: Box) -> None:
        result = await box.run("def test_1():\n    pass\nimport no_such_module")
        assert (result.outcome, result.tests) == ("import_error", ())

    async def test_many_and_long_failures_are_bounded_and_none_is_lost(self, box: Box) -> None:
        names = "def {0}():\n    raise ValueError('é' * 10_000)\n"
        program = "".join(names.format(f"test_{number}") for number in range(150))
        result = await box.run(program)
        assert (result.outcome, result.tests_run, len(result.tests)) == ("raised", 150, 100)
        assert {len(test.message.encode()) <= 600 for test in result.tests} == {True}
        passing = await box.run("".join(f"def test_{n}(): pass\n" for n in range(2_000)))
        assert (passing.outcome, passing.tests_run, len(passing.tests)) == ("passed", 2_000, 100)

    @pytest.mark.parametrize(
        "change",
        [
            "del main['test_wrong']",
            "main['test_wrong'] = lambda: None",
            "main['test_wrong'] = main['test_right']",
            "main['test_wrong'] = types.FunctionType(main['test_wrong'].__code__, {'double': int})",
            "main['test_wrong'] = type('F', (), {'__class__': types.FunctionType})()",
        ],
    )
    async def test_code_under_test_that_takes_a_test_away_lets_nothing_pass(
        self, sandbox: Sandbox, change: str
    ) -> None:
        code = (
            f"import sys, types\nmain = vars(sys.modules['__main__'])\ndef double(n):\n    {change}"
        )
        async with sandbox.box(code) as box:
            result = await box.run(
                "from target import double\ndef test_right():\n    pass\n"
                "def test_wrong():\n    assert double(2) == 4\ndouble(1)\n"
            )
        assert (result.outcome, result.error_type) == ("raised", "RuntimeError"), result
        assert "test_wrong is not the test" in result.message

    @pytest.mark.parametrize("attack", ["frames", "signals", "thread", "globals", "own_record"])
    async def test_by_none_of_these_ways_a_test_that_failed_is_reported_as_passed(
        self, sandbox: Sandbox, attack: str
    ) -> None:
        async with sandbox.box(f"{WALK}{ATTACKS[attack]}") as box:
            result = await box.run(
                "from target import double\n"
                "def test_attack():\n    double(2)\n"
                "def test_wrong():\n    assert double(2) == 5\n"
                "def test_right():\n    assert double(2) == 4\n"
            )
        assert result.outcome in {"assertion_failed", "killed", "timeout"}
        assert outcomes(result).get("test_wrong") in {None, "assertion_failed", "raised"}


WALK = """
import sys, threading, time

def frames():
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back

def frame_of_the_tests():
    return next(frame for frame in frames() if "case_reports" in frame.f_locals)
"""
ATTACKS = {
    "frames": """
def double(number):
    for frame in frames():
        for name, value in frame.f_locals.items():
            if type(value) is list and name in ("case_reports", "error_report"):
                value[:] = [b"test_attack", b"test_wrong", b"test_right"]
    return number * 2
""",
    "signals": """
def double(number):
    frame_of_the_tests().f_locals["wait_for_guard"].__self__.put(None)
    return number * 2
""",
    "thread": """
def lie(frame):
    while True:
        for name in ("case_reports", "error_report"):
            found = frame.f_locals[name]
            found[:] = [text.partition(b"\\0")[0] for text in found]
        time.sleep(0)

def double(number):
    if threading.active_count() == 1:
        threading.Thread(target=lie, args=(frame_of_the_tests(),), daemon=True).start()
    return number * 2
""",
    "globals": """
def double(number):
    space = frame_of_the_tests().f_globals
    space["note_failure"] = lambda reports, name, error, gravest: reports.append(name) or b""
    for function in (space["note_failure"], space["describe_end"]):
        function.__globals__["describe"] = lambda error: b"passed\\0\\0\\0"
    return number * 2
""",
    "own_record": """
def double(number):
    frame = frame_of_the_tests()
    frame.f_locals["failed"] = False
    frame.f_locals["catch"] = ()
    frame.f_locals["gravest"] = b""
    return number * 2
""",
}


def raised(source: str) -> BaseException:
    try:
        exec(compile(source, "program.py", "exec"), {})
    except Exception as error:  # noqa: BLE001 - the error is what is looked at
        return error
    raise AssertionError(f"nothing was raised by {source!r}")


def test_a_leftover_of_python_2_is_named() -> None:
    for source, word in [
        ("print 'hello'", "print statement"),
        ("exec 'x = 1'", "exec statement"),
        ("raise ValueError, 'no'", "raise"),
        ("try:\n    pass\nexcept ValueError, error:\n    pass", "except"),
        ("if 1 <> 2:\n    pass", "<>"),
        ("x = `1`", "repr"),
        ("x = 10L", "long integer"),
        ("x = 0777", "octal"),
        ("x = ur'text'", "ur"),
        ("for n in xrange(3):\n    pass", "range"),
        ("unicode('a')", "str"),
        ("raw_input()", "input"),
        ("{}.iteritems()", "items"),
        ("{}.has_key(1)", "in"),
        ("import sys\nsys.maxint", "maxsize"),
        ("import urllib2", "urllib.request"),
        ("from cStringIO import StringIO", "io"),
    ]:
        assert word in hint(raised(source))


@pytest.mark.parametrize(
    "source",
    ["x", "import no_such_module", "{}.no_such_method()", "1 / 0", "def f(:", "x = (1", "x = '"],
)
def test_an_ordinary_error_is_none(source: str) -> None:
    assert hint(raised(source)) == ""


@pytest.mark.docker
async def test_a_result_says_so(sandbox: Sandbox) -> None:
    async with sandbox.box("def f(d):\n    return d.iteritems()\n") as box:
        result = await box.run("from target import f\nf({})")
    assert (result.outcome, result.error_type) == ("raised", "AttributeError")
    assert "[Python 2: iteritems; Python 3 has items]" in result.message
