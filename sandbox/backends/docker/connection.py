"""The connection to the Docker engine, and the translation of its errors."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import docker
import requests
from docker.client import DockerClient
from docker.constants import DEFAULT_UNIX_SOCKET
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.utils import parse_host

from infra.errors import BoxLostError, EngineUnavailableError, ImageMissingError, SandboxError

_HINT = "Run infra/docker/ensure_engine.sh (or: make engine)."
_TIMEOUT_S = 60


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
        _probe_socket()
        client = docker.from_env(timeout=_TIMEOUT_S, max_pool_size=connections)
    if client.api.base_url.startswith("http+"):  # a socket of this machine or ssh: no proxy
        client.api.trust_env = False  # else each request reads variables that others may change
    return client


def _probe_socket() -> None:
    """Raise ``OSError`` where the engine's socket on this machine does not answer.

    Docker's library would leave the socket of such a try open.
    """
    address = str(parse_host(os.environ.get("DOCKER_HOST") or None))
    if address.startswith("http+unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_TIMEOUT_S)
            probe.connect("/" + address.removeprefix("http+unix://").lstrip("/"))
