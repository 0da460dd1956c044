"""What installs has the index's credentials to itself, and ends at the limits.

Covers ``installers`` and ``streams``.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sandbox.backends import make_sandbox
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.box import DockerBox
from sandbox.base import InstallResult, Sandbox
from sandbox.packages import apt, pip
from sandbox.packages.pip import outcome
from sandbox.packages.plan import InstallPlan, places_of
from tests.sandbox.backends.docker.test_backend import containers
from tests.sandbox.backends.docker.test_leaks import more_than, settle, steady
from tests.sandbox.conftest import CODE, LIMITS
from tests.sandbox.packages.test_wheels_only import Site, running, source_distribution
from tests.waiting import eventually

# Prints which of its arguments, each a host and a port, it can reach, by itself and by the proxy.
TRIES = """
import os, socket, sys
print([name for _, name in socket.if_nameindex()])
proxy = os.environ["http_proxy"].rpartition("/")[2].split(":")
for place in sys.argv[1:]:
    host, port = place.rsplit(":", 1)
    try:
        socket.create_connection((host, port), 5)
        print("reached", place)
    except OSError as error:
        print("unreachable", place)
    for asked in (f"CONNECT {place}", f"GET http://{place}/"):
        with socket.create_connection(proxy) as connection:
            connection.sendall(f"{asked} HTTP/1.1\\r\\n\\r\\n".encode())
            print(asked.split()[0], connection.makefile().readline().strip())
for family in (socket.AF_VSOCK, socket.AF_PACKET):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
    except PermissionError:
        print("no socket of that family")
"""
SEEN = "Successfully installed seen-1"
pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="session")]


async def test_nobody_reads_an_indexs_credentials_from_the_engine(sandbox: Sandbox) -> None:
    assert isinstance(sandbox, DockerSandbox)
    engine = await sandbox.engine()
    settings = {"index-url": "https://user:word-of-mouth@index.example/simple"}
    variables = pip.environment(settings, certificates=False)
    script = f"[ ${{#PIP_INDEX_URL}} = {len(settings['index-url'])} ] && echo '{SEEN}'"
    plan = InstallPlan(["sh", "-c", script], variables, [], outcome)
    volume = engine.make_volume()
    try:
        installer = engine.installers.make(volume, plan)
        try:
            result = await asyncio.to_thread(engine.installers.run, installer, plan)
            installer.reload()
            shown = json.dumps(installer.attrs)
        finally:
            engine.remove(installer)
    finally:
        engine.remove_volume(volume)
    assert result.installed == ("seen==1",), result
    assert "word-of-mouth" not in shown


async def test_the_images_own_pip_builds_nothing_and_asks_nobody_else(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with running(Site()) as index, running(Site()) as stranger:
        settings = {"index-url": f"{index.url}/simple"}
        monkeypatch.setattr(pip, "host_pip_settings", lambda: settings)
        source = source_distribution("evil", tmp_path / "ran")
        index.list_wheel("builds", f"evil @ {index.add('/files/evil-1.tar.gz', source)}")
        index.list_wheel("asks", f"evil @ {stranger.add('/evil-1-py3-none-any.whl', b'')}")
        index.list_wheel("honest")
        async with sandbox.box(CODE) as box:
            results = {name: await box.install([name]) for name in ("builds", "asks", "honest")}
            assert results["honest"].ok, results
            assert (await box.run("import honest")).outcome == "passed"
    assert [result.ok for result in results.values()] == [False, False, True], results
    assert "nothing is built" in results["builds"].message
    assert f"{stranger.place} is none" in results["asks"].message
    assert stranger.asked == []


async def test_an_installation_beyond_its_limit_is_a_result() -> None:
    sandbox = make_sandbox(LIMITS.model_copy(update={"install_mb": 1}))
    writing = "head -c 3000000 /dev/zero >/packages/big; sleep 60"
    async with sandbox.box(CODE) as box:
        assert isinstance(box, DockerBox)
        result = await box._install(InstallPlan(["sh", "-c", writing], {}, [], outcome))
        assert (result.ok, result.message) == (False, "limit: more than 1 MB (sandbox.install_mb)")
        assert (await box.run("pass")).outcome == "passed"
    await sandbox.close()


async def test_debian_packages_come_from_the_images_own_sources(sandbox: Sandbox) -> None:
    assert isinstance(sandbox, DockerSandbox)
    assert LIMITS.apt_mirror is None
    engine = await sandbox.engine()
    sites = engine.installers.apt_sites()
    assert sites
    with contextlib.closing(docker.from_env()) as client:
        reading = ["sh", "-c", "cat /etc/apt/sources.list /etc/apt/sources.list.d/* || true"]
        listed = client.containers.run(LIMITS.image, reading, network_mode="none", remove=True)
    assert all(place.rpartition(":")[0] in listed.decode() for place in places_of(sites))


@pytest.fixture
def neighbour() -> Iterator[str]:
    """Return the place of a server in another container, on the engine's usual network."""
    with contextlib.closing(docker.from_env()) as client:
        serving = ["python3", "-m", "http.server", "8000"]
        container = client.containers.run(LIMITS.image, serving, detach=True, remove=True)
        try:
            container.reload()
            networks = container.attrs["NetworkSettings"]["Networks"].values()
            yield next(f"{network['IPAddress']}:8000" for network in networks)
        finally:
            container.remove(force=True)


async def test_nothing_but_the_index_can_be_reached_while_something_is_installed(
    sandbox: Sandbox, neighbour: str
) -> None:
    gateway = f"{neighbour.rpartition('.')[0]}.1"
    with running(Site()) as index, running(Site("0.0.0.0")) as host:
        port = host.server.server_port
        others = [neighbour, f"{gateway}:{port}", f"127.0.0.1:{port}", "169.254.169.254:80"]
        others += [f"localhost:{port}", "name.example:443", "192.0.2.1:53"]
        index.add("/", b"")
        command = ["python3", "-c", TRIES, *others, index.place]
        seen = list[str]()

        def outcome(status: int, output: str, _: float) -> InstallResult:
            seen.extend(output.splitlines())
            return InstallResult(ok=status == 0, message=output)

        async with sandbox.box(CODE) as box:
            assert isinstance(box, DockerBox)
            assert (await box._install(InstallPlan(command, {}, [index.place], outcome))).ok, seen
    refusals = [f"{place} is no place of this installation" for place in others]
    said = [f"HTTP/1.1 403 {reason}" for reason in refusals]
    expected = ["['lo']"]
    for place, line in zip(others, said, strict=True):
        expected += [f"unreachable {place}", f"CONNECT {line}", f"GET {line}"]
    expected += [f"unreachable {index.place}", "CONNECT HTTP/1.1 200 Connected"]
    expected += ["GET HTTP/1.0 200 OK", *["no socket of that family"] * 2]
    assert seen == [*expected, *(f"refused: {reason}" for reason in refusals)]
    assert host.asked == []
    assert index.asked == ["/"]


async def test_this_machines_own_proxy_is_the_way_and_its_password_stays_here(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site is the proxy, and so is asked for whole addresses."""
    with running(Site()) as company:
        company.list_wheel("honest")
        for path in list(company.files):
            company.files[f"http://index.example{path}"] = company.files.pop(path)
        settings = {"index-url": "http://index.example/simple", "trusted-host": "index.example"}
        proxy = f"http://me:word-of-mouth@{company.place}"
        monkeypatch.setattr(pip, "host_pip_settings", lambda: {**settings, "proxy": proxy})
        plan = pip.plan(["honest"], [])
        assert "word-of-mouth" not in plan.input().decode() + str(plan.command)
        async with sandbox.box(CODE) as box:
            result = await box.install(["honest"])
    assert result.installed == ("honest==1",), result
    assert {path.partition("/simple")[0] for path in company.asked[:1]} == {"http://index.example"}


async def test_installations_at_once_have_ways_of_their_own(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def installed(name: str) -> tuple[str, ...]:
        async with sandbox.box(CODE) as box:
            return (await box.install([name])).installed

    names = ["first", "second", "third"]
    with running(Site()) as index:
        settings = {"index-url": f"{index.url}/simple"}
        monkeypatch.setattr(pip, "host_pip_settings", lambda: settings)
        for name in names:
            index.list_wheel(name)
        assert await asyncio.gather(*map(installed, names)) == [(f"{name}==1",) for name in names]


HOLDS_A_CONNECTION = """
import os, socket, sys, time
proxy = os.environ["http_proxy"].rpartition("/")[2].split(":")
connection = socket.create_connection(proxy)
connection.sendall(f"CONNECT {sys.argv[1]} HTTP/1.1\\r\\n\\r\\nGET /held HTTP/1.1\\r\\n".encode())
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["cancelled", "time-out"])
async def test_nothing_is_left_of_an_installation_that_was_ended(how: str) -> None:
    limits = {"install_timeout_s": 5.0 if how == "time-out" else 600.0, "ready": 0}
    sandbox = DockerSandbox(LIMITS.model_copy(update=limits))
    await sandbox.check()
    with running(Site()) as index:
        before = await steady()
        command = ["python3", "-c", HOLDS_A_CONNECTION, index.place]
        plan = InstallPlan(command, {}, [index.place], outcome)
        async with sandbox.box(CODE) as box:
            assert isinstance(box, DockerBox)
            installing = asyncio.create_task(box._install(plan))
            if how == "cancelled":
                await eventually(lambda: index.connections > 0)
                installing.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await installing
            else:
                result = await installing
                assert (result.ok, result.message) == (False, "installing took over 5 s")
            assert await containers(sandbox) == []
        await sandbox.close()
        await settle(before)
        assert more_than(before) == {}


async def test_a_container_that_speaks_for_its_tunnels_fails_and_its_host_goes_on(
    sandbox: Sandbox,
) -> None:
    speaking = "exec 3>/proc/1/fd/1; head -c 100000 /dev/zero | tr '\\0' '\\377' >&3; sleep 600"
    async with sandbox.box(CODE) as box:
        assert isinstance(box, DockerBox)
        result = await box._install(InstallPlan(["sh", "-c", speaking], {}, [], outcome))
        assert not result.ok
        assert "broke its protocol" in result.message
        assert (await box.run("pass")).outcome == "passed"


WORKER = """
import asyncio, sys
from infra.settings import SandboxSettings
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.process_owner import this_owner
from sandbox.packages.pip import outcome
from sandbox.packages.plan import InstallPlan

async def main():
    sandbox = DockerSandbox(SandboxSettings.model_validate_json(sys.argv[1]))
    async with sandbox.box("") as box:
        await sandbox.check()
        print(this_owner(), flush=True)
        await box._install(InstallPlan(["sleep", "600"], {}, [], outcome))

asyncio.run(main())
"""


async def test_an_installation_ends_with_the_process_that_began_it(sandbox: Sandbox) -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, LIMITS.model_dump_json(), stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    owner = (await worker.stdout.readline()).decode().strip()
    await eventually(lambda: running_of(owner) > 0)
    worker.kill()
    await worker.wait()
    await eventually(lambda: running_of(owner) == 0)
    following = DockerSandbox(LIMITS)
    await following.check()
    await following.close()
    await eventually(lambda: running_of(owner, all=True) == 0)


def running_of(owner: str, *, all: bool = False) -> int:  # noqa: A002 - docker's word
    with contextlib.closing(docker.from_env()) as client:
        filters: dict[str, str | list[str] | bool] = {"label": f"cosqa.owner={owner}"}
        return len(client.containers.list(all=all, filters=filters, ignore_removed=True))


async def test_the_limit_is_for_all_that_is_installed_for_a_pair() -> None:
    """Wheels and Debian packages have folders of their own, which count together."""
    sandbox = make_sandbox(LIMITS.model_copy(update={"install_mb": 5}))
    writing = "head -c 3000000 /dev/zero >/packages/{}"
    system = apt.plan(["x"], "http://debian.example", [])
    async with sandbox.box(CODE) as box:
        assert isinstance(box, DockerBox)
        wheels = InstallPlan(["sh", "-c", writing.format("a")], {}, [], outcome)
        assert (await box._install(wheels)).ok
        result = await box._install(system._replace(command=["sh", "-c", writing.format("b")]))
    assert (result.ok, result.message) == (False, "limit: more than 5 MB (sandbox.install_mb)")
    await sandbox.close()


# In place of apt-get, for which an archive would have to be signed: it fetches one package.
FETCHING = """
import io, os, sys, tarfile
if "install" not in sys.argv:
    sys.exit()
def packed(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo("./" + name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()
fields = "Package: marked", "Version: 1", "Architecture: all", "Maintainer: x", "Description: x"
control = {"control": "".join(f"{field}\\n" for field in fields)}
script = "#!/bin/sh\\ntouch /packages/ran /tmp/ran\\n"
control |= {name: script for name in ("preinst", "postinst", "prerm", "config")}
parts = {
    "debian-binary": b"2.0\\n",
    "control.tar.gz": packed(control),
    "data.tar.gz": packed({"usr/share/marked": f"{os.getuid()}"}),
}
with open("/packages/.apt/archives/marked_1_all.deb", "wb") as deb:
    deb.write(b"!<arch>\\n")
    for name, content in parts.items():
        deb.write(f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\\n".encode())
        deb.write(content + b"\\n" * (len(content) % 2))
"""
SEEN_OF_IT = """
import os
seen = [os.path.join(top, name) for top, _, names in os.walk("/debian") for name in names]
assert seen == ["/debian/usr/share/marked"], seen
assert int(open(seen[0]).read()) > 0, "unpacked by root"
"""


async def test_a_debian_package_is_unpacked_without_root_and_without_its_scripts(
    sandbox: Sandbox,
) -> None:
    plan = apt.plan(["marked"], "http://debian.example", [])
    script = (
        "mkdir /packages/.bin && cat >/packages/.bin/apt-get && chmod +x /packages/.bin/apt-get"
    )
    prepared = f'printf \'%s\' "$0" | ({script}) && "$@"; s=$?; rm -r /packages/.bin; exit $s'
    stand_in = f"#!/usr/bin/env python3\n{FETCHING}"
    path = {"PATH": "/packages/.bin:/usr/local/bin:/usr/bin:/bin"}
    plan = plan._replace(
        command=["sh", "-c", prepared, stand_in, *plan.command],
        environment=plan.environment | path,
        places=[],
    )
    async with sandbox.box(CODE) as box:
        assert isinstance(box, DockerBox)
        result = await box._install(plan)
        assert (result.ok, result.installed) == (True, ("apt:marked==1",)), result
        seen = await box.run(SEEN_OF_IT)
    assert seen.outcome == "passed", seen
