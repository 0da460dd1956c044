"""An engine that cannot hold a box to a limit says so in its own words, which are read right."""

import pytest

from infra.errors import SandboxError
from sandbox.backends.docker.connection import identity_of, missing_limits, require_limits

WHOLE = {
    "MemoryLimit": True, "SwapLimit": True, "PidsLimit": True, "CpuCfsQuota": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "lacks"),
    [
        ({}, []),
        ({"MemoryLimit": False}, ["memory"]),
        ({"SwapLimit": False, "PidsLimit": None}, ["swap", "processes"]),
        ({"CpuCfsQuota": "yes"}, ["cpus"]),
        ({"SecurityOptions": None}, ["seccomp"]),
        ({"SecurityOptions": ["name=rootless", "name=cgroupns"]}, ["seccomp"]),
        ({"SecurityOptions": ["name=seccomp,profile=unconfined"]}, ["seccomp"]),
        ({"SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin"]}, []),
    ],
)
def test_what_an_engine_lacks_is_named(changed: dict[str, object], lacks: list[str]) -> None:
    info = WHOLE | changed
    assert missing_limits(info) == lacks
    require_limits(info, lacks)
    if lacks:
        with pytest.raises(SandboxError, match=", ".join(lacks)):
            require_limits(info, [])


def test_an_engine_that_says_nothing_lacks_everything() -> None:
    assert missing_limits({}) == ["memory", "swap", "processes", "cpus", "seccomp"]


@pytest.mark.parametrize(
    "changed",
    [{"ID": "other"}, {"ServerVersion": "28"}, {"KernelVersion": "7"}, {"SecurityOptions": []}],
    ids=str,
)
def test_an_engine_that_changes_is_another(changed: dict[str, object]) -> None:
    assert identity_of(WHOLE | changed, None, "image") != identity_of(WHOLE, None, "image")


def test_another_runtime_or_image_makes_another_engine_and_more_containers_do_not() -> None:
    identities = {identity_of(WHOLE, *of) for of in ((None, "1"), ("runsc", "1"), (None, "2"))}
    assert len(identities) == 3
    assert identity_of(WHOLE | {"Containers": 7}, None, "1") in identities
