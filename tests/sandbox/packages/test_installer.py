"""An installing container's first process: it passes on variables and status, and ends at limits.

Covers ``installer`` and ``plan``.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.base import InstallResult
from sandbox.packages.installer import prune, total
from sandbox.packages.plan import InstallPlan, failure

MEGABYTE = 2**20


def install(folder: Path, script: str, *, most_mb: int = 100) -> tuple[int, str]:
    """Return status and output of a container's command on this machine."""

    def outcome(status: int, output: str, seconds: float) -> InstallResult:
        raise AssertionError

    plan = InstallPlan(["sh", "-c", script], {"SECRET": "given"}, [], outcome)
    command = plan.container_command(most_mb=most_mb, most_cached_mb=1)
    command[0] = sys.executable  # a launcher in its place may change variables
    command[5] = command[5].replace("/packages", str(folder))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(plan.input())
        process.stdin.flush()  # and it stays open: the process ends with it
        printed = process.stderr.read().decode()
        return process.wait(60), printed


def test_variables_are_those_of_the_plan_alone_and_no_argument_names_them(tmp_path: Path) -> None:
    status, output = install(tmp_path, "env; cat /proc/$$/cmdline; exit 7")
    names = {line.partition("=")[0] for line in output.splitlines() if "=" in line}
    assert status == 7
    assert "SECRET=given" in output
    assert names <= {"SECRET", "PATH", "PWD", "_", "http_proxy", "https_proxy"}
    assert f"PATH={os.environ['PATH']}" in output
    assert output.count("given") == 1


@pytest.mark.parametrize(
    "script",
    [
        "head -c 3000000 /dev/zero >big; exec sleep 60",
        "for n in $(seq 500); do : >small$n; done; exec sleep 60",
        "for n in $(seq 500); do mkdir -p f$n; done; exec sleep 60",
        "head -c 3000000 /dev/zero >.hidden; exit 0",
    ],
)
def test_more_than_the_limit_ends_it_at_once(tmp_path: Path, script: str) -> None:
    status, output = install(tmp_path, f"cd {tmp_path}; {script}", most_mb=1)
    assert (status, output) == (1, "limit: more than 1 MB (sandbox.install_mb)\n")


def test_a_limit_is_the_reason_that_a_failure_gives() -> None:
    output = "noise\nlimit: more than 1 MB (sandbox.install_mb)\n"
    assert failure("pip", "ERROR:", 1, output, 1.0).message == output.splitlines()[1]


def test_a_cache_keeps_what_was_used_last(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old", "older")):
        (tmp_path / name).write_bytes(bytes(MEGABYTE))
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    prune(str(tmp_path), 2 * MEGABYTE)
    assert {file.name for file in tmp_path.iterdir()} == {"new", "old"}
    prune(str(tmp_path), 0)
    assert total(str(tmp_path)) == 0


def test_a_link_out_of_the_folder_is_neither_followed_nor_removed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside):
        folder.mkdir()
    (outside / "file").write_bytes(bytes(MEGABYTE))
    (inside / "link").symlink_to(outside)
    assert total(str(inside)) < MEGABYTE
    prune(str(inside), 0)
    assert (outside / "file").exists()
