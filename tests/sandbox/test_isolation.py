"""A program reaches nothing but its own box, and leaves nothing for the next one.

With `test_outcomes` it covers ``inside/child.py``, ``inside/run_tests.py``, ``inside/processes.py``
and ``inside/clock.py`` in a box.
"""

import pytest

from sandbox.base import Box

pytestmark = pytest.mark.docker

HEALTHY = "from target import double\nassert double(2) == 4"
DAEMONS = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
"""
MEMORY_OF_MANY = """
import os, time
children = [os.fork() for _ in range(2)]
held = bytearray(120 * 2**20)
if 0 in children:
    time.sleep(60)
for child in children:
    os.waitpid(child, 0)
"""
CRASH = """
import sys
sys.setrecursionlimit(10**9)
def deeper(x):
    return sorted([x], key=deeper)
deeper(0)
"""
LEAVE = """
import os, subprocess
open("/tmp/left", "w").close()
open("/dev/shm/left", "w").close()
subprocess.Popen(["sleep", "60"], start_new_session=True)
"""
LOOK = """
import os
print(os.listdir("/tmp"), os.listdir("/dev/shm"))
print({int(name) for name in os.listdir("/proc") if name.isdigit()} - {1, os.getpid()})
"""


@pytest.mark.parametrize(
    "program",
    [
        "import socket\nsocket.create_connection(('1.1.1.1', 53), 1)",
        "import socket\nsocket.getaddrinfo('example.org', 443)",
        "open('/usr/written', 'w')",
        "open('/packages/written.py', 'w')",
        "open('/etc/shadow').read()",
        "open('/proc/1/environ').read()",
        "open('/proc/1/mem', 'rb')",
        "import os\nos.open('/proc/1/fd/1', os.O_WRONLY)",
        "import os\nos.setuid(0)",
        "with open('/tmp/full', 'wb') as file:\n    while True:\n        file.write(bytes(2**20))",
        "for number in range(100_000):\n    open(f'/tmp/{number}', 'w').close()",
    ],
)
async def test_what_is_out_of_reach_raises_an_os_error(box: Box, program: str) -> None:
    result = await box.run(program)
    assert result.outcome == "raised"
    assert result.error_type in {"OSError", "PermissionError", "gaierror", "ConnectionError"}


async def test_a_program_is_nobody_in_particular(box: Box) -> None:
    program = "import os\nprint(os.getuid(), os.getgid(), sorted(os.environ))\n"
    words = (await box.run(program)).stdout
    user, group, _ = words.split(maxsplit=2)
    assert (int(user) > 10_001, group) == (True, "10001")
    assert "COSQA" not in words


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        (DAEMONS, "passed"),
        (MEMORY_OF_MANY, "memory"),
        (CRASH, "killed"),
        ("import os\nos.kill(1, 9)\nos.kill(1, 19)\nos.kill(os.getpid(), 9)", "killed"),
    ],
    ids=["daemons", "memory of many", "crash", "killing the first process"],
)
async def test_the_box_is_whole_after_an_attack(box: Box, program: str, outcome: str) -> None:
    assert (await box.run(program)).outcome == outcome
    assert (await box.run(HEALTHY)).outcome == "passed"


async def test_a_program_leaves_no_files_and_no_processes_behind(box: Box) -> None:
    assert (await box.run(LEAVE)).outcome == "passed"
    assert (await box.run(LOOK)).stdout == "[] []\nset()\n"


async def test_common_packages_are_there_and_out_of_reach(box: Box) -> None:
    if (await box.run("import os\nassert os.listdir('/opt/packages')")).outcome != "passed":
        pytest.skip("the image was built without a package index")
    for module in ("numpy", "pandas", "requests", "bs4", "yaml", "PIL"):
        opens = f"import {module}\nprint('imported')\nopen({module}.__file__, 'a')"
        opened = await box.run(opens, timeout_s=60.0)
        assert (opened.stdout, opened.outcome) == ("imported\n", "raised"), (module, opened)


async def test_a_program_meets_no_wheel_cache(box: Box) -> None:
    program = "import os\nassert not os.path.exists('/wheels') and not os.listdir('/packages')"
    assert (await box.run(program)).outcome == "passed"
    assert (await box.run("open('/packages/poison.whl', 'w')")).error_type == "OSError"
