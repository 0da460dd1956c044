"""Ways to run a pair's programs in Docker: ours and those that it is measured against.

A pair's evidence is seven executions: a program, its repeat under another hash seed, five mutants.
A box serves one pair and is then thrown away.
"""

import asyncio
import contextlib
import importlib
import io
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, Self

import docker

from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Sandbox

CODE = '''
def overlap(first, second):
    """Return how many items two lists share."""
    return len(set(first) & set(second))
'''
PROGRAM = """
from target import overlap

def test_some():
    assert overlap([1, 2, 3], [2, 3, 4]) == 2

def test_none():
    assert overlap([1], [2]) == 0
    assert overlap([], []) == 0

def test_repeated():
    assert overlap([1, 1], [1, 1, 1]) == 1
"""
MUTANTS = [CODE.replace("&", sign) for sign in ("|", "-", "^")] + [
    CODE.replace("len(", "1 + len("),
    CODE.replace("len(", "-len("),
]
EXECUTIONS = [(CODE, 0), (CODE, 1), *((mutant, 0) for mutant in MUTANTS)]
# For rivals that know no target: the same code, imported under the same name, the tests called.
SCRIPT = """
import sys, types
target = sys.modules["target"] = types.ModuleType("target")
exec({code!r}, vars(target))
{program}
test_some(); test_none(); test_repeated()
"""


def script(code: str) -> str:
    """Return one text with code and program."""
    return SCRIPT.format(code=code, program=PROGRAM)


class Rival(Protocol):
    """Something that works through pairs."""

    name: str

    def timed_pairs(self, number: int, callers: int) -> tuple[int, float]:
        """Work through pairs, so many at once; return how many runs passed, and the seconds."""
        ...


class Ours:
    """This sandbox: the mutants of a pair run in boxes of the pair's own code under test."""

    name = "this sandbox"

    def timed_pairs(self, number: int, callers: int) -> tuple[int, float]:
        """See ``Rival``; making and removing all boxes is counted in."""
        started = time.perf_counter()
        passed = asyncio.run(self._pairs(number, callers))
        return passed, time.perf_counter() - started

    async def _pairs(self, number: int, callers: int) -> int:
        sandbox = make_sandbox(SandboxSettings(slots=callers))
        try:
            return sum(await asyncio.gather(*(_pair(sandbox) for _ in range(number))))
        finally:
            await sandbox.close()


async def _pair(sandbox: Sandbox) -> int:
    async with sandbox.box(CODE) as box:
        passed = 0
        for code, hash_seed in EXECUTIONS:
            result = await box.run(PROGRAM, code=code, hash_seed=hash_seed)
            passed += result.outcome == "passed"
        return passed


class Threaded:
    """What works through pairs one after another, in as many threads as there are callers."""

    def execute(self, code: str, hash_seed: int) -> bool:
        """Run one program."""
        raise NotImplementedError

    def pair(self) -> int:
        """Work through one pair."""
        return sum(self.execute(code, seed) for code, seed in EXECUTIONS)

    def timed_pairs(self, number: int, callers: int) -> tuple[int, float]:
        """See ``Rival``."""
        return _timed(self.pair, number, callers)


class DockerRun(Threaded):
    """``docker run --rm`` for each execution, with the same flags."""

    name = "docker run --rm"

    def execute(self, code: str, hash_seed: int) -> bool:
        """Run one program in a container of its own."""
        seed = ["--env", f"PYTHONHASHSEED={hash_seed}"]
        words = [*_flags(), *seed, SandboxSettings().image, "python3", "-c", script(code)]
        done = subprocess.run(["docker", "run", "--rm", *words], capture_output=True, check=False)
        return done.returncode == 0


class DockerExec(Threaded):
    """``docker exec`` in a container with the same flags, which runs for one pair.

    What an execution leaves there the next one finds, unlike in ours.
    """

    name = "docker exec"

    def __enter__(self) -> Self:
        words = ["docker", "run", "--detach", "--rm", *_flags(), SandboxSettings().image]
        done = subprocess.run([*words, "sleep", "600"], capture_output=True, text=True, check=True)
        self._container = done.stdout.strip()
        return self

    def __exit__(self, *_: object) -> None:
        words = ["docker", "rm", "--force", self._container]
        subprocess.run(words, capture_output=True, check=True)

    def execute(self, code: str, hash_seed: int) -> bool:
        """Run one program in the container."""
        seed = ["--env", f"PYTHONHASHSEED={hash_seed}"]
        words = ["docker", "exec", *seed, self._container, "python3", "-c", script(code)]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0

    def pair(self) -> int:
        """Work through one pair in a container of its own."""
        with DockerExec() as rival:
            return sum(rival.execute(code, seed) for code, seed in EXECUTIONS)


def _flags() -> list[str]:
    """Return the options of ``docker run`` that set the same limits as ours."""
    limits = SandboxSettings()
    return [
        "--network", "none", "--read-only", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--user", "10001:10001", "--workdir", "/tmp",
        "--tmpfs", f"/tmp:size={limits.tmp_mb}m", "--shm-size", "8m", "--log-driver", "none",
        "--pids-limit", str(limits.processes), "--memory", f"{limits.memory_mb}m",
        "--memory-swap", f"{limits.memory_mb}m", "--cpus", str(limits.cpus),
        "--ulimit", "nofile=256", "--ulimit", "core=0",
    ]  # fmt: skip


def _timed(pair: Callable[[], int], number: int, callers: int) -> tuple[int, float]:
    """Work through pairs in threads; return how many runs passed, and the seconds."""
    started = time.perf_counter()
    with ThreadPoolExecutor(callers) as workers:
        passed = sum(workers.map(lambda _: pair(), range(number)))
    return passed, time.perf_counter() - started


class LlmSandbox:
    """llm-sandbox: a session for each pair, opened anew or taken from its pool.

    Its containers have a network, a writable root, root as user and no limits; its preparation of
    an environment for packages, which takes seconds, is left out, and its pool's containers are
    used again for other pairs, as is its default. Both are to its advantage.
    """

    def __init__(self, *, pooled: bool) -> None:
        importlib.import_module("llm_sandbox")
        self.name = "llm-sandbox, its pool" if pooled else "llm-sandbox, sessions"
        self._pooled = pooled
        self._options: dict[str, Any] = {
            "lang": "python",
            "image": _llm_sandbox_image(),
            "runtime_configs": {
                "user": "root",
                "command": ["python3"],
                "tty": True,
                "stop_signal": "SIGKILL",  # or each of its stops would wait ten seconds
            },
            "workdir": "/tmp",
        }

    def timed_pairs(self, number: int, callers: int) -> tuple[int, float]:
        """See ``Rival``; making and closing its pool is not counted."""
        pool = self.pool(callers)
        try:
            return _timed(lambda: self.pair(pool), number, callers)
        finally:
            if pool is not None:
                pool.close()

    def pool(self, callers: int) -> Any:
        """Return its pool, filled, or None."""
        if not self._pooled:
            return None
        from llm_sandbox.pool import PoolConfig, create_pool_manager  # noqa: PLC0415 - optional

        config = PoolConfig(max_pool_size=callers, min_pool_size=callers)
        return create_pool_manager(backend="docker", config=config, **self._options)

    def session(self, pool: Any) -> Any:
        """Return a session to be entered."""
        from llm_sandbox import SandboxSession  # noqa: PLC0415 - optional

        if pool is not None:
            return SandboxSession(pool=pool, lang="python")
        return SandboxSession(skip_environment_setup=True, **self._options)

    def pair(self, pool: Any) -> int:
        """Work through one pair."""
        with self.session(pool) as session:
            runs = (session.run(script(code)) for code, _ in EXECUTIONS)
            return sum(run.exit_code == 0 for run in runs)


def _llm_sandbox_image() -> str:
    """Return our image with Python where llm-sandbox looks for it, its own preparation made."""
    text = f"""
FROM {SandboxSettings().image}
USER root
RUN mkdir -p /sandbox/.sandbox-venv/bin \\
    && ln -sf "$(command -v python3)" /sandbox/.sandbox-venv/bin/python \\
    && {{ command -v python || ln -s "$(command -v python3)" /usr/local/bin/python; }}
"""
    name = "cosqa-bench-llm-sandbox:1"
    with contextlib.closing(docker.from_env()) as client:
        client.images.build(fileobj=io.BytesIO(text.encode()), tag=name, network_mode="none")
    return name
