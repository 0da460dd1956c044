"""The engine fails, and nobody is told a wrong verdict; after the next start nothing is left.

Covers ``channel`` and ``connection`` where the engine fails.
"""

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import docker
import pytest

from infra.errors import ImageMissingError, SandboxError
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.base import Sandbox
from tests.sandbox.conftest import CODE, LIMITS
from tests.sandbox.own_engine import Line, OwnEngine, own_engine, whats_missing
from tests.waiting import until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    # docker-py leaves a socket that could not connect to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

SLOW = "import time\ntime.sleep(2)\nfrom target import double\nassert double(2) == 4"
HEALTHY = "from target import double\nassert double(2) == 4"


@pytest.fixture(autouse=True)
def _collect_what_could_not_connect() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module")
async def engine(
    sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[OwnEngine]:
    """Return an engine of this module's own; the machine's, which has the image, is asked first."""
    if missing := whats_missing():
        pytest.skip(missing)
    with own_engine(tmp_path_factory.mktemp("engine"), LIMITS.image, megabytes=2500) as made:
        yield made


@pytest.fixture
async def own(engine: OwnEngine, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DockerSandbox]:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    made = DockerSandbox(LIMITS)
    yield made
    await made.close()


@pytest.mark.nightly
async def test_an_engine_killed_in_mid_run_gives_an_error_or_the_right_result(
    engine: OwnEngine, own: DockerSandbox
) -> None:
    async with own.box(CODE) as box:
        running = asyncio.create_task(box.run(SLOW))
        await asyncio.sleep(1)
        await asyncio.to_thread(engine.kill)
        await asyncio.to_thread(engine.start)
        with contextlib.suppress(SandboxError):
            assert (await running).outcome == "passed"
        assert (await box.run(HEALTHY)).outcome == "passed"
    await own.close()

    def is_clean() -> bool:
        left = engine.docker("ps", "--all", "--quiet", "--filter", "label=cosqa.sandbox=1")
        return left.stdout == ""

    await asyncio.to_thread(until, is_clean, awaited="the engine may still be at a removal")


@pytest.mark.nightly
async def test_an_engine_that_stays_away_is_an_error_of_its_own(
    engine: OwnEngine, own: DockerSandbox
) -> None:
    async with own.box(CODE) as box:
        assert (await box.run(HEALTHY)).outcome == "passed"
        await asyncio.to_thread(engine.kill)
        try:
            with pytest.raises(SandboxError, match=r"engine|box"):
                await box.run(HEALTHY)
        finally:
            await asyncio.to_thread(engine.start)
        assert (await box.run(HEALTHY)).outcome == "passed"


@pytest.mark.nightly
async def test_a_full_disk_of_the_engine_is_an_error_and_no_verdict(
    engine: OwnEngine, own: DockerSandbox
) -> None:
    filler = engine.data / "filler"
    await asyncio.to_thread(_fill, filler)
    try:
        with pytest.raises(SandboxError, match="no space left"):
            async with own.box(CODE) as box:
                await box.run(HEALTHY)
    finally:
        filler.unlink()
    async with own.box(CODE) as box:
        assert (await box.run(HEALTHY)).outcome == "passed"


def _fill(file: Path) -> None:
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as opened:
        while True:
            opened.write(bytes(2**20))
    with contextlib.suppress(OSError), file.open("ab", buffering=0) as opened:
        while True:
            opened.write(b"x")


@pytest.mark.nightly
async def test_an_image_that_is_removed_between_two_boxes_is_an_error_with_a_way_out(
    engine: OwnEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    engine.docker("tag", LIMITS.image, "passing:1")
    sandbox = DockerSandbox(LIMITS.model_copy(update={"image": "passing:1", "ready": 0}))
    try:
        async with sandbox.box(CODE) as box:
            assert (await box.run(HEALTHY)).outcome == "passed"
        engine.docker("rmi", "passing:1")
        with pytest.raises(ImageMissingError, match="ensure_engine"):
            async with sandbox.box(CODE) as box:
                await box.run(HEALTHY)
    finally:
        await sandbox.close()


@pytest.mark.nightly
async def test_cleaning_everything_removes_the_images_of_users_but_those_in_use(
    engine: OwnEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)

    def images() -> list[str]:
        listed = engine.docker("images", "--format", "{{.Repository}}:{{.Tag}}")
        return [name for name in listed.stdout.split() if name.startswith("cosqa-sandbox-user:")]

    async def run() -> str:
        sandbox = DockerSandbox(LIMITS.model_copy(update={"ready": 0}))
        async with sandbox.box(CODE) as box:
            outcome = (await box.run(HEALTHY)).outcome
        await sandbox.close()
        return outcome

    await DockerSandbox(LIMITS).clean(everything=True)  # what tests before left
    assert await run() == "passed"
    used = images()[0]
    engine.docker("create", "--name", "user", "--label", "cosqa.sandbox=0", used)
    assert await DockerSandbox(LIMITS).clean(everything=True) == 0
    assert images() == [used]
    engine.docker("rm", "user")
    assert await DockerSandbox(LIMITS).clean(everything=True) == 1
    assert images() == []
    assert await run() == "passed"


@pytest.fixture
async def line(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Line]:
    """Return a line to the machine's engine that can be cut."""
    address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not address.startswith("unix://"):
        pytest.skip(f"the engine at {address} is not behind a socket of this machine")
    made = Line(tmp_path / "line.sock", address.removeprefix("unix://"))
    await made.open()
    monkeypatch.setenv("DOCKER_HOST", made.address)
    yield made
    await made.close()


async def test_a_program_whose_line_is_cut_runs_again(line: Line) -> None:
    sandbox = DockerSandbox(LIMITS)
    async with sandbox.box(CODE) as box:
        await box.run(HEALTHY)
        running = asyncio.create_task(box.run(SLOW))
        await asyncio.sleep(1)
        line.cut()
        assert (await running).outcome == "passed"
    await sandbox.close()


ONE_BOX = LIMITS.model_copy(update={"ready": 0})
WORKER = """
import asyncio, json, sys
from infra.settings import SandboxSettings
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.owners import this_owner

async def main():
    sandbox = DockerSandbox(SandboxSettings.model_validate_json(sys.argv[1]))
    async with sandbox.box("") as box:
        await box.run("pass")
        print(this_owner(), flush=True)
        await box.run("import time; time.sleep(60)")

asyncio.run(main())
"""


async def test_what_a_killed_process_left_is_gone_after_the_next_start(sandbox: Sandbox) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, ONE_BOX.model_dump_json(), stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    owner = (await worker.stdout.readline()).decode().strip()
    assert await asyncio.to_thread(_containers_of, owner)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    following = DockerSandbox(LIMITS)
    await following.check()
    await following.close()
    await asyncio.to_thread(until, lambda: not _containers_of(owner))


async def test_a_killed_process_leaves_nothing_that_runs_though_nobody_starts_again(
    sandbox: Sandbox,
) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, ONE_BOX.model_dump_json(), stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    owner = (await worker.stdout.readline()).decode().strip()
    assert await asyncio.to_thread(_containers_of, owner, all=False)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    # The program in mid-run has its time limit.
    await asyncio.to_thread(until, lambda: not _containers_of(owner, all=False))


def _containers_of(owner: str, *, all: bool = True) -> list[str]:  # noqa: A002 - docker's word
    with contextlib.closing(docker.from_env()) as client:
        filters: dict[str, str | list[str] | bool] = {"label": f"cosqa.owner={owner}"}
        listed = client.containers.list(all=all, filters=filters, ignore_removed=True)
        return [str(container.id) for container in listed]
