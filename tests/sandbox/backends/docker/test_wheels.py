"""What installs brings wheels of the index into a box, and ends at the limits.

Covers ``wheels``.
"""

import asyncio
import json
from pathlib import Path

import pytest
from docker.models.containers import Container

from infra.errors import SandboxError
from sandbox.backends import make_sandbox
from sandbox.backends.docker import wheels
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.wheels import wheel_cache
from sandbox.base import Sandbox
from tests.fakes.package_index import Silent, Site, asked_of, running, source_distribution
from tests.sandbox.backends.docker.test_backend import containers
from tests.sandbox.backends.docker.test_leaks import settle, steady
from tests.sandbox.conftest import CODE, LIMITS
from tests.test_layout import ROOT
from tests.waiting import eventually

pytestmark = pytest.mark.docker


async def test_a_wheel_and_what_it_needs_are_there_and_nobody_reads_the_indexs_credentials(
    index: Site, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(sandbox, DockerSandbox)
    engine = await sandbox.pool.engine()
    shown, run = [], engine.installers.run

    def run_and_show(installer: Container, limit_s: float) -> object:
        result = run(installer, limit_s)
        installer.reload()
        shown.append(installer.attrs)
        return result

    monkeypatch.setattr(engine.installers, "run", run_and_show)
    index.list_wheel("first", "sec_ond")
    index.list_wheel("sec-ond")
    async with sandbox.box(CODE) as box:
        result = await box.install(["first"])
        assert (result.ok, result.installed) == (True, ("first==1", "sec-ond==1")), result
        seen = await box.run("import os, first\nassert '.wheels' not in os.listdir('/packages')")
    assert seen.outcome == "passed", seen
    assert shown[0]["HostConfig"]["NetworkMode"] == "none"
    assert "word-of-mouth" not in json.dumps(shown)


@pytest.mark.exhaustive
async def test_nothing_is_built_and_nobody_else_is_asked(
    index: Site, sandbox: Sandbox, tmp_path: Path
) -> None:
    with running(Site()) as stranger:
        source = source_distribution("evil", tmp_path / "ran")
        index.list_wheel("builds", f"evil @ {index.add('/files/evil-1.tar.gz', source)}")
        index.list_wheel("asks", f"evil @ {stranger.add('/evil-1-py3-none-any.whl', b'')}")
        index.list_wheel("honest")
        async with sandbox.box(CODE) as box:
            results = {name: await box.install([name]) for name in ("builds", "asks", "honest")}
            assert (await box.run("import honest")).outcome == "passed"
    assert [result.ok for result in results.values()] == [False, False, True], results
    for name in ("builds", "asks"):
        assert results[name].message.startswith("ERROR: only wheels of the index are installed")
    assert stranger.asked == []
    assert not (tmp_path / "ran").exists()


async def test_the_limit_is_for_all_that_is_installed_for_a_pair(index: Site) -> None:
    sandbox = make_sandbox(LIMITS.model_copy(update={"install_mb": 5}))
    for name in ("first", "second"):
        index.list_wheel(name, files={"big": "0" * 3_000_000})
    async with sandbox.box(CODE) as box:
        results = [await box.install([name]) for name in ("first", "second")]
        assert (await box.run("import first")).outcome == "passed"
    await sandbox.close()
    assert results[0].ok, results
    assert "(sandbox.install_mb)" in results[1].message


async def test_a_later_version_replaces_an_earlier_one(index: Site, sandbox: Sandbox) -> None:
    index.list_wheel("first", files={"first.py": "number = 1"})
    async with sandbox.box(CODE) as box:
        assert (await box.install(["first"])).ok
        index.list_wheel("first", version="2", files={"first.py": "number = 2"})
        assert (await box.install(["first>1"])).installed == ("first==2",)
        seen = await box.run("import first\nassert first.number == 2")
    assert seen.outcome == "passed", seen


@pytest.mark.exhaustive
async def test_installations_at_once_have_ways_of_their_own(index: Site, sandbox: Sandbox) -> None:
    async def installed(name: str) -> tuple[str, ...]:
        async with sandbox.box(CODE) as box:
            return (await box.install([name])).installed

    names = ["first", "second", "third"]
    for name in names:
        index.list_wheel(name)
    assert await asyncio.gather(*map(installed, names)) == [(f"{name}==1",) for name in names]


async def test_what_was_fetched_is_kept_for_later_boxes(
    index: Site, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_TRUSTED_HOST", index.place)  # or pip would keep nothing
    index.list_wheel("first")
    for _ in range(2):
        async with sandbox.box(CODE) as box:
            assert (await box.install(["first"])).ok
    assert len([path for path in index.asked if path.startswith("/files/")]) == 1
    assert wheel_cache().exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["cancelled", "time-out"])
async def test_nothing_is_left_of_an_installation_that_was_ended(
    how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits = {"install_timeout_s": 3.0 if how == "time-out" else 600.0, "ready": 0}
    sandbox = DockerSandbox(LIMITS.model_copy(update=limits))
    await sandbox.check()
    with running(Silent()) as index:
        asked_of(index, monkeypatch, tmp_path)
        before = await steady()
        async with sandbox.box(CODE) as box:
            installing = asyncio.create_task(box.install(["x"]))
            if how == "cancelled":
                await eventually(lambda: index.connections > 0)
                installing.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await installing
            else:
                result = await installing
                assert (result.ok, result.message) == (False, "installing took over 3 s")
            assert await containers(sandbox) == []
        index.over.set()
        await sandbox.close()
        await settle(before)
    assert list((tmp_path / "temporary").iterdir()) == []


async def test_a_container_that_does_not_end_is_ended() -> None:
    sandbox = DockerSandbox(LIMITS.model_copy(update={"install_timeout_s": 600.0}))
    engine = await sandbox.pool.engine()
    container = engine._create(["sleep", "600"], network_mode="none")
    try:
        result = await sandbox.pool.call(engine.installers.run, container, 1.0)
    finally:
        engine.owned.remove(container)
    assert (result.ok, result.message) == (False, "installing took over 600 s")
    await sandbox.close()


async def test_the_image_has_the_libraries_that_programs_need(sandbox: Sandbox) -> None:
    listed = (ROOT / "sandbox" / "image" / "libraries.txt").read_text("utf-8").split()
    program = "import os\nprint(*os.listdir('/var/lib/dpkg/info'), sep='\\n')"
    async with sandbox.box(CODE) as box:
        there = (await box.run(program)).stdout
        seen = await box.run(
            "import ctypes\nctypes.CDLL('libGL.so.1')\nctypes.CDLL('libcairo.so.2')"
        )
    if not any(name in there for name in listed):
        pytest.skip("the image was built without an archive of Debian packages")
    assert seen.outcome == "passed", seen


async def test_no_debian_package_is_added_to_a_box(sandbox: Sandbox) -> None:
    async with sandbox.box(CODE) as box:
        done = await box.shell("sudo apt-get install -y openssh-server")
        result = await box.install(["apt:libgl1", "six"])
    assert (done.ok, done.installed) == (False, ())
    assert "of its image, and gets no others" in done.output
    assert result.message == "not a requirement: apt:libgl1"


async def test_a_missing_library_is_named(sandbox: Sandbox) -> None:
    program = "raise ImportError('libGL.so.1: cannot open shared object file: No such file')"
    async with sandbox.box(CODE) as box:
        result = await box.run(program)
    assert (result.outcome, result.missing_module) == ("import_error", "libGL.so.1")


async def test_an_image_without_pip_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "QUESTION", ["python3", "-c", "import no_pip"])
    sandbox = DockerSandbox(LIMITS)
    async with sandbox.box(CODE) as box:
        with pytest.raises(SandboxError, match="needs python3 with pip"):
            await box.install(["six"])
    await sandbox.close()
