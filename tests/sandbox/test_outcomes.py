"""What a program does decides its outcome; what it prints does not.

Covers `sandbox.base`, `sandbox.inside.child`, `sandbox.inside.clock`, `sandbox.inside.processes`.
"""

import pytest

from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Box, Sandbox
from tests.sandbox.conftest import LIMITS

pytestmark = pytest.mark.docker

OUTCOMES = {
    "passed": "from target import double\nassert double(2) == 4",
    "assertion_failed": "from target import double\nassert double(2) == 5",
    "raised": "from target import double\nassert double(None) == 4",
    "import_error": "import no_such_module\nassert True",
    "timeout": "while True:\n    pass",
    "memory": "held = [bytearray(2**20) for _ in range(10_000)]",
    "output_limit": "while True:\n    print('x' * 1000)",
    "killed": "import os\nos.kill(os.getpid(), 9)",
}
WRITES_TO_ALL_FILES = """
import os
for file in range(3, 64):
    try:
        os.write(file, b'8\\n1 9 9 =\\n')
    except OSError:
        pass
assert False
"""
REPLACES_WHAT_THE_HARNESS_USES = """
import builtins, json, os
json.dumps = lambda *a: '{"outcome": "passed"}'
os._exit = print
builtins.isinstance = lambda *a: False
assert False
"""


@pytest.mark.parametrize("outcome", OUTCOMES)
async def test_each_way_to_end_has_its_outcome(box: Box, outcome: str) -> None:
    limit_s = 2.0 if outcome == "timeout" else None
    assert (await box.run(OUTCOMES[outcome], timeout_s=limit_s)).outcome == outcome


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("print('PASSED')\nimport sys\nsys.exit(0)", "raised"),
        ("raise SystemExit", "raised"),
        ("import os\nprint('PASSED')\nos._exit(0)", "killed"),
        ("import os\nos.execv('/bin/true', ['true'])", "killed"),
        (WRITES_TO_ALL_FILES, "assertion_failed"),
        (REPLACES_WHAT_THE_HARNESS_USES, "assertion_failed"),
        ("import atexit, os\natexit.register(os._exit, 0)\nassert False", "assertion_failed"),
    ],
)
async def test_none_of_these_tricks_makes_a_program_pass(
    box: Box, program: str, outcome: str
) -> None:
    assert (await box.run(program)).outcome == outcome


WORKS_A_SECOND = """
import os, time
def work():
    while time.process_time() < 1.0:
        pass
def test_in_this_process():
    work()
    assert True
def test_in_another():
    if not os.fork():
        work()
        os._exit(0)
    os.wait()
    assert True
"""
MANY_THAT_WORK = """
import os
for _ in range(8):
    if not os.fork():
        break
while True:
    pass
"""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("program", "outcome"), [(WORKS_A_SECOND, "passed"), (MANY_THAT_WORK, "timeout")]
)
async def test_a_time_limit_counts_what_a_program_does_and_not_what_it_waits_for_a_core(
    program: str, outcome: str
) -> None:
    sandbox = make_sandbox(SandboxSettings(cpus=0.25, timeout_s=4, ready=0))
    try:
        async with sandbox.box("") as box:
            assert (await box.run(program)).outcome == outcome
    finally:
        await sandbox.close()


async def test_an_import_error_names_the_missing_module(box: Box) -> None:
    result = await box.run("from no_such_module.part import thing")
    assert (result.missing_module, result.error_type) == ("no_such_module", "ModuleNotFoundError")


async def test_an_assert_of_the_target_itself_is_no_failed_test(sandbox: Sandbox) -> None:
    async with sandbox.box("def check(x):\n    assert x, 'empty'\n") as box:
        result = await box.run("from target import check\ncheck(0)")
    assert (result.outcome, result.error_type) == ("raised", "AssertionError")


async def test_a_failed_assert_is_shown_with_its_line(box: Box) -> None:
    result = await box.run("import target\n\nassert target.double(1) == 3")
    assert "line 3: assert target.double(1) == 3" in result.message
    assert 'File "program.py", line 3' in result.stderr


async def test_a_program_that_does_not_parse_raised_a_syntax_error(box: Box) -> None:
    result = await box.run("def test(:")
    assert (result.outcome, result.error_type) == ("raised", "SyntaxError")


async def test_output_is_kept_up_to_the_limit(box: Box) -> None:
    result = await box.run("import sys\nprint('a' * 20_000)\nprint('b' * 10, file=sys.stderr)")
    assert result.outcome == "passed"
    assert result.stdout.startswith("a" * 4096 + "\n… ")
    assert result.stdout.endswith(" …\n" + "a" * 4095 + "\n")
    assert result.stderr == "b" * 10 + "\n"


async def test_the_hash_seed_is_the_callers(box: Box) -> None:
    program = "print(hash('seeded'))"
    seeds = (0, 1, 1)
    first, second, again = [(await box.run(program, hash_seed=seed)).stdout for seed in seeds]
    assert first != second
    assert second == again


async def test_a_run_may_have_other_code_under_test_and_less_time(box: Box) -> None:
    program = "from target import double\nassert double(2) == 5"
    mutant = "def double(number):\n    return number + 3\n"
    assert (await box.run(program, code=mutant)).outcome == "passed"
    assert (await box.run(program)).outcome == "assertion_failed"
    cut = await box.run("while True:\n    pass", timeout_s=0.5)
    assert (cut.outcome, cut.seconds < LIMITS.timeout_s) == ("timeout", True)


@pytest.mark.parametrize("hash_seed", [0, 1])
async def test_a_program_can_read_the_source_of_the_code_and_its_own(
    box: Box, hash_seed: int
) -> None:
    program = (
        "import inspect, target\ndef test_it():\n"
        "    assert 'return' in inspect.getsource(target.double)\n"
        "    assert 'inspect' in inspect.getsource(test_it)\n"
    )
    result = await box.run(program, hash_seed=hash_seed)
    assert (result.outcome, result.tests_run) == ("passed", 1), result.stderr


async def test_a_failure_is_told_alike_in_a_fork_and_in_a_new_interpreter(box: Box) -> None:
    for program in ("import target\nassert target.double(1) == 3", "def f(:", "print 'x'", "1\0"):
        results = [await box.run(program, hash_seed=seed) for seed in (0, 1)]
        told = [(one.outcome, one.error_type, one.message, one.stderr) for one in results]
        assert told[0] == told[1]
        assert told[0][0] != "passed"


async def test_a_program_may_change_functions_as_libraries_do(box: Box) -> None:
    program = (
        "import asyncio, collections, types\n"
        "@types.coroutine\ndef generate():\n    yield\n"
        "async def test_one():\n    await generate()\n"
        "Point = collections.namedtuple('Point', 'x y', defaults=(1,))\n"
        "def f(a, b=1):\n    return b\n"
        "f.__defaults__ = (2,)\n"
        "def test_two():\n    assert f(0) == 2 and Point(0).y == 1\n"
    )
    result = await box.run(program)
    assert (result.outcome, len(result.tests)) == ("passed", 2), result


BEGINS_ALIKE = {
    "hashes of texts": "print(hash('a'), hash(b'a'), hash(('a', 1)), *{'a', 'b', 'c', 'd'})",
    "random": "import random\nprint(random.random(), random.sample(range(99), 5))",
    "numpy's own functions": "import numpy\nprint(numpy.random.rand(), numpy.random.randint(9**9))",
    "numpy's, imported by a library": "print(__import__('num' + 'py').random.rand())",
    "the date": "import datetime\nprint(datetime.date.today(), datetime.datetime.now().year)",
    "time": "import time\nprint(time.gmtime().tm_year, time.localtime().tm_yday)",
}


@pytest.mark.parametrize("what", BEGINS_ALIKE)
async def test_what_the_readme_calls_alike_is_alike_in_two_boxes(
    sandbox: Sandbox, what: str
) -> None:
    results = []
    for _ in range(2):
        async with sandbox.box("") as box:
            results.append(await box.run(BEGINS_ALIKE[what]))
    first, second = results
    if first.missing_module == "numpy":
        pytest.skip("the image was built without a package index")
    assert (first.outcome, first.stdout) == ("passed", second.stdout)


async def test_numpy_is_there_before_a_program_that_imports_it_and_for_no_other(box: Box) -> None:
    asked = "import sys\nprint('numpy' in sys.modules)"
    assert (await box.run(asked)).stdout == "False\n"
    if not (result := await box.run("import numpy")).missing_module:
        assert result.outcome == "passed", result
        patched = "from unittest.mock import patch\nwith patch.dict(sys.modules):\n    import numpy"
        result = await box.run(f"{asked}\n{patched}\nimport numpy")
        assert (result.outcome, result.stdout) == ("passed", "True\n"), result


DIFFERS = {
    "addresses": "print(id(object()), id([]), id(None))",
    "os.urandom": "import os\nprint(os.urandom(16), os.getrandom(16))",
    "generators without a seed": (
        "import random, secrets\nprint(random.SystemRandom().random(), secrets.token_hex())\n"
        "try:\n    import numpy\n    print(numpy.random.default_rng().random())\n"
        "except ImportError:\n    pass"
    ),
    "times of files": "import os\nopen('made', 'w').close()\nprint(os.stat('made').st_mtime_ns)",
    "the kernel's other clocks": "import time\nprint(time.clock_gettime(time.CLOCK_BOOTTIME))",
}


@pytest.mark.parametrize("what", DIFFERS)
async def test_what_the_readme_calls_different_differs_in_two_boxes(
    sandbox: Sandbox, what: str
) -> None:
    results = []
    for _ in range(2):
        async with sandbox.box("") as box:
            results.append(await box.run(DIFFERS[what]))
    first, second = results
    assert (first.outcome, second.outcome) == ("passed", "passed"), results
    assert first.stdout != second.stdout


async def test_a_program_can_tell_how_many_runs_its_box_has_had(box: Box) -> None:
    """It is not promised that it cannot: where this fails, the README says too little."""
    numbers = [int((await box.run("import os\nprint(os.getpid())")).stdout) for _ in range(3)]
    assert numbers == sorted(set(numbers))
