"""The limits that an engine can hold a box to, and its identity, by its own report.

An engine that lacks one (rootless without delegated control groups, a kernel without them, a daemon
without a seccomp profile) starts the container all the same, and at most prints a warning.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from infra.errors import SandboxError

_FIELDS = {
    "memory": "MemoryLimit",
    "swap": "SwapLimit",
    "processes": "PidsLimit",
    "cpus": "CpuCfsQuota",
}
_IDENTITY = (
    "ID", "Name", "ServerVersion", "KernelVersion", "OperatingSystem", "Architecture",
    "SecurityOptions", "CgroupDriver", "CgroupVersion", "Driver", "DefaultRuntime", "Runtimes",
    "RuncCommit", "ContainerdCommit", *_FIELDS.values(),
)  # fmt: skip

Info = Mapping[str, Any]  # the engine's answer to ``docker info``


def missing(info: Info) -> list[str]:
    """Return the limits that an engine cannot hold a box to."""
    lacks = [name for name, field in _FIELDS.items() if info.get(field) is not True]
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    filtered = [option for option in options if "name=seccomp" in option.split(",")]
    if not any("profile=unconfined" not in option.split(",") for option in filtered):
        lacks.append("seccomp")
    return lacks


def require(info: Info, accepted: Collection[str]) -> None:
    """Refuse an engine that lacks a limit.

    Args:
        info: The engine's.
        accepted: Limits that it may lack.

    Raises:
        SandboxError: It lacks one; the message names each.
    """
    if refused := [name for name in missing(info) if name not in accepted]:
        raise SandboxError(
            f"the Docker engine cannot hold boxes to limits of {', '.join(refused)}: nothing is "
            "run. Use an engine that can, or name them in sandbox.accept_without if you trust all "
            "code that is run"
        )


def identity(info: Info, runtime: str | None, image_id: str) -> str:
    """Return the identity of an engine as it is.

    Args:
        info: The engine's.
        runtime: The runtime of boxes; None for the engine's own.
        image_id: The identifier of the image that boxes are made from.
    """
    fields = {name: info.get(name) for name in _IDENTITY}
    return json.dumps({**fields, "runtime": runtime, "image": image_id}, sort_keys=True)
