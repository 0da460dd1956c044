"""The Docker engine in blocking calls: makes and removes what boxes are made of.

What a box keeps out: the network, the host's files, users and privileges, more memory, processes,
time and disk than its limits. What it does not: a hole in the kernel (set ``sandbox.runtime`` to
gVisor's ``runsc`` or Kata for that) and a program that uses up its own limits for nothing.
"""

import contextlib
import io
import os
import socket
import tarfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig, Ulimit
from docker.utils import parse_host

from infra.errors import BoxLostError, EngineUnavailableError, ImageMissingError, SandboxError
from infra.settings import SandboxSettings
from sandbox import installing, payload
from sandbox.base import InstallResult
from sandbox.channel import Channel
from sandbox.owner import is_left_over, this_owner

_LABEL = "cosqa.sandbox"
_OWNER = "cosqa.owner"
NAME = "cosqa.name"
_WHEEL_CACHE = "cosqa-wheels"
_WAY_OUT = "Run infra/docker/ensure_engine.sh (or: make engine)."
_NO_NAME_SERVER = "127.0.0.1"  # so that pip finds the index, and nothing else by name
_LARGEST_WHEEL_MB = 1024
_MEGABYTE = 2**20
_ENGINE_TIMEOUT_S = 60
_START_TIMEOUT_S = 30.0


class Running(NamedTuple):
    """A container and the line to the runner in it."""

    container: Container
    channel: Channel

    def is_alive(self) -> bool:
        """Return whether the runner still waits."""
        return self.channel.is_open()


@contextmanager
def _translated() -> Iterator[None]:
    """Turn Docker's errors into this project's."""
    try:
        yield
    except ImageNotFound as error:
        raise ImageMissingError(f"the sandbox image is missing: {error}. {_WAY_OUT}") from error
    except NotFound as error:
        raise BoxLostError(f"the box is gone: {error}") from error
    except APIError as error:
        raise SandboxError(f"the Docker engine refused: {error}") from error
    except (DockerException, requests.RequestException, OSError) as error:
        raise EngineUnavailableError(f"no Docker engine answers: {error}. {_WAY_OUT}") from error


def _knock() -> None:
    """Raise ``OSError`` where the engine's socket on this machine does not answer.

    Docker's library would leave the socket of such a try open.
    """
    address = str(parse_host(os.environ.get("DOCKER_HOST") or None))
    if address.startswith("http+unix://"):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_ENGINE_TIMEOUT_S)
            line.connect("/" + address.removeprefix("http+unix://").lstrip("/"))


class Engine:
    """The Docker engine, in blocking calls: makes and removes what boxes are made of."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self.name = uuid.uuid4().hex
        self._labels = {_LABEL: "1", _OWNER: this_owner(), NAME: self.name}
        with _translated():
            _knock()
            self._client = docker.from_env(
                timeout=_ENGINE_TIMEOUT_S, max_pool_size=settings.slots + 2
            )

    @classmethod
    def connected(cls, settings: SandboxSettings) -> "Engine":
        """Return the engine, what dead processes left on it removed.

        Raises:
            EngineUnavailableError: No engine answers.
        """
        engine = cls(settings)
        try:
            engine.sweep()
        except BaseException:
            engine.close()
            raise
        return engine

    def describe(self) -> str:
        """Return engine and image; see ``Sandbox.check`` for the errors."""
        with _translated():
            version = self._client.version()["Version"]
            image = self._client.images.get(self._settings.image)
        runtime = f", runtime {self._settings.runtime}" if self._settings.runtime else ""
        return f"Docker {version}{runtime}, image {self._settings.image} {image.id}"

    def start(self, packages: Volume | None) -> Running:
        """Return a container with a waiting runner, cut off from everything."""
        return self.begin(self.create(packages))

    def create(self, packages: Volume | None) -> Container:
        """Make a container for a runner; errors as in ``Sandbox.check``."""
        mounts = {packages.name: {"bind": installing.PACKAGES, "mode": "ro"}} if packages else {}
        return self._create(
            payload.command(),
            environment={"PYTHONHASHSEED": "0"},
            volumes=mounts,
            network_mode="none",
            stdin_open=True,
            log_config=LogConfig(type=LogConfig.types.NONE),
        )

    def begin(self, container: Container) -> Running:
        """Start a container's runner and wait until it is ready; where that fails, remove it."""
        try:
            with _translated():
                channel = self._attach(container)
        except BaseException:
            self.remove(container)
            raise
        running = Running(container, channel)
        try:
            with _translated():
                container.start()
                channel.receive(_START_TIMEOUT_S)
        except BaseException:
            self.stop(running)
            raise
        return running

    def stop(self, running: Running) -> None:
        """Hang up on a runner and remove its container."""
        container, channel = running
        channel.close()
        self.remove(container)

    def make_installer(self, packages: Volume, requirements: Sequence[str]) -> Container:
        """Make a container that will run pip, with a network and the volume writable."""
        pip_settings = installing.host_pip_settings()
        certificates = installing.host_certificates(pip_settings, os.environ)
        container = self._create(
            installing.command(requirements),
            volumes={
                packages.name: {"bind": installing.PACKAGES, "mode": "rw"},
                _WHEEL_CACHE: {"bind": installing.WHEELS, "mode": "rw"},
            },
            environment=installing.environment(
                pip_settings, os.environ, certificates=certificates is not None
            ),
            largest_file_mb=_LARGEST_WHEEL_MB,
            dns=[_NO_NAME_SERVER],
            extra_hosts=_addresses(
                installing.index_hosts(pip_settings, os.environ, self._settings.index_hosts)
            ),
        )
        if certificates is not None:
            with _translated():
                container.put_archive(installing.PACKAGES, _certificate_archive(certificates))
        return container

    def install(self, installer: Container) -> InstallResult:
        """Let pip run to its end, or to the time limit."""
        limit = self._settings.install_timeout_s
        begun = time.monotonic()
        with _translated():
            installer.start()
            try:
                status = installer.wait(timeout=limit)["StatusCode"]
            except (requests.Timeout, requests.ConnectionError):  # what docker-py raises at the end
                if time.monotonic() - begun < limit:
                    raise
                return InstallResult(ok=False, message=f"pip took over {limit:g} s", seconds=limit)
            output = installer.logs(tail=200).decode(errors="replace")
        return installing.outcome(status, output, time.monotonic() - begun)

    def make_volume(self) -> Volume:
        """Make a volume for the packages of one box."""
        with _translated():
            return self._client.volumes.create(labels=self._labels)

    def was_out_of_memory(self, container: Container) -> bool:
        """Return whether the kernel ended the container for memory."""
        with _translated():
            container.reload()
        return bool(container.attrs["State"]["OOMKilled"])

    def remove(self, container: Container) -> None:
        """Kill and remove a container, whatever its state; one that is gone is fine."""
        with _translated(), contextlib.suppress(NotFound):
            try:
                container.remove(force=True, v=True)
            except APIError as error:
                if error.status_code != requests.codes.conflict:  # its removal is under way
                    raise

    def remove_volume(self, volume: Volume) -> None:
        """Remove a volume; one that is gone is fine."""
        with _translated(), contextlib.suppress(NotFound):
            volume.remove(force=True)

    def sweep(self) -> int:
        """Remove what processes of this host that are dead have left; return how much."""
        return self._remove_all(lambda labels: is_left_over(labels.get(_OWNER, "")))

    def remove_everything(self) -> int:
        """Remove every box there is, whoever made it, and the cache of wheels; return how much."""
        removed = self._remove_all(lambda _: True)
        with _translated():
            try:
                self._client.volumes.get(_WHEEL_CACHE).remove(force=True)
            except NotFound:
                return removed
        return removed + 1

    def clear(self) -> int:
        """Remove what this very object made and did not remove; return how much."""
        return self._remove_all(lambda labels: labels.get(NAME) == self.name)

    def _remove_all(self, is_meant: Callable[[Mapping[str, str]], bool]) -> int:
        filters: dict[str, str | list[str] | bool] = {"label": f"{_LABEL}=1"}
        with _translated():
            listed = self._client.containers.list(all=True, filters=filters, ignore_removed=True)
            containers = [one for one in listed if is_meant(one.labels)]
            volumes = [
                one
                for one in self._client.volumes.list(filters=filters)
                if is_meant(one.attrs.get("Labels") or {})
            ]
        for container in containers:
            self.remove(container)
        for volume in volumes:
            self.remove_volume(volume)
        return len(containers) + len(volumes)

    def close(self) -> None:
        """Close the connections to the engine."""
        self._client.close()

    def _create(self, command: Sequence[str], **options: Any) -> Container:  # noqa: ANN401 - docker-py's
        limits = self._settings
        largest_file = options.pop("largest_file_mb", limits.tmp_mb) * _MEGABYTE
        megabytes = f"{limits.tmp_mb}m,nr_inodes={64 * limits.tmp_mb},mode=1777"
        with _translated():
            return self._client.containers.create(
                limits.image,
                list(command),
                labels=self._labels,
                hostname="box",
                user="10001:10001",
                working_dir="/tmp",  # noqa: S108 - inside the box
                read_only=True,
                tmpfs={"/tmp": f"size={megabytes}"},  # noqa: S108
                shm_size=8 * _MEGABYTE,
                cap_drop=["ALL"],
                security_opt=["no-new-privileges"],
                pids_limit=limits.processes,
                mem_limit=limits.memory_mb * _MEGABYTE,
                memswap_limit=limits.memory_mb * _MEGABYTE,
                nano_cpus=int(limits.cpus * 1e9),
                ulimits=_ulimits(largest_file),
                runtime=limits.runtime,
                **options,
            )

    def _attach(self, container: Container) -> Channel:
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        attached = self._client.api.attach_socket(str(container.id), params=parameters)
        return Channel(getattr(attached, "_sock", attached), attached)


def _addresses(hosts: Iterable[str]) -> dict[str, str]:
    """Return where hosts are; one that nobody knows is left to pip's own error."""
    addresses = {}
    for host in hosts:
        with contextlib.suppress(OSError):
            addresses[host] = socket.gethostbyname(host)
    return addresses


def _ulimits(largest_file: int) -> list[Ulimit]:
    values = {"fsize": largest_file, "nofile": 256, "core": 0, "msgqueue": 0}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]


def _certificate_archive(file: Path) -> bytes:
    content = file.read_bytes()
    entry = tarfile.TarInfo(installing.CERTIFICATES)
    entry.size, entry.mode = len(content), 0o444
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()
