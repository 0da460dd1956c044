"""What commands do for the next run lasts; what they try beyond their box fails or is harmless."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox
from tests.fakes.package_index import Site
from tests.sandbox.conftest import CODE, LIMITS

pytestmark = pytest.mark.docker

PREFILLED = Path("sandbox/image/packages.txt").read_text("utf-8").splitlines()
HEALTHY = """
import os
from target import double

def test_it():
    assert double(2) == 4
    assert {int(name) for name in os.listdir("/proc") if name.isdigit()} == {1, os.getpid()}
    assert double.__code__.co_filename == "target.py"
"""
WRONG = "from target import double\ndef test_it():\n    assert double(2) == 5\n"


@pytest.fixture(scope="module")
async def arena(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    """Return a sandbox with time enough for commands."""
    made = make_sandbox(LIMITS.model_copy(update={"command_timeout_s": 60.0}))
    yield made
    await made.close()


@pytest.fixture(scope="module")
async def hasty(sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    """Return a sandbox with little time for commands."""
    made = make_sandbox(LIMITS.model_copy(update={"command_timeout_s": 5.0, "ready": 0}))
    yield made
    await made.close()


async def test_files_folders_and_variables_last_and_are_made_again(arena: Sandbox) -> None:
    look = (
        "import os\nassert open('data/a.txt').read() == 'one\\n', os.listdir()\n"
        "assert open(os.path.expanduser('~/.rc')).read() == 'two\\n'\n"
        "assert os.environ['MODE'] == 'x y'\nos.remove('data/a.txt')\nopen('left', 'w').close()"
    )
    async with arena.box(CODE) as box:
        for line in (
            "mkdir data && echo one > data/a.txt",
            "echo two > ~/.rc",
            "export MODE='x y'",
        ):
            assert (await box.shell(line)).ok
        for _ in range(2):
            result = await box.run(look)
            assert result.outcome == "passed", result
        seen = await box.shell("ls; cat data/a.txt; echo $MODE")
    assert (seen.status, seen.output) == (0, "data\none\nx y\n")


async def test_status_and_output_are_those_of_the_shell(arena: Sandbox) -> None:
    async with arena.box(CODE) as box:
        failed = await box.shell("echo out; echo err >&2; exit 7")
        skipped = await box.shell("pip install -r x && echo never")
        other = await box.shell("pip install -r x || echo instead")
    assert (failed.status, failed.output) == (7, "out\nerr\n")
    assert skipped.status == 2
    assert "never" not in skipped.output
    assert other.ok
    assert other.output.endswith("instead\n")


LINES = {  # and a part of what they print; none for those that may end in any way
    "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 1)'": "OSError",
    "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 443)'": "gaierror",
    "python3 -c 'import socket; socket.create_connection((\"172.17.0.1\", 22), 1)'": "OSError",
    "python3 -c 'import socket; socket.create_connection((\"169.254.169.254\", 80), 1)'": "OSError",
    "python3 -c 'import socket; socket.socket(40, 1)'": "PermissionError",
    "(pip install --retries 0 no-such-thing)": "No matching distribution",
    "cat /etc/shadow": "Permission denied",
    "ls /var/run/docker.sock": "No such file",
    "cat /proc/1/environ": "Permission denied",
    "echo x > /proc/1/mem": "Permission denied",
    "echo x > /proc/1/fd/1": "Permission denied",
    "kill -9 1; kill -STOP 1; exit 3": "",
    "mount -t tmpfs none /mnt": "mount",
    "unshare -r id": "Operation not permitted",
    "touch /packages/sitecustomize.py": "Read-only",
    "touch /opt/packages/x.pth": "Read-only",
    "touch /usr/lib/python3/dist-packages/evil.pth": "Read-only",
    "dd if=/dev/zero of=full bs=1M": "File too large",
    "for n in 1 2 3; do dd if=/dev/zero of=f$n bs=1M count=15; done": "No space left",
    "i=0; while touch f$i; do i=$((i+1)); [ $i -lt 3000 ] || break; done": "",
    ":(){ :|:& };:": "",
    "yes": "stopped: output_limit",
    "sleep 60": "stopped: timeout",
    "trap '' TERM INT HUP; setsid sleep 60 & while :; do :; done": "stopped: timeout",
    "python3 -c 'x = [bytearray(2**20) for _ in range(10**5)]'": "MemoryError",
    "nohup setsid sleep 60 >/dev/null 2>&1 & disown; (sleep 60 &)": "",
}  # fmt: skip
QUICK = {line for line in LINES if any(part in line for part in (
    "1.1.1.1", "docker.sock", "/proc/1/mem", "sitecustomize", "count=1", "(pip", "nohup"
))}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, marks=() if line in QUICK else pytest.mark.nightly) for line in LINES],
)
async def test_a_command_that_reaches_beyond_its_box_fails(
    arena: Sandbox, hasty: Sandbox, line: str
) -> None:
    said = LINES[line]
    chosen = hasty if said in ("", "stopped: timeout") else arena
    async with chosen.box(CODE) as box:
        result = await asyncio.wait_for(box.shell(line), 600)
        assert said in result.output, result
        assert not (said and result.ok)
        after = await box.run(HEALTHY)
        wrong = await box.run(WRONG)
    assert (after.outcome, wrong.outcome) == ("passed", "assertion_failed"), (after, wrong)


MODULE = "import target; target.double = lambda n: 5"
SUBVERSIONS = {
    "a module in the working directory": (
        f"echo '{MODULE}' | tee target.py sitecustomize.py usercustomize.py json.py unittest.py "
        "program.py"
    ),
    "a module in the user's folder": (
        "d=$HOME/.local/lib/python3.11/site-packages; mkdir -p $d; "
        f"echo '{MODULE}' | tee $d/usercustomize.py $d/six.py; "
        f"echo 'import os; os._exit(0)' > $d/evil.pth"
    ),
    "what a shell reads": "echo 'exit 0' | tee ~/.profile ~/.bashrc ~/.shrc; export ENV=/tmp/.shrc",
    "a library to be preloaded": "touch x.so; export LD_PRELOAD=/tmp/x.so; "
    "export PYTHONPATH=/tmp; export PYTHONSTARTUP=/tmp/target.py",
    "a link to the system": "ln -s / root; ln -s /proc/1 one; mkdir -p a/b; ln -s .. a/b/up",
    "names that are hard to remove": "mkdir -p d/e && touch d/e/f && chmod 0 d/e d",
    "a file for the coming program": "mkfifo stdin; echo passed > report; ln -s /dev/full full",
}  # fmt: skip


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", SUBVERSIONS)
async def test_no_command_makes_a_failing_test_pass(arena: Sandbox, name: str, seed: int) -> None:
    async with arena.box(CODE) as box:
        await box.shell(SUBVERSIONS[name])
        wrong = await box.run(WRONG, hash_seed=seed)
        right = await box.run(HEALTHY, hash_seed=seed)
    assert (wrong.outcome, right.outcome) == ("assertion_failed", "passed"), (wrong, right)


async def test_nothing_that_a_package_brings_runs_before_it_is_imported(
    index: Site, sandbox: Sandbox
) -> None:
    """Neither ``.pth`` files nor modules that Python imports at its start, nor known names."""
    names = [
        "sitecustomize",
        "usercustomize",
        "json",
        "unittest",
        "target",
        "linecache",
        "traceback",
        "program",
    ]
    files = {f"{name}.py": MODULE for name in names}
    index.list_wheel("evil", files={**files, "evil.pth": "import os; os._exit(0)"})
    async with sandbox.box(CODE) as box:
        assert (await box.install(["evil"])).ok
        for seed in (0, 1):
            there = await box.run("import os\nassert os.path.exists('/packages/evil.pth')")
            assert there.outcome == "passed"
            assert (await box.run(WRONG, hash_seed=seed)).outcome == "assertion_failed"
            unit = f"import unittest, json, traceback\n{WRONG}"
            assert (await box.run(unit, hash_seed=seed)).outcome == "assertion_failed"
            assert (await box.run(HEALTHY, hash_seed=seed)).outcome == "passed"


LOADED_BEFORE_PYTHON = (
    "libm.so.6", "libc.so.6", "libz.so.1", "libexpat.so.1", "libpython3.11.so.1.0", "gconv-modules",
)  # fmt: skip


async def test_no_file_of_a_wheel_is_loaded_before_the_interpreter(
    index: Site, sandbox: Sandbox
) -> None:
    """Broken libraries wherever a loader might look would end every process that finds one."""
    folders = [
        f"{top}{folder}{machine}"
        for top in ("", ".debian/", "debian/")
        for folder in ("", "lib/", "usr/lib/", "lib64/")
        for machine in ("", "x86_64-linux-gnu/", "aarch64-linux-gnu/")
    ]
    files = {f"{folder}{name}": "broken" for folder in folders for name in LOADED_BEFORE_PYTHON}
    index.list_wheel("evil", files={**files, "bin/python3": "exit 1", "evil-1.data/scripts/sh": ""})
    async with sandbox.box(CODE) as box:
        assert (await box.install(["evil"])).ok
        for seed in (0, 1):
            healthy = await box.run(HEALTHY, hash_seed=seed)
            assert healthy.outcome == "passed", healthy
            wrong = await box.run(WRONG, hash_seed=seed)
            assert wrong.outcome == "assertion_failed", wrong
        seen = await box.run("import os\nprint(os.environ.get('LD_LIBRARY_PATH', ''))")
        said = await box.shell("echo $LD_LIBRARY_PATH; ls /packages/usr/lib/libm.so.6")
    assert (seen.outcome, seen.stdout) == ("passed", "\n")
    assert (said.status, said.output) == (0, "\n/packages/usr/lib/libm.so.6\n")


async def test_a_bare_box_has_pythons_own_modules_alone(sandbox: Sandbox) -> None:
    names = [line.partition("==")[0] for line in PREFILLED if line and not line.startswith("#")]
    modules = {"beautifulsoup4": "bs4", "pillow": "PIL", "python-dateutil": "dateutil",
               "pyyaml": "yaml", "scikit-learn": "sklearn"}  # fmt: skip
    program = (
        "import importlib.util, sys\n"
        f"names = {[modules.get(n, n.replace('-', '_')) for n in names if n != 'time-machine']!r}\n"
        "found = [name for name in names if importlib.util.find_spec(name)]\n"
        "assert not found, found\nassert '/opt/packages' not in sys.path\nimport json, unittest\n"
    )
    async with sandbox.box(CODE, bare=True) as box:
        for seed in (0, 1):
            result = await box.run(program, hash_seed=seed)
            assert result.outcome == "passed", result
        assert not (await box.shell("python3 -c 'import numpy'")).ok


async def test_what_the_fixer_installs_is_there_in_a_bare_box() -> None:
    limits = SandboxSettings(slots=1, ready=0)
    bare = make_sandbox(limits)
    async with bare.box(CODE, bare=True) as box:
        done = await box.shell("pip install -q six && python3 -c 'import six' && echo imported")
        result = await box.run("import six\nassert six.PY3")
    await bare.close()
    if "imported" not in done.output:
        pytest.skip(f"no package index: {done.output}")
    assert done.installed == ("six",)
    assert result.outcome == "passed"


async def test_commands_run_on_the_boxs_memory_file_system(arena: Sandbox) -> None:
    async with arena.box(CODE) as box:
        said = await box.shell("pwd; stat -f -c %T . ~")
    assert (said.status, said.output) == (0, "/tmp\ntmpfs\ntmpfs\n")
