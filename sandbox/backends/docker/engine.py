"""The Docker engine in blocking calls: makes and removes what boxes are made of.

What a box keeps out: the network, the host's files, users and privileges, more memory, processes,
time and disk than its limits. What it does not: a hole in the kernel (set ``sandbox.runtime`` to
gVisor's ``runsc`` or Kata for that) and a program that uses up its own limits for nothing.
"""

import contextlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import requests
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig, Ulimit

from infra.errors import BoxLostError
from infra.settings import SandboxSettings
from sandbox.backends.docker import boot
from sandbox.backends.docker.channel import Channel
from sandbox.backends.docker.connection import connected, translated
from sandbox.backends.docker.networks import COMMAND, SYSCTLS, Networks
from sandbox.backends.docker.process_owner import is_left_over, this_owner
from sandbox.base import InstallResult
from sandbox.packages import apt, pip
from sandbox.packages.pip import InstallPlan

_LABEL = "cosqa.sandbox"
_OWNER = "cosqa.owner"
NAME = "cosqa.name"
_NO_NAME_SERVER = "127.0.0.1"  # so that installers find what they may, and nothing else by name
_LARGEST_WHEEL_MB = 1024
_HOST_NAME = "box"
_NO_NETWORK = {"network_mode": "none", "hostname": _HOST_NAME}
_NO_LOG = LogConfig(type=LogConfig.types.NONE)
_MEGABYTE = 2**20
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 0.2


class Running(NamedTuple):
    """A container and the connection to the runner in it."""

    container: Container
    channel: Channel

    def is_alive(self) -> bool:
        """Return whether the runner still waits."""
        return self.channel.is_open()


class Engine:
    """The Docker engine, in blocking calls: makes and removes what boxes are made of."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self.name = uuid.uuid4().hex
        self._labels = {_LABEL: "1", _OWNER: this_owner(), NAME: self.name}
        self._networks = Networks(self._make_network_container, self._is_running, self.remove)
        self._client = connected(settings.machine_slots + 2)

    @classmethod
    def connected(cls, settings: SandboxSettings) -> "Engine":
        """Return the engine, after removing what ended processes left on it.

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
        with translated():
            version = self._client.version()["Version"]
            image = self._client.images.get(self._settings.image)
        runtime = f", runtime {self._settings.runtime}" if self._settings.runtime else ""
        return f"Docker {version}{runtime}, image {self._settings.image} {image.id}"

    def start(self, packages: Volume | None) -> Running:
        """Return a container with a waiting runner and no way to the host or a network."""
        return self.start_runner(self.create(packages))

    def create(self, packages: Volume | None) -> Container:
        """Make a container for a runner; errors as in ``Sandbox.check``."""
        mounts = {packages.name: {"bind": pip.PACKAGES, "mode": "ro"}} if packages else {}
        make = partial(
            self._create,
            boot.command(),
            environment={"PYTHONHASHSEED": "0", **(apt.ENVIRONMENT if packages else {})},
            volumes=mounts,
            stdin_open=True,
            log_config=_NO_LOG,
        )
        if self._settings.runtime:  # a box with a kernel of its own may be unable to join a network
            return make(**_NO_NETWORK)
        return self._networks.make_in_one(lambda network: make(network_mode=network))

    def start_runner(self, container: Container) -> Running:
        """Start a container's runner and wait until it is ready; where that fails, remove it."""
        try:
            with translated():
                channel = self._attach(container)
        except BaseException:
            self.remove(container)
            raise
        running = Running(container, channel)
        try:
            with translated():
                container.start()
                channel.receive(_START_TIMEOUT_S)
        except BaseException:
            self.stop(running)
            raise
        return running

    def stop(self, running: Running) -> None:
        """Disconnect from a runner, which ends an idle one, and remove its container."""
        container, channel = running
        channel.close()
        with contextlib.suppress(APIError, requests.RequestException):
            container.wait(timeout=_STOP_TIMEOUT_S)  # spares the engine a process that kills
        self.remove(container)

    def make_installer(self, packages: Volume, plan: InstallPlan) -> Container:
        """Make a container that will install, with a network and the volume writable."""
        volumes = {str(packages.name): pip.PACKAGES, **plan.caches}
        container = self._create(
            plan.command,
            volumes={name: {"bind": folder, "mode": "rw"} for name, folder in volumes.items()},
            hostname=_HOST_NAME,
            environment=plan.environment,
            largest_file_mb=_LARGEST_WHEEL_MB,
            dns=[_NO_NAME_SERVER],
            extra_hosts=pip.addresses(plan.hosts),
        )
        if plan.certificates is not None:
            with translated():
                container.put_archive(pip.PACKAGES, pip.archive_of(plan.certificates))
        return container

    def install(self, installer: Container, plan: InstallPlan) -> InstallResult:
        """Let an installer run to its end, or to the time limit."""
        limit = self._settings.install_timeout_s
        start = time.monotonic()
        with translated():
            installer.start()
            try:
                status = installer.wait(timeout=limit)["StatusCode"]
            except (requests.Timeout, requests.ConnectionError):  # what docker-py raises at the end
                if time.monotonic() - start < limit:
                    raise
                return InstallResult(
                    ok=False, message=f"installing took over {limit:g} s", seconds=limit
                )
            output = installer.logs(tail=200).decode(errors="replace")
        return plan.outcome(status, output, time.monotonic() - start)

    def make_volume(self) -> Volume:
        """Make a volume for the packages of one box."""
        with translated():
            return self._client.volumes.create(labels=self._labels)

    def was_out_of_memory(self, container: Container) -> bool:
        """Return whether the kernel ended the container for memory."""
        with translated():
            container.reload()
        return bool(container.attrs["State"]["OOMKilled"])

    def remove(self, container: Container) -> None:
        """Kill and remove a container in any state; do nothing where it is gone."""
        with translated():
            try:
                container.remove(force=True, v=True)
            except NotFound:
                pass
            except APIError as error:
                if error.status_code != requests.codes.conflict:  # its removal is under way
                    raise
                return
        self._networks.give_back(container)

    def remove_volume(self, volume: Volume) -> None:
        """Remove a volume; do nothing where it is gone."""
        with translated(), contextlib.suppress(NotFound):
            volume.remove(force=True)

    def sweep(self) -> int:
        """Remove what ended processes of this host left; return the number of objects removed."""
        return self._remove_all(lambda labels: is_left_over(labels.get(_OWNER, "")))

    def remove_everything(self) -> int:
        """Remove all boxes of all processes and the cache of wheels; return the number removed."""
        removed = self._remove_all(lambda _: True)
        with translated():
            try:
                self._client.volumes.get(pip.WHEEL_CACHE).remove(force=True)
            except NotFound:
                return removed
        return removed + 1

    def clear(self) -> int:
        """Remove what this object made and has not removed yet; return the number removed."""
        return self._remove_all(lambda labels: labels.get(NAME) == self.name)

    def _remove_all(self, is_included: Callable[[Mapping[str, str]], bool]) -> int:
        filters: dict[str, str | list[str] | bool] = {"label": f"{_LABEL}=1"}
        with translated():
            listed = self._client.containers.list(all=True, filters=filters, ignore_removed=True)
            containers = [container for container in listed if is_included(container.labels)]
            volumes = [
                volume
                for volume in self._client.volumes.list(filters=filters)
                if is_included(volume.attrs.get("Labels") or {})
            ]
        with ThreadPoolExecutor(self._settings.machine_slots) as workers:
            list(workers.map(self.remove, containers))
        for volume in volumes:
            self.remove_volume(volume)
        return len(containers) + len(volumes)

    def close(self) -> None:
        """Close the connections to the engine."""
        self._client.close()

    def _make_network_container(self) -> Container:
        network_container = self._create(
            COMMAND, sysctls=dict(SYSCTLS), log_config=_NO_LOG, **_NO_NETWORK
        )
        try:
            with translated():
                network_container.start()
        except BaseException:
            self.remove(network_container)
            raise
        return network_container

    def _is_running(self, container: Container) -> bool:
        try:
            with translated():
                container.reload()
        except BoxLostError:
            return False
        return bool(container.status == "running")

    def _create(self, command: Sequence[str], **options: Any) -> Container:  # noqa: ANN401 - docker-py's
        limits = self._settings
        largest_file = options.pop("largest_file_mb", limits.tmp_mb) * _MEGABYTE
        megabytes = f"{limits.tmp_mb}m,nr_inodes={64 * limits.tmp_mb},mode=1777"
        with translated():
            return self._client.containers.create(
                limits.image,
                list(command),
                labels=self._labels,
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


def _ulimits(largest_file: int) -> list[Ulimit]:
    values = {"fsize": largest_file, "nofile": 256, "core": 0, "msgqueue": 0}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]
