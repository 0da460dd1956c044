"""Each box has a user number of its own: no box takes what the kernel allows another's user.

Covers ``images``.
"""

import asyncio
import contextlib
import os

import docker
import pytest

from infra.records import ExecutionResult
from sandbox.backends.docker.backend import DockerSandbox
from sandbox.backends.docker.images import IMAGE_USER, BoxImages
from sandbox.base import Sandbox
from tests.sandbox.conftest import CODE, LIMITS

pytestmark = pytest.mark.docker

NUMBER = "import os\nprint(os.getuid())"
WHO = """
import getpass, os, pathlib, pwd
entry = pwd.getpwuid(os.getuid())
assert pwd.getpwnam(entry.pw_name) == entry and entry.pw_uid == os.getuid()
pathlib.Path("/tmp/own").touch()
assert pathlib.Path("/tmp/own").stat().st_uid == os.getuid()
print(getpass.getuser(), pathlib.Path.home(), pathlib.Path("/tmp/own").owner(), os.getgid())
print(entry[0], entry[3:], len(pwd.getpwall()))
"""
TAKES = """
import ctypes, fcntl, os, time
libc = ctypes.CDLL(None)
watches = []
while (watch := libc.inotify_init1(0)) >= 0:
    watches.append(watch)
pipes = []
try:
    while True:
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][1], fcntl.F_SETPIPE_SZ, 2**20)
except OSError:
    pass
assert len(watches) > 50 and len(pipes) > 20, (len(watches), len(pipes))
time.sleep(1.2)
"""
ASKS = """
import ctypes, fcntl, os, time
libc = ctypes.CDLL(None)
end = time.monotonic() + 1
asked = 0
while time.monotonic() < end:
    watch = libc.inotify_init1(0)
    assert watch >= 0, f"no inotify instance, after {asked}"
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 2**20)
    for file in (watch, *ends):
        os.close(file)
    asked += 1
    time.sleep(0.01)
"""


async def of_two_boxes(sandbox: Sandbox, first: str, second: str) -> list[ExecutionResult]:
    """Return the results of two programs that run at once, each in a box of its own."""
    async with sandbox.box(CODE) as one, sandbox.box(CODE) as other:
        assert [(await box.run("pass")).outcome for box in (one, other)] == ["passed"] * 2
        return list(await asyncio.gather(one.run(first), other.run(second)))


async def test_two_boxes_at_once_have_two_users_of_one_name_and_home(sandbox: Sandbox) -> None:
    numbers = [result.stdout for result in await of_two_boxes(sandbox, NUMBER, NUMBER)]
    assert len({*numbers, f"{IMAGE_USER}\n"}) == 3
    words = [result.stdout for result in await of_two_boxes(sandbox, WHO, WHO)]
    assert words[0] == words[1]
    assert words[0].startswith("box /tmp box 10001\nbox (")


async def test_boxes_of_two_sandboxes_have_different_users(sandbox: Sandbox) -> None:
    other = DockerSandbox(LIMITS)
    try:
        async with sandbox.box(CODE) as one, other.box(CODE) as two:
            results = await asyncio.gather(one.run(NUMBER), two.run(NUMBER))
    finally:
        await other.close()
    assert len({result.stdout for result in results}) == 2


async def test_what_a_box_takes_of_its_users_limits_its_neighbour_still_has(
    sandbox: Sandbox,
) -> None:
    results = await of_two_boxes(sandbox, TAKES, ASKS)
    assert [result.outcome for result in results] == ["passed", "passed"], results


@pytest.mark.exhaustive
async def test_a_user_is_free_for_the_next_box_when_its_box_is_gone() -> None:
    sandbox = DockerSandbox(LIMITS.model_copy(update={"slots": 1, "ready": 0}))
    numbers = set()
    for _ in range(6):
        async with sandbox.box(CODE) as box:
            numbers.add((await box.run(NUMBER)).stdout)
    await sandbox.close()
    assert len(numbers) < 6


async def test_an_image_of_a_number_is_made_once_and_again_where_it_was_removed(
    sandbox: Sandbox,
) -> None:
    number = IMAGE_USER + (4_000 + os.getpid() % 10_000)  # no other run's
    with contextlib.closing(docker.from_env()) as client:
        images = BoxImages(client, LIMITS.image, {"cosqa.sandbox": "1"})
        name = await asyncio.to_thread(images.user_image, number)
        made = client.images.get(name).id
        assert await asyncio.to_thread(images.user_image, number) == name
        assert client.images.get(name).id == made
        client.images.remove(name)
        assert await asyncio.to_thread(images.user_image, number) == name
        client.images.remove(name)
