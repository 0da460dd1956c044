"""The life of boxes on the engine: made, installed into, lost, removed.

Covers ``backend``, ``channel``, ``connection`` and ``engine``.
"""

import asyncio
import contextlib
import gc
import re

import docker
import pytest
from docker.client import DockerClient
from docker.errors import APIError
from docker.models.containers import Container

from infra.errors import EngineUnavailableError, ImageMissingError, SandboxError
from infra.settings import load_settings
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.engine import KEEPS_A_NETWORK
from sandbox.backends.docker.owners import NAME, owner_name
from sandbox.base import Box, Sandbox
from tests.sandbox.conftest import CODE, LIMITS
from tests.waiting import eventually

pytestmark = pytest.mark.docker


async def containers(sandbox: Sandbox) -> list[Container]:
    """Return the containers that a sandbox has on the engine."""
    assert isinstance(sandbox, DockerSandbox)
    label = f"{NAME}={(await sandbox.pool.engine()).owned.name}"

    def listed() -> list[Container]:
        with contextlib.closing(docker.from_env()) as client:
            filters: dict[str, str | list[str] | bool] = {"label": label}
            return client.containers.list(all=True, filters=filters, ignore_removed=True)

    return await asyncio.to_thread(listed)


def keeps_a_network(container: Container) -> bool:
    """Return whether a container is no box, but keeps a network for boxes."""
    return bool(container.attrs["Config"]["Cmd"] == list(KEEPS_A_NETWORK))


async def boxes(sandbox: Sandbox) -> list[Container]:
    """Return the boxes that a sandbox has on the engine."""
    return [one for one in await containers(sandbox) if not keeps_a_network(one)]


async def removals(sandbox: DockerSandbox) -> None:
    """Return when all boxes that were given back are gone and their networks are free."""
    while sandbox.pool._removals:
        await asyncio.wait(set(sandbox.pool._removals))


async def test_nothing_is_left_when_the_sandbox_is_closed(own: DockerSandbox) -> None:
    async with own.box(CODE) as box:
        await box.run("pass")
        made = await containers(own)
    assert made
    await own.close()
    assert await alive(made) == []


async def alive(made: list[Container]) -> list[Container]:
    def listed() -> list[Container]:
        with contextlib.closing(docker.from_env()) as client:
            return client.containers.list(all=True, ignore_removed=True)

    names = {container.id for container in await asyncio.to_thread(listed)}
    return [container for container in made if container.id in names]


@pytest.mark.parametrize("delay", [0.01, 0.1, 1.0])
async def test_a_box_that_is_cancelled_is_removed(own: DockerSandbox, delay: float) -> None:
    async def endless() -> None:
        async with own.box(CODE) as box:
            await box.run("import time\ntime.sleep(3)")

    task = asyncio.create_task(endless())
    await asyncio.sleep(delay)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    made = await containers(own)
    await own.close()
    assert await alive(made) == []


async def test_boxes_beyond_the_slots_wait_their_turn() -> None:
    sandbox = DockerSandbox(LIMITS.model_copy(update={"slots": 2}))

    async def one() -> str:
        async with sandbox.box(CODE) as box:
            result = await box.run("pass")
            assert len(await boxes(sandbox)) <= 2 + LIMITS.ready
            return result.outcome

    try:
        assert await asyncio.gather(*(one() for _ in range(5))) == ["passed"] * 5
    finally:
        await sandbox.close()


@pytest.mark.exhaustive
async def test_a_released_box_leaves_its_place_and_goes_on_where_it_was() -> None:
    sandbox = DockerSandbox(LIMITS.model_copy(update={"slots": 1, "ready": 0}))
    async with sandbox.box(CODE) as first, sandbox.box(CODE) as second:
        assert (await first.shell("export WORD=kept && echo there > file")).ok
        await first.release()
        async with asyncio.timeout(240):
            while await boxes(sandbox):  # noqa: ASYNC110 - an engine sets no event
                await asyncio.sleep(0.1)
        assert (await second.run("pass")).outcome == "passed", "else it would wait for ever"
        await second.release()
        program = (
            "import os\nassert (os.environ['WORD'], open('file').read()) == ('kept', 'there\\n')"
        )
        result = await first.run(program)
        assert result.outcome == "passed", result
    await sandbox.close()


async def test_a_program_whose_container_is_removed_from_outside_runs_again(
    own: DockerSandbox,
) -> None:
    async with own.box(CODE) as box:
        assert (await box.run("pass")).outcome == "passed"
        for container in await containers(own):
            with contextlib.suppress(APIError):
                await asyncio.to_thread(container.remove, force=True)
        assert (await box.run("pass")).outcome == "passed"


async def test_a_box_that_is_lost_again_and_again_is_an_error_and_no_verdict(
    sandbox: Sandbox,
) -> None:
    own = DockerSandbox(LIMITS.model_copy(update={"timeout_s": 120.0, "ready": 0}))
    async with own.box(CODE) as box:
        running = asyncio.create_task(box.run("import time\ntime.sleep(100)"))
        while not running.done():
            await asyncio.sleep(0.1)
            for container in await containers(own):
                with contextlib.suppress(APIError):
                    await asyncio.to_thread(container.remove, force=True)
        with pytest.raises(SandboxError):
            await running
    await own.close()


async def test_containers_of_an_ended_process_are_removed_at_the_start(sandbox: Sandbox) -> None:
    client = docker.from_env()
    labels = {"cosqa.sandbox": "1", "cosqa.owner": owner_name(2**22 + 1, "1")}
    left = client.containers.create(LIMITS.image, labels=labels)
    stranger = client.containers.create(LIMITS.image, labels={**labels, "cosqa.owner": "else/1/1"})
    try:
        another = DockerSandbox(LIMITS)
        await another.check()
        await another.close()

        def names() -> set[str | None]:
            return {one.id for one in client.containers.list(all=True, ignore_removed=True)}

        await eventually(lambda: left.id not in names())  # another process may remove it too
        assert stranger.id in names()
    finally:
        stranger.remove()
        client.close()


async def test_what_a_recipe_has_of_the_sandbox_names_the_image_by_its_digest(
    sandbox: Sandbox,
) -> None:
    assert re.search(r"image \S+ sha256:[0-9a-f]{64}\Z", await sandbox.check())


async def test_a_missing_image_is_its_own_error(sandbox: Sandbox) -> None:
    other = DockerSandbox(LIMITS.model_copy(update={"image": "cosqa-no-such-image:0"}))
    with pytest.raises(ImageMissingError, match="ensure_engine"):
        await other.check()
    with pytest.raises(ImageMissingError, match="ensure_engine"):
        async with other.box(CODE) as box:
            await box.run("pass")
    await other.close()


async def test_an_engine_without_a_limit_runs_nothing_unless_that_is_accepted(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = {**(await asyncio.to_thread(info_of_the_engine)), "PidsLimit": False}
    monkeypatch.setattr(DockerClient, "info", lambda _: info)
    refused = DockerSandbox(LIMITS)
    with pytest.raises(SandboxError, match="limits of processes: nothing is run"):
        async with refused.box(CODE) as box:
            await box.run("pass")
    with pytest.raises(SandboxError, match="accept_without"):
        await refused.check()
    await refused.close()
    accepted = DockerSandbox(LIMITS.model_copy(update={"accept_without": ("swap", "processes")}))
    assert "Docker" in await accepted.check()
    await accepted.close()


def info_of_the_engine() -> dict[str, object]:
    with contextlib.closing(docker.from_env()) as client:
        return dict(client.info())


async def test_a_wheel_installs_and_cannot_be_changed_by_programs(box: Box) -> None:
    assert (await box.run("import toolz")).outcome == "import_error"
    installed = await box.install(["toolz==1.0.0"])
    assert (installed.ok, installed.installed) == (True, ("toolz==1.0.0",)), installed.message
    assert (await box.run("import toolz\nassert toolz.first([1])")).outcome == "passed"
    changed = await box.run("import toolz\nopen(toolz.__file__, 'a')")
    assert changed.error_type == "PermissionError", "the installer's user is no box's"


async def test_a_requirement_that_does_not_exist_is_a_result(box: Box) -> None:
    result = await box.install(["six==0.0.0.1"])
    assert not result.ok
    assert "six==0.0.0.1" in result.message


@pytest.mark.parametrize("requirement", ["--index-url=http://x", "./here", "a @ http://x", "-r x"])
async def test_only_names_and_versions_are_requirements(box: Box, requirement: str) -> None:
    result = await box.install([requirement])
    assert (result.ok, result.message) == (False, f"not a requirement: {requirement}")


async def test_installing_can_be_off() -> None:
    sandbox = DockerSandbox(LIMITS.model_copy(update={"allow_install": False}))
    async with sandbox.box(CODE) as box:
        result = await box.install(["six"])
    assert not result.ok
    assert "allow_install" in result.message
    await sandbox.close()


# docker-py leaves a socket that could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "unix:///nonexistent.sock", "no://host"])
async def test_no_engine_is_its_own_error(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    sandbox = DockerSandbox(LIMITS)
    named = rf"{re.escape(address)} \(DOCKER_HOST; .*ensure_engine"
    with pytest.raises(EngineUnavailableError, match=named):
        await sandbox.check()
    await sandbox.close()
    gc.collect()


async def test_a_runtime_that_the_settings_name_is_asked_for_and_no_other_is_taken(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSQA_SANDBOX__RUNTIME", "no-such-runtime")
    runtime = load_settings().sandbox.runtime
    other = DockerSandbox(LIMITS.model_copy(update={"runtime": runtime, "ready": 0}))
    assert "runtime no-such-runtime" in await other.check()
    with pytest.raises(SandboxError, match="no-such-runtime"):
        async with other.box(CODE) as box:
            await box.run("pass")
    await other.close()
