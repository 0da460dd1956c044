"""The life of boxes on the engine: made, installed into, lost, removed."""

import asyncio

import docker
import pytest
from docker.models.containers import Container

from infra.errors import BoxLostError, EngineUnavailableError, ImageMissingError
from sandbox.base import Box, Sandbox
from sandbox.docker_backend import DockerSandbox
from sandbox.owner import this_owner
from tests.sandbox.conftest import CODE, LIMITS

pytestmark = pytest.mark.docker


def containers(owner: str | None = None) -> list[Container]:
    client = docker.from_env()
    try:
        label = f"cosqa.owner={owner or this_owner()}"
        return list(client.containers.list(all=True, filters={"label": label}, ignore_removed=True))
    finally:
        client.close()


async def test_nothing_is_left_of_a_box(sandbox: Sandbox) -> None:
    async with sandbox.box(CODE) as box:
        await box.run("pass")
        assert len(containers()) == 1
    assert containers() == []


@pytest.mark.parametrize("delay", [0.01, 0.1, 1.0])
async def test_a_box_that_is_cancelled_is_removed(sandbox: Sandbox, delay: float) -> None:
    async def endless() -> None:
        async with sandbox.box(CODE) as box:
            await box.run("import time\ntime.sleep(3)")

    task = asyncio.create_task(endless())
    await asyncio.sleep(delay)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert containers() == []


async def test_boxes_beyond_the_slots_wait_their_turn(sandbox: Sandbox) -> None:
    async def one() -> str:
        async with sandbox.box(CODE) as box:
            result = await box.run("pass")
            assert len(containers()) <= LIMITS.slots
            return result.outcome

    assert await asyncio.gather(*(one() for _ in range(5))) == ["passed"] * 5


async def test_a_container_removed_from_outside_is_an_error_and_no_verdict(box: Box) -> None:
    assert (await box.run("pass")).outcome == "passed"
    (container,) = containers()
    container.remove(force=True)
    with pytest.raises(BoxLostError):
        await box.run("pass")
    assert (await box.run("pass")).outcome == "passed"


async def test_leftovers_of_a_dead_process_are_removed_at_the_start(sandbox: Sandbox) -> None:
    client = docker.from_env()
    host = this_owner().split("/")[0]
    labels = {"cosqa.sandbox": "1", "cosqa.owner": f"{host}/{2**22 + 1}/1"}
    left = client.containers.create(LIMITS.image, labels=labels)
    stranger = client.containers.create(LIMITS.image, labels={**labels, "cosqa.owner": "else/1/1"})
    try:
        another = DockerSandbox(LIMITS)
        await another.check()
        await another.close()
        names = {container.id for container in client.containers.list(all=True)}
        assert left.id not in names
        assert stranger.id in names
    finally:
        stranger.remove()
        client.close()


async def test_a_missing_image_is_its_own_error(sandbox: Sandbox) -> None:
    other = DockerSandbox(LIMITS.model_copy(update={"image": "cosqa-no-such-image:0"}))
    with pytest.raises(ImageMissingError, match="ensure_engine"):
        await other.check()
    with pytest.raises(ImageMissingError, match="ensure_engine"):
        async with other.box(CODE) as box:
            await box.run("pass")
    await other.close()


async def test_a_wheel_installs_and_cannot_be_changed_by_programs(box: Box) -> None:
    assert (await box.run("import six")).outcome == "import_error"
    installed = await box.install(["six==1.17.0"])
    assert (installed.ok, installed.installed) == (True, ("six==1.17.0",)), installed.message
    assert (await box.run("import six\nassert six.PY3")).outcome == "passed"
    assert (await box.run("import six\nopen(six.__file__, 'a')")).error_type == "OSError"


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


async def test_no_engine_is_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    sandbox = DockerSandbox(LIMITS)
    with pytest.raises(EngineUnavailableError, match="ensure_engine"):
        await sandbox.check()
    await sandbox.close()
