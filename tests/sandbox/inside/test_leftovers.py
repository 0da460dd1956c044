"""What a program leaves in its network is gone before the next run, or the box and its network are.

Covers `sandbox.inside.processes` and how `sandbox.backends.docker.engine` gives networks back.
"""

import asyncio
import contextlib
from pathlib import Path

import pytest
from docker.errors import NotFound

from sandbox.backends.docker.backend import DockerBox, DockerSandbox
from sandbox.inside import processes
from tests.rows import first_rows
from tests.sandbox.backends.docker.test_backend import containers, keeps_a_network, removals
from tests.sandbox.conftest import CODE
from tests.waiting import eventually

OWN = {"slots": 1, "ready": 0}  # no box is started in advance
RING = """
import array, socket
server = socket.create_server(("127.0.0.1", 4444))
for _ in range({rings}):
    first, second = socket.socketpair()
    second.send(b"what the original returned")
    for one in (first, second):
        for other in (first, second, server):
            files = array.array("i", [other.fileno()])
            one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
    first.close(), second.close()
"""
LOOK = """
import os, socket
with open("/proc/net/sockstat") as file:
    print(file.readline().split()[2])
try:
    socket.create_connection(("127.0.0.1", 4444))
except ConnectionRefusedError:
    print("refused")
"""


async def networks(own: DockerSandbox) -> set[str | None]:
    return {one.id for one in await containers(own) if keeps_a_network(one)}


@pytest.mark.docker
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("rings", first_rows(1, [1, 30]))
async def test_sockets_in_flight_do_not_outlive_their_run(own: DockerSandbox, rings: int) -> None:
    async with own.box(CODE) as box:
        before = await box.run(LOOK)
        assert (await box.run(RING.format(rings=rings))).outcome == "passed"
        after = await box.run(LOOK)
    assert (after.outcome, after.stdout) == ("passed", before.stdout), (before, after)
    assert after.stdout.endswith("refused\n")


@pytest.mark.docker
@pytest.mark.asyncio(loop_scope="session")
async def test_a_network_is_kept_after_a_clean_run_and_not_after_a_box_was_lost(
    own: DockerSandbox,
) -> None:
    async with own.box(CODE) as box:
        await box.run("pass")
        kept = await networks(own)
    await removals(own)
    assert await networks(own) == kept
    async with own.box(CODE) as box:
        await box.run("pass")
        assert isinstance(box, DockerBox)
        assert box._running
        channel = box._running.channel
        running = asyncio.create_task(box.run("import time\ntime.sleep(60)"))
        await eventually(lambda: not channel.is_clean)
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await removals(own)
    for one in await containers(own):
        with contextlib.suppress(NotFound):  # the engine removes it by itself, a moment later
            await asyncio.to_thread(one.wait, condition="removed", timeout=60)
    assert kept.isdisjoint(await networks(own))


def test_sockets_that_stay_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "sockstat"
    table.write_text("sockets: used 4\nTCP: inuse 0\n")
    monkeypatch.setattr(processes, "_TABLE", str(table))
    monkeypatch.setattr(processes, "_WAIT_S", 0.0)
    assert (
        processes.sockets_in_use(),
        processes.are_sockets_gone(4),
        processes.are_sockets_gone(3),
    ) == (4, True, False)
    monkeypatch.setattr(processes, "_TABLE", str(tmp_path / "none"))
    assert (processes.sockets_in_use(), processes.are_sockets_gone(0)) == (0, True)
