"""Programs whose code under test runs in a process of its own.

Covers `sandbox.inside.frames`, `sandbox.inside.interpreters`, `sandbox.inside.library_values`,
`sandbox.inside.service`, `sandbox.inside.proxy`.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from infra.records import ExecutionResult
from infra.settings import SandboxSettings
from sandbox.base import NOT_SEPARABLE, Sandbox
from tests.real_sandbox import real_sandbox

pytestmark = pytest.mark.docker
LIMITS = SandboxSettings(slots=1, memory_mb=256, timeout_s=10.0, tmp_mb=16, output_kb=8)


class Pair(NamedTuple):
    """Code under test, and the body of a test of it."""

    name: str
    code: str
    test: str


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with real_sandbox(LIMITS) as made:
        yield made


async def both(
    sandbox: Sandbox, pair: Pair, timeout_s: float | None = None
) -> tuple[ExecutionResult, ExecutionResult]:
    """Return the results of a program beside the code, and apart from it."""
    body = "\n".join(f"    {line}" for line in pair.test.splitlines())
    program = f"import target\nfrom target import f\ndef test_it():\n{body}\n"
    async with sandbox.box(pair.code) as box:
        beside = await box.run(program, timeout_s=timeout_s)
        return beside, await box.run(program, timeout_s=timeout_s, isolated=True)


SAME = [
    Pair("a value", "def f(x): return x + 1", "assert f(2) == 3"),
    Pair("keywords", "def f(a, *, b=2): return [a, b]", "assert f(1, b=3) == [1, 3]"),
    Pair("an argument changed", "def f(x):\n    x.sort()\n    return x",
         "one = [2, 1]\nassert f(one) is one\nassert one == [1, 2]"),
    Pair("a generator", "def f(n):\n    yield from range(n)",
         "made = f(3)\nassert next(made) == 0\nassert list(made) == [1, 2]"),
    Pair("an iterator", "def f(x): return map(str, x)", "assert list(f([1])) == ['1']"),
    Pair("an error of Python", "def f(x): return {}[x]",
         "try:\n    f(1)\nexcept KeyError as error:\n    assert error.args == (1,)\n"
         "else:\n    assert False"),
    Pair("an error of the library", "import json\ndef f(x): return json.loads(x)",
         "try:\n    f('{')\nexcept ValueError as error:\n    assert 'Expecting' in str(error)\n"
         "else:\n    assert False"),
    Pair("a callback", "def f(g, x): return [g(item) for item in x]",
         "assert f(lambda item: item * 2, [1, 2]) == [2, 4]"),
    Pair("a callback that raises", "def f(g):\n    try:\n        g()\n"
         "    except ValueError as error:\n        return str(error)",
         "def g(): raise ValueError('no')\nassert f(g) == 'no'"),
    Pair("a function of the code", "def f(g): return g(2)\ndef twice(x): return 2 * x",
         "assert f(target.twice) == 4"),
    Pair("a built-in", "def f(g, x): return g(x)", "assert f(len, 'abc') == 3"),
    Pair("what is printed", "def f(): print('one')",
         "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as out:\n    f()\n"
         "assert out.getvalue() == 'one\\n'"),
    Pair("chance", "import random\ndef f(): return random.random()",
         "import random\nrandom.seed(4)\nfirst, second = f(), random.random()\nrandom.seed(4)\n"
         "assert [first, second] == [random.random(), random.random()]"),
    Pair("files", "def f(name):\n    with open(name, 'w') as file:\n        file.write('text')",
         "f('made')\nassert open('made').read() == 'text'"),
    Pair("the environment", "import os\ndef f(): return os.environ.pop('NAME')",
         "import os\nos.environ['NAME'] = 'a'\nassert f() == 'a'\nassert 'NAME' not in os.environ"),
    Pair("a constant", "LIMIT = (1, 'a')\ndef f(): return LIMIT", "assert target.LIMIT == f()"),
    Pair("a module", "import os.path\ndef f(x): return os.path.join(x, 'b')",
         "assert f('a') == target.os.path.join('a', 'b')"),
    Pair("NumPy by the code's name", "import numpy as np\ndef f(x): return np.cumsum(x)",
         "from target import np\nassert (f(np.array([1, 2])) == [1, 3]).all()"),
    Pair("threads", "def f(x): return x",
         "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n"
         "    assert list(pool.map(f, range(200))) == list(range(200))"),
    Pair("a coroutine", "async def f(x): return x",
         "import asyncio\nassert asyncio.run(f(1)) == 1"),
    Pair("state of the code", "counts = []\ndef f():\n    counts.append(1)\n    return len(counts)",
         "assert [f(), f()] == [1, 2]"),
    Pair("arrays", "import numpy\ndef f(x): return numpy.cumsum(x)",
         "import numpy\nassert (f(numpy.array([1, 2])) == [1, 3]).all()"),
    Pair("a failure", "def f(x): return x", "assert f(1) == 2"),
    Pair("no such name", "def f(x): return x", "assert target.g(1) == 2"),
    Pair("words that mean nothing", "def f(x): return x",
         "# no mock, no patch\n'monkeypatch'\nassert f('mock of builtins') == 'mock of builtins'"),
]  # fmt: skip


@pytest.mark.parametrize("pair", SAME, ids=lambda pair: pair.name)
async def test_a_program_ends_apart_as_it_does_beside_the_code(
    pair: Pair, sandbox: Sandbox
) -> None:
    beside, apart = await both(sandbox, pair)
    counts = {"outcome", "tests_run", "asserts_executed"}
    assert apart.model_dump(include=counts) == beside.model_dump(include=counts), apart
    assert beside.outcome == "passed" or pair.name in ("a failure", "no such name"), beside


TOGETHER = [
    Pair("an object", "class A:\n    def __eq__(self, other): return True\ndef f(): return A()",
         "assert f() == 3"),
    Pair("an object inside", "class A(int): pass\ndef f(): return [A(3)]", "assert f() == [3]"),
    Pair("a class", "class A: pass\ndef f(): return 1", "assert target.A and f() == 1"),
    Pair("its own error", "class E(Exception): pass\ndef f(): raise E", "try: f()\nexcept E: pass"),
    Pair("an object of the program", "def f(x): return x.a",
         "class A: a = 1\nassert f(A()) == 1"),
    Pair("a replaced name", "import time\ndef f(): return time.time()",
         "from unittest import mock\nwith mock.patch('time.time', lambda: 1): assert f() == 1"),
    Pair("a replaced name of Python", "def f(x): return len(x)",
         "f.__getattribute__('__globals__')['len'] = lambda _: 1\nassert f('ab') == 1"),
    Pair("a list of the code", "names = []\ndef f(): names.append(1)",
         "f()\nassert target.names == [1]"),
]  # fmt: skip


@pytest.mark.parametrize("pair", TOGETHER, ids=lambda pair: pair.name)
async def test_what_needs_one_interpreter_is_given_up_with_a_reason(
    pair: Pair, sandbox: Sandbox
) -> None:
    _, apart = await both(sandbox, pair)
    assert (apart.outcome, apart.error_type) == ("raised", NOT_SEPARABLE), apart
    assert apart.message


# Each passes beside the code, by code that knows or changes what is asserted.
FORGED = [
    Pair("reads the assert", "import sys\ndef f(x):\n"
         "    return 3 if 3 in sys._getframe(1).f_code.co_consts else 0", "assert f(9) == 3"),
    Pair("reads the program", "import __main__, linecache\ndef f(x):\n"
         "    text = __main__.__loader__.get_source('')\n"
         "    return 3 if '== 3' in text else 0", "assert f(9) == 3"),
    Pair("changes the caller's variables", "import ctypes, sys\ndef f(x):\n"
         "    caller = sys._getframe(1)\n    caller.f_locals['want'] = x\n"
         "    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(caller), ctypes.c_int(0))\n"
         "    return x", "want = 3\ngot = f(9)\nassert got == want"),
    Pair("replaces a built-in", "import sys\ndef f(x):\n"
         "    sys._getframe(1).f_builtins['sorted'] = lambda *_: [1, 2]\n    return x",
         "got = f([9])\nassert sorted(got) == [1, 2]"),
    Pair("replaces a built-in of the library", "import math\ndef f(x):\n"
         "    math.isclose = lambda *_: True\n    return x",
         "import math\ngot = f(9)\nassert math.isclose(got, 3)"),
    Pair("replaces the program's helper", "import sys\ndef f(x):\n"
         "    sys.modules['__main__'].test_it.__globals__['right'] = lambda _: True\n    return x",
         "global right\nright = lambda value: value == 3\ngot = f(9)\nassert right(got)"),
]  # fmt: skip


@pytest.mark.parametrize("pair", FORGED, ids=lambda pair: pair.name)
async def test_what_code_knows_of_its_program_beside_it_it_does_not_know_apart(
    pair: Pair, sandbox: Sandbox
) -> None:
    beside, apart = await both(sandbox, pair)
    assert beside.outcome == "passed", beside
    assert apart.outcome != "passed", apart


MEMORY = """
import gc, os
def f(x):
    mark = 'want = 123456' + '789'
    held = [value for one in gc.get_objects() if type(one) in (dict, list, tuple)
            for value in (one.values() if type(one) is dict else one)]
    found = sum(mark in str(value) for value in held if type(value) in (str, bytes))
    try:
        open('/proc/self/mem')
    except PermissionError:
        return found
    return 'memory can be read'
"""
OTHERS = """
import os
def f(x):
    seen = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        for name in ('mem', 'environ', 'maps', 'fd', 'cwd'):
            path = f'/proc/{pid}/{name}'
            if int(pid) == os.getpid():
                continue
            try:
                seen.append((os.listdir if name == 'fd' else open)(path))
            except OSError:
                pass
    return len(seen)
"""
FILES = """
import os, stat
def f(x):
    kinds = []
    for file in range(4, 256):
        try:
            kinds.append(os.path.samestat(os.fstat(file), os.stat('/dev/null')))
        except OSError:
            pass
    return all(kinds)
"""
HELD = [
    Pair("the program's text in its memory", MEMORY, "want = 123456789\nassert f(1) == 0"),
    Pair("memory and files of others", OTHERS, "assert f(1) == 0"),
    Pair("files of the runner", FILES, "assert f(1)"),
    Pair("variables that load code", "import os\ndef f(x):\n"
         "    os.environ.update(LD_PRELOAD='x', PYTHONPATH='y', NAME='z')",
         "import os\nf(1)\nassert 'LD_PRELOAD' not in os.environ\n"
         "assert 'PYTHONPATH' not in os.environ\nassert os.environ['NAME'] == 'z'"),
]  # fmt: skip


@pytest.mark.parametrize("pair", HELD, ids=lambda pair: pair.name)
async def test_code_that_runs_apart_finds_nothing_of_the_program(
    pair: Pair, sandbox: Sandbox
) -> None:
    _, apart = await both(sandbox, pair)
    assert apart.outcome == "passed", apart


# Each makes the interpreter of the asserts do something by a name or setting of the code's side.
STEERS = [
    Pair("a module named by a forged object", "import os, sys, types\n"
         "os.makedirs('/tmp/t', exist_ok=True)\n"
         "open('/tmp/t/test_x.py', 'w').write('import sys; '\n"
         "    'sys.exit = lambda *_: open(\"/tmp/t/obeyed\", \"w\")')\n"
         "os.chdir('/tmp/t')\nsys.argv[:] = ['x', 'discover']\n"
         "named = types.ModuleType('unittest.__main__')\ndef f(x): return x",
         "import os\nassert f(9) == 9 and os.path.exists('/tmp/t/obeyed')"),
    Pair("an exception of a module that is not loaded", "import os\n"
         "class Error(Exception): pass\nError.__module__ = 'wave'\nError.__qualname__ = 'Error'\n"
         "def f(x): raise Error", "try:\n    f(9)\nexcept Exception: pass\n"
         "import sys\nassert 'wave' in sys.modules"),
    Pair("a module of its own beside a plain value", "import os\nfrom fractions import Fraction\n"
         "for name in ('fractions', 'decimal', 'numpy', 'numbers'):\n"
         "    open(name + '.py', 'w').write('import os; os._exit(0)')\n"
         "def f(x): return Fraction(1, 3)", "assert f(9) == 3"),
    Pair("its arguments", "import sys\ndef f(x):\n    sys.argv[:] = ['x', '3']\n    return x",
         "f(9)\nimport sys\nassert getattr(sys, 'ar' + 'gv')[1:] == ['3']"),
    Pair("its environment", "import os\ndef f(x):\n    os.environ['NAME'] = '3'\n    return x",
         "f(9)\nimport os\nassert getattr(os, 'envi' + 'ron').get('NAME') == '3'"),
]  # fmt: skip


@pytest.mark.parametrize("pair", STEERS, ids=lambda pair: pair.name)
async def test_the_interpreter_of_the_asserts_obeys_no_name_and_no_setting_of_the_code(
    pair: Pair, sandbox: Sandbox
) -> None:
    _, apart = await both(sandbox, pair)
    assert apart.outcome != "passed", apart


HARM = {
    "ends": "import os\ndef f(x): os._exit(0)",
    "kills": "import os\ndef f(x): os.kill(-1, 9)",
    "never answers": "def f(x):\n    while True: pass",
    "answers before it is asked": "import os\ndef f(x):\n    for _ in range(9):\n"
    "        os.write(3, b'\\0\\0\\0\\2{}')\n    return 3",
    "answers garbage": "import os\ndef f(x):\n    os.write(3, b'\\0\\0\\0\\2[]')",
    "answers too much": "import os\ndef f(x):\n    os.write(3, b'\\xff' * 9)",
    "nests too deeply": "import os\ndef f(x):\n"
    "    os.write(3, (100_000).to_bytes(4, 'big') + b'[' * 100_000)",
    "forges an exit": "import os\ndef f(x):\n    os.write(3, b'GIVEN UP')\n    os._exit(77)",
}


@pytest.mark.parametrize("name", HARM)
async def test_an_answer_that_is_none_is_no_success(name: str, sandbox: Sandbox) -> None:
    timeout_s = 1.0 if name == "never answers" else None
    _, apart = await both(sandbox, Pair(name, HARM[name], "assert f(9) == 3"), timeout_s)
    assert apart.outcome != "passed", apart


HIDDEN = [  # a name, code that binds it, and what stands before the star import
    ("sorted", "def sorted(x): return [1, 2]", ""),
    ("isclose", "globals()['isclose'] = lambda *_: True", "from math import isclose"),
    ("isclose", "vars()['isclose'] = lambda *_: True", "from math import isclose"),
    ("isclose", "exec('def isclose(*_): return True')", "from math import isclose"),
    ("isclose", "def isclose(*_): return True", "from math import isclose"),
    ("right", "def right(*_): return True", "def right(got, want): return got == want"),
    ("math", "import os as math", "import math"),
]


async def test_no_name_of_another_is_taken_from_the_code_by_a_star_import(sandbox: Sandbox) -> None:
    for name, binding, before in HIDDEN:
        code = f"def f(x): return x\n{binding}\n"
        program = f"{before}\nfrom target import *\ndef test_it(): assert {name} and f(9) == 9\n"
        async with sandbox.box(code) as box:
            apart = await box.run(program, isolated=True)
        assert (apart.error_type, name in apart.message) == (NOT_SEPARABLE, True), (binding, apart)


async def test_a_star_import_takes_what_the_text_shows_and_modules_of_both(
    sandbox: Sandbox,
) -> None:
    code = "import math, os.path as path\nLIMIT = 9\ndef f(x): return x\n"
    program = "import os, math\nfrom target import *\ndef test_it(): assert f(LIMIT) == 9\n"
    async with sandbox.box(code) as box:
        assert (await box.run(program, isolated=True)).outcome == "passed"


async def test_the_box_is_whole_after_a_run_apart(sandbox: Sandbox) -> None:
    pair = SAME[0]
    program = "from target import f\ndef test_it(): assert f(2) == 3"
    async with sandbox.box(pair.code) as box:
        for apart in (True, False, True):
            result = await box.run(program, isolated=apart)
            assert (result.outcome, result.target_calls) == ("passed", 1)
