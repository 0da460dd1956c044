"""Containers and volumes by the process that owns them, which are removed once it has ended.

Machines or containers of one host name may share an engine, and process numbers are used again. So
a process is named by host, machine, boot, PID namespace, number and start time. Where there is no
``/proc``, the unknown parts are empty.
"""

import contextlib
import os
import socket
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from docker.client import DockerClient
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume

from sandbox.backends.docker.connection import translate_errors

NAME = "cosqa.name"  # the label of what one object of `OwnedObjects` has made
_SANDBOX = "cosqa.sandbox"
_OWNER = "cosqa.owner"
_MACHINE = Path("/etc/machine-id")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_PARTS = 6
_START_TIME = 19  # of the fields after the command's name, see proc(5)


class OwnedObjects:
    """The containers and volumes of sandboxes on one engine, in blocking calls.

    Args:
        client: The engine's client.
        workers: How many containers may be removed at once.
    """

    def __init__(self, client: DockerClient, workers: int) -> None:
        self._client = client
        self._workers = workers
        self.name = uuid.uuid4().hex
        self.labels = {_SANDBOX: "1", _OWNER: this_owner(), NAME: self.name}

    def remove(self, removable: Container | Volume) -> None:
        """Kill and remove a container, or remove a volume; do nothing where it is gone.

        Nor where it is being removed, or still used: the next start removes it.
        """
        with translate_errors(), contextlib.suppress(NotFound):
            try:
                removable.remove(force=True)
            except APIError as error:
                if error.status_code != requests.codes.conflict:
                    raise

    def remove_left_over(self) -> int:
        """Remove what ended processes of this host left; return the number of objects removed."""
        return self._remove_all(lambda labels: is_left_over(labels.get(_OWNER, "")))

    def remove_own(self) -> int:
        """Remove what has this object's labels; return the number removed."""
        return self._remove_all(lambda labels: labels.get(NAME) == self.name)

    def remove_everything(self) -> int:
        """Remove what any process has; return the number removed."""
        return self._remove_all(lambda _: True)

    def _remove_all(self, is_included: Callable[[Mapping[str, str]], bool]) -> int:
        filters: dict[str, str | list[str] | bool] = {"label": f"{_SANDBOX}=1"}
        with translate_errors():
            listed = self._client.containers.list(all=True, filters=filters, ignore_removed=True)
            containers = [container for container in listed if is_included(container.labels)]
            volumes = [
                volume
                for volume in self._client.volumes.list(filters=filters)
                if is_included(volume.attrs.get("Labels") or {})
            ]
        with ThreadPoolExecutor(self._workers) as workers:
            list(workers.map(self.remove, containers))
        for volume in volumes:
            self.remove(volume)
        return len(containers) + len(volumes)


def this_owner() -> str:
    """Return the name of the calling process, as written on what it makes."""
    return owner_name(os.getpid(), _start_time(os.getpid()))


def owner_name(process: int, started: str) -> str:
    """Return the name of a process of this machine, boot and PID namespace."""
    try:
        namespace = _NAMESPACE.readlink().name.strip("pid:[]")
    except OSError:
        namespace = ""
    here = (socket.gethostname(), _first_line(_MACHINE), _first_line(_BOOT), namespace)
    return "/".join((*here, str(process), started))


def is_left_over(owner: str) -> bool:
    """Return True if an owner has ended for certain.

    Its machine was started again since, or this process would see it. The owner of another machine,
    or named in another form, has not.
    """
    parts, here = owner.split("/"), this_owner().split("/")
    if len(parts) != _PARTS or parts[:2] != here[:2]:
        return False
    *place, process, started = parts
    if place == here[:-2]:
        return process.isdecimal() and _start_time(process) != started
    return bool(place[1] and place[2]) and place[2] != here[2]


def _start_time(process: int | str) -> str:
    """Return the time when a process of this PID namespace was started, "" where there is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[_START_TIME]


def _first_line(file: Path) -> str:
    try:
        return file.read_text().partition("\n")[0].strip()
    except OSError:
        return ""
