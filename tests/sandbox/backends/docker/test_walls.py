"""Each wall around a box stands, and the look that says so would see it missing.

Covers ``engine``: what it asks Docker for. Of a wall that hides behind another one nobody knows
that it stands; so each is taken away in turn, and its look must find that out.
"""

from typing import Any, NamedTuple

import pytest
from docker.models.containers import ContainerCollection

from sandbox.backends.docker.backend import DockerSandbox
from sandbox.base import Sandbox
from tests.sandbox.conftest import CODE, LIMITS

pytestmark = pytest.mark.docker
OWN = {"ready": 0}  # no box is started in advance
STATUS = "words = dict(line.split(':', 1) for line in open('/proc/{}/status'))\n"


class Wall(NamedTuple):
    """A program that passes behind the wall, and the options of Docker that take it away."""

    look: str
    without: dict[str, Any]


WALLS = {
    "no network": Wall(
        "routes = [line.split()[0] for line in list(open('/proc/net/route'))[1:]]\n"
        "routes += [line.split()[-1] for line in open('/proc/net/ipv6_route')]\n"
        "assert set(routes) <= {'lo'}, routes",
        {"network_mode": "bridge"},
    ),
    "no capabilities": Wall(
        STATUS.format("self")
        + "kinds = ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')\n"
        + "assert not any(int(words[kind], 16) for kind in kinds)",
        {"cap_drop": []},
    ),
    "no new privileges": Wall(
        STATUS.format(1) + "assert int(words['NoNewPrivs']) == 1", {"security_opt": []}
    ),
    "read-only root": Wall(
        "import os\nassert os.statvfs('/').f_flag & os.ST_RDONLY", {"read_only": False}
    ),
    "a user of its own": Wall(
        "import os\nassert min(os.getuid(), os.geteuid(), os.getgid(), os.getegid()) > 10_000\n"
        "assert all(group > 10_000 for group in os.getgroups())",
        {"user": "0:0"},
    ),
    "a limit on processes": Wall(
        "import os, time\n"
        "try:\n"
        "    for _ in range(400):\n"
        "        if not os.fork():\n"
        "            time.sleep(60)\n"
        "except OSError:\n"
        "    pass\n"
        "else:\n"
        "    raise SystemExit('as many processes as it likes')",
        {"pids_limit": -1},
    ),
    "a limit on memory": Wall(
        "import os\n"
        f"most = {LIMITS.memory_mb} * 2**20\n"
        "files = ('/sys/fs/cgroup/memory/memory.limit_in_bytes', '/sys/fs/cgroup/memory.max')\n"
        "limits = [open(file).read() for file in files if os.path.exists(file)]\n"
        "assert [int(limit) for limit in limits] == [most], limits",
        {"mem_limit": 2**30, "memswap_limit": 2**30},
    ),
    "a limit on files": Wall(
        "import os\n"
        "place = os.statvfs('/tmp')\n"
        f"assert place.f_blocks * place.f_frsize <= {LIMITS.tmp_mb} * 2**20\n"
        "assert place.f_files < 100_000",
        {"tmpfs": {"/tmp": "mode=1777", "/dev/shm": "mode=1777"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WALLS)
async def test_a_wall_stands(sandbox: Sandbox, name: str) -> None:
    async with sandbox.box(CODE) as box:
        result = await box.run(WALLS[name].look)
    assert result.outcome == "passed", result


@pytest.mark.parametrize("name", WALLS)
async def test_a_wall_that_is_taken_away_is_missed(
    own: DockerSandbox, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    create = ContainerCollection.create
    labels = (await own.pool.engine()).owned.labels  # other tests' boxes keep the wall

    def without_it(self: ContainerCollection, *words: Any, **options: Any) -> Any:
        is_box = options.get("stdin_open") and "environment" in options
        if is_box and options["labels"] == labels:
            options |= WALLS[name].without
        return create(self, *words, **options)

    monkeypatch.setattr(ContainerCollection, "create", without_it)
    async with own.box(CODE) as box:
        result = await box.run(WALLS[name].look)
    assert result.outcome != "passed", result
