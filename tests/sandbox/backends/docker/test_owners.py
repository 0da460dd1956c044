"""Only what has ended for certain is left over: never what another machine of this name may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.backends.docker.owners import is_left_over, owner_name, this_owner

HOST, MACHINE, BOOT, NAMESPACE, NUMBER, STARTED = this_owner().split("/")
DEAD = str(2**22 + 1)


def named(**changed: str) -> str:
    """Return this process's name with parts of it changed."""
    parts = {"host": HOST, "machine": MACHINE, "boot": BOOT, "namespace": NAMESPACE,
             "number": NUMBER, "started": STARTED}  # fmt: skip
    return "/".join((parts | changed).values())


def test_a_living_process_is_not_left_over() -> None:
    assert not is_left_over(this_owner())
    assert not is_left_over(owner_name(os.getppid(), named_start(os.getppid())))


def named_start(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]


@pytest.mark.parametrize("changed", [{"number": DEAD}, {"started": "1"}])
def test_an_ended_process_of_this_boot_is(changed: dict[str, str]) -> None:
    assert is_left_over(named(**changed))


@pytest.mark.skipif(not MACHINE, reason="this machine has no number of its own")
def test_a_process_from_before_the_machine_was_started_anew_is() -> None:
    assert is_left_over(named(boot="another"))


@pytest.mark.parametrize(
    "changed",
    [
        {"host": "else"}, {"machine": "else"}, {"namespace": "1"}, {"host": "else", "boot": "else"},
        {"machine": "else", "boot": "else"}, {"machine": "", "boot": "else"}, {"boot": ""},
    ],
)  # fmt: skip
def test_what_another_machine_or_container_of_this_name_may_use_is_not(
    changed: dict[str, str],
) -> None:
    assert not is_left_over(named(number=DEAD, **changed))


@pytest.mark.parametrize(
    "owner",
    ["", "x", f"{HOST}/{DEAD}/1", f"{HOST}/////", named(number="x"), named(number="²")],
    ids=["nothing", "a word", "an older version's", "no parts", "no number", "no plain number"],
)
def test_what_is_no_name_of_this_version_is_not(owner: str) -> None:
    assert not is_left_over(owner)


def test_a_process_of_another_pid_namespace_has_another_name() -> None:
    program = "from sandbox.backends.docker.owners import this_owner; print(this_owner())"
    command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no PID namespace can be made: {done.stderr}")
    other = done.stdout.strip()
    assert other.split("/")[:3] == [HOST, MACHINE, BOOT]
    assert other.split("/")[3] != NAMESPACE
    assert not is_left_over(other)
