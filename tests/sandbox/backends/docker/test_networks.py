"""Boxes take over networks from each other, and nothing else with them.

Covers ``engine``.
"""

import asyncio

import pytest
from docker.models.containers import Container

from sandbox.backends.docker.backend import DockerSandbox
from tests.sandbox.backends.docker.test_backend import containers, keeps_a_network, removals
from tests.sandbox.conftest import CODE

pytestmark = pytest.mark.docker
OWN = {"ready": 0}  # no box is started in advance

# Leaves a connection that would linger, one with data that nobody read, a name without a file, and
# a process that holds on to a port.
LEAVES_MUCH = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 5000))
for message in (b"", b"unread"):
    client = socket.create_connection(("127.0.0.1", 5000))
    served, _ = server.accept()
    client.sendall(message)
    served.close()
    client.close()
named = socket.socket(socket.AF_UNIX)
named.bind("\\0left")
named.listen()
if not os.fork():
    time.sleep(60)
"""
FINDS_NOTHING = """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    plain = socket.socket(socket.AF_INET, kind)
    plain.bind(("127.0.0.1", 5000))
socket.socket(socket.AF_UNIX).bind("\\0left")
for table in ("tcp", "tcp6", "udp6", "raw"):
    with open(f"/proc/net/{table}") as file:
        assert len(file.readlines()) == 1, table
assert [name for _, name in socket.if_nameindex()] == ["lo"]
"""
HOLDS_A_PORT = """
import socket, time
server = socket.create_server(("127.0.0.1", 5000))
server.settimeout(1)
try:
    server.accept()
except TimeoutError:
    pass
else:
    raise SystemExit("somebody called")
"""
CALLS = """
import socket, time
time.sleep(0.3)
try:
    socket.create_connection(("127.0.0.1", 5000)).close()
except ConnectionRefusedError:
    pass
else:
    raise SystemExit("somebody answered")
"""


async def network_containers(sandbox: DockerSandbox) -> list[Container]:
    """Return the containers that keep a sandbox's networks."""
    return [one for one in await containers(sandbox) if keeps_a_network(one)]


async def outcome(sandbox: DockerSandbox, program: str) -> str:
    async with sandbox.box(CODE) as box:
        result = await box.run(program)
    await removals(sandbox)
    return f"{result.outcome}: {result.message}" if result.message else result.outcome


async def test_a_box_finds_nothing_of_the_one_before_in_its_network(own: DockerSandbox) -> None:
    assert await outcome(own, LEAVES_MUCH) == "passed"
    assert await outcome(own, FINDS_NOTHING) == "passed"
    assert len(await network_containers(own)) == 1


async def test_boxes_at_the_same_time_have_networks_of_their_own(own: DockerSandbox) -> None:
    async with own.box(CODE) as one, own.box(CODE) as other:
        assert [(await box.run("pass")).outcome for box in (one, other)] == ["passed"] * 2
        results = await asyncio.gather(one.run(HOLDS_A_PORT), other.run(CALLS))
    assert [(result.outcome, result.message) for result in results] == [("passed", "")] * 2
    await removals(own)
    assert len(await network_containers(own)) == 2


async def test_a_network_that_was_lost_is_replaced(own: DockerSandbox) -> None:
    assert await outcome(own, "pass") == "passed"
    (network_container,) = await network_containers(own)
    await asyncio.to_thread(network_container.remove, force=True)
    assert await outcome(own, FINDS_NOTHING) == "passed"
    assert [one.id for one in await network_containers(own)] != [network_container.id]
