"""The behaviours that every box must show: programs and what their results must be.

One more behaviour is one more entry; ``cosqa sandbox check`` and the tests find it here.
"""

from sandbox.contract.behaviour import PASSES, Behaviour, ends, prints, refused, whole_after

_OUTCOMES = (
    ends("a program that runs to its end has passed", PASSES, "passed", error_type=""),
    ends(
        "a false assert has failed",
        "from target import double\nassert double(2) == 5",
        "assertion_failed",
        error_type="AssertionError",
    ),
    ends(
        "an error of the target has been raised",
        "from target import double\ndouble(None)",
        "raised",
        error_type="TypeError",
    ),
    Behaviour(
        "a false assert inside the target is no failed test",
        "import target\ntarget.check(0)",
        {"outcome": "raised", "error_type": "AssertionError"},
        code="def check(value):\n    assert value\n",
    ),
    ends(
        "a missing module is named",
        "import no_such_module.part",
        "import_error",
        missing_module="no_such_module",
    ),
    ends(
        "a missing name in a module that is there is no missing module",
        "from json import no_such_name",
        "raised",
        error_type="ImportError",
        missing_module="",
    ),
    ends("a program that does not parse has raised", "def f(:", "raised", error_type="SyntaxError"),
    Behaviour(
        "code under test that does not parse raises where it is imported",
        "import target",
        {"outcome": "raised", "error_type": "SyntaxError"},
        code="def f(:\n",
    ),
    ends("an endless loop is cut at the time limit", "while True:\n    pass", "timeout"),
    ends("an endless wait is cut at the time limit", "import time\ntime.sleep(1e6)", "timeout"),
    ends("memory is limited", "blocks = [bytearray(2**20) for _ in range(10**6)]", "memory"),
    ends("output is limited", "while True:\n    print('x' * 1000)", "output_limit"),
    ends("a crash is no verdict", "import ctypes\nctypes.string_at(0)", "killed"),
    ends(
        "a program that is killed is no verdict",
        "import os\nos.kill(os.getpid(), 9)",
        "killed",
    ),
)
_FORGERIES = (
    ends("exit(0) is no pass", "import sys\nsys.exit(0)", "raised", error_type="SystemExit"),
    ends("os._exit(0) is no pass", "import os\nos._exit(0)", "killed"),
    ends(
        "becoming another program is no pass",
        "import os\nos.execv('/bin/true', ['true'])",
        "killed",
    ),
    ends(
        "printing that all is well is no pass",
        "print('PASSED', '{\"outcome\": \"passed\"}')\nassert False",
        "assertion_failed",
    ),
    ends(
        "writing to every open file is no pass",
        "import os\nfor n in range(3, 64):\n    try:\n        os.write(n, b'8\\n0 1 1 =\\n')\n"
        "    except OSError:\n        pass\nassert False",
        "assertion_failed",
    ),
    ends(
        "a handler at the interpreter's end changes nothing",
        "import atexit, os\natexit.register(os._exit, 0)\nassert False",
        "assertion_failed",
    ),
    ends(
        "replaced built-ins change nothing",
        "import builtins, os\nos._exit = print\nbuiltins.isinstance = lambda *a: False\n"
        "assert False",
        "assertion_failed",
    ),
    ends(
        "programs cannot trace the harness",
        "import sys\nsys.settrace(print)",
        "raised",
        error_type="RuntimeError",
    ),
)
_COUNTS = (
    ends(
        "asserts and calls of the target are counted",
        "from target import double\nfor n in range(5):\n    assert double(n) == 2 * n",
        "passed",
        tests_run=0,
        asserts_executed=5,
        target_calls=5,
    ),
    ends(
        "an assert that is not reached is not counted",
        "if False:\n    assert True",
        "passed",
        asserts_executed=0,
    ),
    ends(
        "test functions are called and counted, once each",
        "def test_one():\n    assert 1\ndef test_two():\n    assert 2\ntest_one()",
        "passed",
        tests_run=2,
        asserts_executed=2,
    ),
    ends(
        "tests after one that fails are run too",
        "def test_one():\n    assert 0\ndef test_two():\n    assert 2",
        "assertion_failed",
        tests_run=2,
        asserts_executed=2,
    ),
    ends(
        "test cases of unittest are run and counted",
        "import unittest\nclass Case(unittest.TestCase):\n    def test_it(self):\n"
        "        self.assertEqual(1, 1)\nunittest.main()",
        "passed",
        tests_run=1,
        asserts_executed=1,
    ),
    ends(
        "asynchronous tests are awaited",
        "async def test_it():\n    assert False",
        "assertion_failed",
        tests_run=1,
    ),
)
_WALLS = (
    refused("no address can be reached", "import socket\nsocket.create_connection(('1.1.1.1', 9))"),
    refused("no name can be resolved", "import socket\nsocket.getaddrinfo('example.org', 443)"),
    refused("the system cannot be written to", "open('/usr/written', 'w')"),
    refused("installed packages cannot be written to", "open('/packages/written.py', 'w')"),
    refused("secrets of the system cannot be read", "open('/etc/shadow').read()"),
    refused("the runner's environment cannot be read", "open('/proc/1/environ').read()"),
    refused("the runner's memory cannot be opened", "open('/proc/1/mem', 'rb')"),
    refused("the runner's files cannot be opened", "open('/proc/1/fd/1', 'wb')"),
    refused(
        "the runner's limits cannot be changed",
        "import resource\nresource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))",
    ),
    refused("a program cannot become root", "import os\nos.setuid(0)"),
    refused("the clock cannot be changed", "import time\ntime.clock_settime(0, 0)"),
    refused("raw sockets are refused", "import socket\nsocket.socket(2, socket.SOCK_RAW, 1)"),
    refused("sockets to the hypervisor are refused", "import socket\nsocket.socket(40, 1)"),
    refused(
        "temporary files are limited in size",
        "with open('/tmp/f', 'wb') as f:\n    while True:\n        f.write(bytes(2**20))",
    ),
    refused(
        "temporary files are limited in number",
        "for n in range(10**6):\n    open(f'/tmp/{n}', 'w').close()",
    ),
    refused(
        "shared memory is limited in number",
        "for n in range(10**5):\n    open(f'/dev/shm/{n}', 'w').close()",
    ),
    prints(
        "nothing of the host is in the environment",
        "import os\nprint([n for n in os.environ if n.startswith(('COSQA', 'DOCKER', 'PIP'))])",
        "[]\n",
    ),
    prints(
        "programs hold no capability and gain none",
        "for line in open('/proc/self/status'):\n"
        "    if line.startswith(('CapEff:', 'NoNewPr')):\n        print(int(line.split()[1]))",
        "0\n1\n",
    ),
)
_LOOK = (
    "import os\nprint(os.listdir('/tmp'), os.listdir('/dev/shm'))\n"
    "print({int(name) for name in os.listdir('/proc') if name.isdigit()} - {1, os.getpid()})"
)
_WHEN = """
from datetime import UTC, datetime
import time
now = datetime.now(UTC)
print(now.isoformat()[:16], int(now.timestamp()) // 1000)
print(time.strftime("%Y-%m-%dT%H:%M"), int(time.time()) // 1000)
"""
_LATER = """
import time
from datetime import datetime
before, then = time.time(), datetime.now()
time.sleep(0.2)
print(0.2 <= time.time() - before < 2, 0.2 <= (datetime.now() - then).total_seconds() < 2)
"""
_REPEATS = (
    prints("a program finds no files and no other processes", _LOOK, "[] []\nset()\n"),
    Behaviour(
        "one seed gives one order of sets and one row of random numbers",
        "import random\nprint([*map(str, {'a', 'b', 'c', 'd', 'e'})], random.random())",
        {"outcome": "passed"},
        again="same",
    ),
    prints("the clock begins where the caller said", _WHEN, "2026-01-01T00:00 1767225\n" * 2),
    prints("the clock goes on", _LATER, "True True\n"),
    Behaviour(
        "another clock gives another time of day",
        "from datetime import date\nimport time\nprint(date.today(), time.localtime().tm_year)",
        {"outcome": "passed"},
        again="other",
    ),
    Behaviour(
        "one seed gives one row of NumPy's random numbers",
        "try:\n    import numpy\n    print(numpy.random.rand())\nexcept ImportError:\n    pass",
        {"outcome": "passed"},
        again="same",
    ),
    Behaviour(
        "another seed gives other hashes and other random numbers",
        "import random\nprint(hash('a'), random.random())",
        {"outcome": "passed"},
        again="other",
    ),
    Behaviour(
        "what a program printed is kept",
        "import sys\nprint('out')\nprint('err', file=sys.stderr)",
        {"outcome": "passed", "stdout": "out\n", "stderr": "err\n"},
    ),
    prints(
        "bytes that are no text are shown as escapes",
        "import os\nos.write(1, b'\\xff\\x00\\n')",
        "\\xff\\x00\n",
    ),
    whole_after(
        "files and processes left behind are gone before the next run",
        "import subprocess\nopen('/tmp/left', 'w').close()\nopen('/dev/shm/left', 'w').close()\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)",
        f"{_LOOK}\nassert not os.listdir('/tmp') + os.listdir('/dev/shm')",
    ),
    whole_after(
        "the target is whole after a program has changed it",
        "import target\ntarget.double = lambda number: 0",
    ),
    whole_after(
        "the box is whole after a fork bomb",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    ),
    whole_after(
        "the box is whole after a program that ignores every signal",
        "import signal\nfor n in signal.valid_signals() - {9, 19}:\n"
        "    signal.signal(n, signal.SIG_IGN)\nwhile True:\n    pass",
    ),
    whole_after(
        "the box is whole after every signal was sent to the runner",
        "import os, signal\nfor n in signal.valid_signals():\n    os.kill(1, n)",
    ),
)

BEHAVIOURS = (*_OUTCOMES, *_FORGERIES, *_COUNTS, *_WALLS, *_REPEATS)
