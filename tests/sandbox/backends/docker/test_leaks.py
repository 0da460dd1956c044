"""Box after box, and many at once, leave no container, file descriptor, thread or disk behind."""

import asyncio
import contextlib
import gc
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from infra.settings import SandboxSettings
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.owners import NAME
from sandbox.base import Sandbox
from tests.sandbox.backends.docker.test_backend import containers
from tests.sandbox.conftest import CODE, LIMITS
from tests.waiting import eventually, until

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
]

PROGRAM = "from target import double\nopen('/tmp/left', 'w').write('x')\nassert double(2) == 4"


async def one(sandbox: Sandbox) -> str:
    async with sandbox.box(CODE) as box:
        return (await box.run(PROGRAM)).outcome


async def in_a_row(sandbox: Sandbox, boxes: int) -> list[str]:
    return [await one(sandbox) for _ in range(boxes)]


async def at_once(sandbox: Sandbox, boxes: int) -> list[str]:
    return await asyncio.gather(*(one(sandbox) for _ in range(boxes)))


def held() -> dict[str, int]:
    """Return what this process holds."""
    gc.collect()
    names = [thread.name for thread in threading.enumerate()]
    return {
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": sum(name.startswith("sandbox") for name in names),
    }


def on_disk(containers: list[Container]) -> list[Path]:
    """Return what the engine keeps of containers on its disk, as far as this user may look."""
    with contextlib.closing(docker.from_env()) as client:
        root = Path(client.info()["DockerRootDir"])
    folders = [root / "containers", root / "image" / "overlay2" / "layerdb" / "mounts"]
    return [
        folder / str(container.id)
        for folder in folders
        for container in containers
        if os.access(folder, os.R_OK) and (folder / str(container.id)).exists()
    ]


@pytest.mark.parametrize(
    ("work", "boxes"),
    [
        (at_once, 12),
        pytest.param(in_a_row, 1000, marks=[pytest.mark.nightly, pytest.mark.slow(400)]),
        pytest.param(at_once, 200, marks=[pytest.mark.nightly, pytest.mark.slow(100)]),
    ],
)
async def test_nothing_is_left_of_many_boxes(
    sandbox: Sandbox, work: Callable[[Sandbox, int], Awaitable[list[str]]], boxes: int
) -> None:
    settings = SandboxSettings.model_validate({**LIMITS.model_dump(), "slots": 4})
    before = await steady()
    own = DockerSandbox(settings)
    assert await work(own, boxes) == ["passed"] * boxes
    made = await containers(own)
    assert 0 < len(made) <= 2 * (settings.machine_slots + settings.ready)  # and networks
    name = (await own.pool.engine()).owned.name
    await own.close()
    await settle(before)
    assert await left_of(name) == []
    await asyncio.to_thread(until, lambda: on_disk(made) == [])


def more_than(before: dict[str, int]) -> dict[str, int]:
    """Return of what this process holds more than before, and how much more.

    It may hold less: threads and connections of other tests end in the meantime.
    """
    return {kind: count - before[kind] for kind, count in held().items() if count > before[kind]}


@pytest.mark.parametrize("kind", ["files", "threads"])
async def test_no_more_than_before_is_the_law_for_each_resource(kind: str) -> None:
    now = held()
    assert more_than({**now, kind: now[kind] + 4}) == {}
    assert more_than({**now, kind: now[kind] - 1}) == {kind: 1}


async def steady() -> dict[str, int]:
    """Return what this process holds once other tests' sandbox has replaced its used boxes."""
    looks = [held()]

    def is_steady() -> bool:
        looks.append(held())
        return len(looks) > 10 and looks[-10:] == [looks[-1]] * 10

    await eventually(is_steady, awaited="a process that holds the same for a second")
    return looks[-1]


async def settle(before: dict[str, int]) -> None:
    """Wait until this process holds no more than before; worker threads take a moment to end."""
    await eventually(lambda: more_than(before) == {}, awaited=f"no more than {before}")


async def left_of(name: str) -> list[str]:
    def listed() -> list[str]:
        with contextlib.closing(docker.from_env()) as client:
            filters: dict[str, str | list[str] | bool] = {"label": f"{NAME}={name}"}
            found = client.containers.list(all=True, filters=filters, ignore_removed=True)
            return [str(container.id) for container in found]

    return await asyncio.to_thread(listed)
