"""The Docker engine in blocking calls: makes and removes what boxes are made of.

What a box keeps out: the network, the host's files, users and privileges, more memory, processes,
time and disk than its limits. What it does not: a hole in the kernel (set ``sandbox.runtime`` to
gVisor's ``runsc`` or Kata for that) and a program that uses up its own limits for nothing.
"""

import contextlib
import logging
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import requests
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import Ulimit

from infra.errors import BoxLostError
from infra.settings import SandboxSettings
from sandbox.backends.docker import abilities, boot
from sandbox.backends.docker.channel import Channel
from sandbox.backends.docker.connection import attached, connected, translated
from sandbox.backends.docker.installers import NO_LOG, NO_NETWORK, Installers
from sandbox.backends.docker.jobs import longest_answer
from sandbox.backends.docker.networks import COMMAND, SYSCTLS, Networks
from sandbox.backends.docker.process_owner import is_left_over, this_owner
from sandbox.backends.docker.users import GROUP, IMAGE_USER, UserImages
from sandbox.packages.wheels import PACKAGES, wheel_cache

_log = logging.getLogger(__name__)

_LABEL = "cosqa.sandbox"
_OWNER = "cosqa.owner"
NAME = "cosqa.name"
_MEGABYTE = 2**20
_SHARED_MEMORY = "size=8m,nr_inodes=512,mode=1777"
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
        self._lines: dict[str, Channel] = {}  # those that keep the containers of networks alive
        self._networks = Networks(self._make_network_container, self._is_running, self.remove)
        self._client = connected(settings.machine_slots + 2)
        self._user_images = UserImages(self._client, settings.image, self._labels)
        self.installers = Installers(self._create, self.remove, settings)

    @classmethod
    def connected(cls, settings: SandboxSettings) -> "Engine":
        """Return the engine, after removing what ended processes left on it.

        Raises:
            EngineUnavailableError: No engine answers.
            SandboxError: It cannot hold a box to its limits.
        """
        engine = cls(settings)
        try:
            engine.admit()
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

    def identity(self) -> str:
        """Return what tells this engine, as it is, from every other; see ``Identified``."""
        with translated():
            info, image = self._client.info(), self._client.images.get(self._settings.image)
        return abilities.identity(info, self._settings.runtime, str(image.id))

    def admit(self) -> None:
        """Refuse an engine that cannot hold a box to its limits, and warn of too many boxes.

        Raises:
            SandboxError: It lacks a limit that ``sandbox.accept_without`` does not name.
        """
        with translated():
            info = self._client.info()
        abilities.require(info, self._settings.accept_without)
        if self._settings.slots is not None and (excess := abilities.excess(info, self._settings)):
            _log.warning("%s", excess)

    def start(self, volume: Volume | None, user: int, language: str = "python") -> Running:
        """Return a container with a waiting runner and no way to the host or a network."""
        return self.start_runner(self.create(volume, user, language))

    def create(self, volume: Volume | None, user: int, language: str = "python") -> Container:
        """Make a container for a runner; errors as in ``Sandbox.check``.

        Nothing of the volume is loaded by the runner itself: no variable leads it there.

        Args:
            volume: What was installed, which the box can only read.
            user: The number of the box's user, which no other box has.
            language: The language of the box.
        """
        make = partial(
            self._create,
            boot.command(),
            image=self._user_images.of(user, language),
            user=f"{user}:{GROUP}",
            environment={"PYTHONHASHSEED": "0"},
            volumes={volume.name: {"bind": PACKAGES, "mode": "ro"}} if volume else {},
            stdin_open=True,
            log_config=NO_LOG,
        )
        if self._settings.runtime:  # a box with a kernel of its own may be unable to join a network
            return make(**NO_NETWORK)
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
        self.remove(container, keep_network=channel.is_clean)

    def make_volume(self) -> Volume:
        """Make a volume for what is installed for one box."""
        with translated():
            return self._client.volumes.create(labels=self._labels)

    def was_out_of_memory(self, container: Container) -> bool:
        """Return whether the kernel ended the container for memory."""
        with translated():
            container.reload()
        return bool(container.attrs["State"]["OOMKilled"])

    def remove(self, container: Container, *, keep_network: bool = True) -> None:
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
        self._networks.give_back(container, keep=keep_network)
        if line := self._lines.pop(str(container.id), None):
            line.close()

    def remove_volume(self, volume: Volume) -> None:
        """Remove a volume; do nothing where it is gone, or still held by what is being removed."""
        with translated(), contextlib.suppress(NotFound):
            try:
                volume.remove(force=True)
            except APIError as error:
                if error.status_code != requests.codes.conflict:  # the next start removes it
                    raise

    def sweep(self) -> int:
        """Remove what ended processes of this host left; return the number of objects removed."""
        return self._remove_all(lambda labels: is_left_over(labels.get(_OWNER, "")))

    def remove_everything(self) -> int:
        """Remove all boxes of all processes, their images, the cache of wheels; return how many."""
        removed = self._remove_all(lambda _: True) + self._user_images.remove_all()
        if not wheel_cache().exists():
            return removed
        shutil.rmtree(wheel_cache(), ignore_errors=True)
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
        for line in self._lines.values():
            line.close()
        self._client.close()

    def _make_network_container(self) -> Container:
        network_container = self._create(
            COMMAND,
            sysctls=dict(SYSCTLS),
            log_config=NO_LOG,
            stdin_open=True,
            auto_remove=True,  # it may end when nobody is left to remove it
            **NO_NETWORK,
        )
        try:
            with translated():
                self._lines[str(network_container.id)] = self._attach(network_container)
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
                options.pop("image", limits.image),
                list(command),
                labels=self._labels,
                user=options.pop("user", f"{IMAGE_USER}:{GROUP}"),
                working_dir="/tmp",  # noqa: S108 - inside the box
                read_only=True,
                tmpfs={"/tmp": f"size={megabytes}", "/dev/shm": _SHARED_MEMORY},  # noqa: S108
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
        return Channel(*attached(container, parameters), longest_answer(self._settings))


def _ulimits(largest_file: int) -> list[Ulimit]:
    values = {"fsize": largest_file, "nofile": 256, "core": 0, "msgqueue": 0}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]
