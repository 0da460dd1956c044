"""The connection to the Docker engine, the translation of its errors, and what it says of itself.

That is its identity, and the limits that it can hold a box to. An engine that lacks one (rootless
without delegated control groups, a kernel without them, a daemon without a seccomp profile) starts
the container all the same, and at most prints a warning.
"""

import json
import os
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import docker
import requests
from docker.client import DockerClient
from docker.constants import DEFAULT_UNIX_SOCKET
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.utils import parse_host

from infra.errors import BoxLostError, EngineUnavailableError, ImageMissingError, SandboxError

_HINT = "Run infra/docker/ensure_engine.sh (or: make engine)."
_TIMEOUT_S = 60
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


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn Docker's errors into this project's."""
    try:
        yield
    except ImageNotFound as error:
        raise ImageMissingError(f"the sandbox image is missing: {error}. {_HINT}") from error
    except NotFound as error:
        raise BoxLostError(f"the box is gone: {error}") from error
    except APIError as error:
        raise SandboxError(f"the Docker engine refused: {error}") from error
    except (DockerException, requests.RequestException, OSError) as error:
        own = DEFAULT_UNIX_SOCKET.removeprefix("http+")
        host = os.environ.get("DOCKER_HOST")
        place = f"{host} (DOCKER_HOST; without it {own} is asked)" if host else own
        raise EngineUnavailableError(
            f"no Docker engine answers at {place}: {error}. {_HINT}"
        ) from error


def connect(connections: int) -> DockerClient:
    """Return a client of the engine that the environment names.

    Args:
        connections: How many may be kept open.

    Raises:
        EngineUnavailableError: No engine answers.
    """
    with translate_errors():
        address = str(parse_host(os.environ.get("DOCKER_HOST") or None))
        if address.startswith("http+unix://"):
            # Docker's library would leave the socket of a try open that nobody answers.
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(_TIMEOUT_S)
                probe.connect("/" + address.removeprefix("http+unix://").lstrip("/"))
        client = docker.from_env(timeout=_TIMEOUT_S, max_pool_size=connections)
    if client.api.base_url.startswith("http+"):  # a socket of this machine or ssh: no proxy
        client.api.trust_env = False  # else each request reads variables that others may change
    return client


def missing_limits(info: Info) -> list[str]:
    """Return the limits that an engine cannot hold a box to."""
    lacks = [name for name, field in _FIELDS.items() if info.get(field) is not True]
    options = [str(option) for option in info.get("SecurityOptions") or ()]
    filtered = [option for option in options if "name=seccomp" in option.split(",")]
    if not any("profile=unconfined" not in option.split(",") for option in filtered):
        lacks.append("seccomp")
    return lacks


def require_limits(info: Info, accepted: Collection[str]) -> None:
    """Refuse an engine that lacks a limit.

    Args:
        info: The engine's.
        accepted: Limits that it may lack.

    Raises:
        SandboxError: It lacks one; the message names each.
    """
    if refused := [name for name in missing_limits(info) if name not in accepted]:
        raise SandboxError(
            f"the Docker engine cannot hold boxes to limits of {', '.join(refused)}: nothing is "
            "run. Use an engine that can, or name them in sandbox.accept_without if you trust all "
            "code that is run"
        )


def identity_of(info: Info, runtime: str | None, image_id: str) -> str:
    """Return the identity of an engine as it is.

    Args:
        info: The engine's.
        runtime: The runtime of boxes; None for the engine's own.
        image_id: The identifier of the image that boxes are made from.
    """
    fields = {name: info.get(name) for name in _IDENTITY}
    return json.dumps({**fields, "runtime": runtime, "image": image_id}, sort_keys=True)
