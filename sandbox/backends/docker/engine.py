"""The Docker engine in blocking calls: makes and removes what boxes are made of.

A box reaches no network, no files, users and privileges of the host, and no more memory, processes,
time and disk than its limits. It does not protect from a hole in the kernel (set
``sandbox.runtime`` to gVisor's ``runsc`` or Kata for that), nor from a program that uses up its own
limits for nothing.
"""

import contextlib
import shutil
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import requests
from docker.errors import APIError, NotFound
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import Ulimit

from infra.settings import SandboxSettings
from sandbox.backends.docker import abilities, boot
from sandbox.backends.docker.channel import Channel
from sandbox.backends.docker.connection import attached, connected, translated
from sandbox.backends.docker.installers import NO_LOG, NO_NETWORK, Installers
from sandbox.backends.docker.jobs import longest_answer
from sandbox.backends.docker.process_owner import is_left_over, this_owner
from sandbox.backends.docker.users import GROUP, IMAGE_USER, UserImages, number_of
from sandbox.machine_slots import Slot
from sandbox.packages.wheels import PACKAGES, wheel_cache

_LABEL = "cosqa.sandbox"
_OWNER = "cosqa.owner"
NAME = "cosqa.name"
_MEGABYTE = 2**20
_SHARED_MEMORY = "size=8m,nr_inodes=512,mode=1777"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 0.2

# A network that holds only a loopback interface takes the engine as long as the rest of a box's
# start, so a container that only waits keeps one, and a box is started in it. A box has its network
# to itself. The next box gets it where the runner has found all processes and sockets gone, and
# connections do not linger.
KEEPS_A_NETWORK = ("cat",)  # ends with its stdin, and so with the process that holds the other end
_NO_LINGERING = {"net.ipv4.tcp_max_tw_buckets": "0"}


class Running(NamedTuple):
    """A container that runs.

    Attributes:
        container: The container.
        channel: The connection to its first process.
        network: The container that keeps the network of a box.
        user: The lock on a box's user number.
    """

    container: Container
    channel: Channel
    network: "Running | None" = None
    user: Slot | None = None

    def is_alive(self) -> bool:
        """Return True if the container's first process still waits."""
        return self.channel.is_open()


class Engine:
    """The Docker engine, in blocking calls: makes and removes what boxes are made of."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self.name = uuid.uuid4().hex
        self._labels = {_LABEL: "1", _OWNER: this_owner(), NAME: self.name}
        self._idle_networks: deque[Running] = deque()
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
        """Return the identity of the engine as it is; see ``Identified``."""
        with translated():
            info, image = self._client.info(), self._client.images.get(self._settings.image)
        return abilities.identity(info, self._settings.runtime, str(image.id))

    def admit(self) -> None:
        """Refuse an engine that cannot hold a box to its limits.

        Raises:
            SandboxError: It lacks a limit that ``sandbox.accept_without`` does not name.
        """
        with translated():
            info = self._client.info()
        abilities.require(info, self._settings.accept_without)

    def start(self, volume: Volume | None, user: Slot, language: str = "python") -> Running:
        """Return a box with a waiting runner; errors as in ``Sandbox.check``.

        Nothing of the volume is loaded by the runner itself: no variable leads it there.

        Args:
            volume: The packages installed for the box, which can only read them.
            user: The lock on the box's user number, which no other box has.
            language: The language of the box.
        """
        number = number_of(user.place)
        image = self._user_images.of(number, language)
        network = self._take_network()
        joined = {"network_mode": f"container:{network.container.id}"} if network else NO_NETWORK
        try:
            container = self._create(
                boot.command(),
                image=image,
                user=f"{number}:{GROUP}",
                environment={"PYTHONHASHSEED": "0"},
                volumes={volume.name: {"bind": PACKAGES, "mode": "ro"}} if volume else {},
                stdin_open=True,
                log_config=NO_LOG,
                **joined,
            )
            running = self._start(container)._replace(network=network, user=user)
        except BaseException:
            if network:
                self._idle_networks.append(network)
            raise
        try:
            running.channel.receive(_START_TIMEOUT_S)
        except BaseException:
            self.stop(running)
            raise
        return running

    def stop(self, running: Running) -> None:
        """Disconnect from a container, which ends an idle runner, and remove it.

        A box's network is kept for the next box if nothing of this one is left in it.
        """
        running.channel.close()
        with contextlib.suppress(APIError, requests.RequestException):
            running.container.wait(timeout=_STOP_TIMEOUT_S)  # spares the engine a killing process
        self.remove(running.container)
        if running.network and running.channel.is_clean:
            self._idle_networks.append(running.network)
        elif running.network:
            self.stop(running.network)

    def _start(self, container: Container) -> Running:
        """Start a container; where that fails, remove it."""
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        with contextlib.ExitStack() as undo, translated():
            undo.callback(self.remove, container)
            streams = attached(container, parameters)
            channel = Channel(*streams, longest_answer(self._settings))
            undo.callback(channel.close)
            container.start()
            undo.pop_all()
        return Running(container, channel)

    def _take_network(self) -> Running | None:
        """Return an idle network or a new one; None for boxes with a kernel of their own.

        Those may be unable to join another container's.
        """
        if self._settings.runtime:
            return None
        with contextlib.suppress(IndexError):
            while True:
                network = self._idle_networks.pop()
                if network.is_alive():
                    return network
                self.stop(network)
        return self._start(
            self._create(
                KEEPS_A_NETWORK,
                sysctls=_NO_LINGERING,
                log_config=NO_LOG,
                stdin_open=True,
                auto_remove=True,  # it may end when nobody is left to remove it
                **NO_NETWORK,
            )
        )

    def make_volume(self) -> Volume:
        """Make a volume for what is installed for one box."""
        with translated():
            return self._client.volumes.create(labels=self._labels)

    def was_out_of_memory(self, container: Container) -> bool:
        """Return True if the kernel ended the container for memory."""
        with translated():
            container.reload()
        return bool(container.attrs["State"]["OOMKilled"])

    def remove(self, removable: Container | Volume) -> None:
        """Kill and remove a container, or remove a volume; do nothing where it is gone.

        Nor where it is being removed, or still used: the next start removes it.
        """
        with translated(), contextlib.suppress(NotFound):
            try:
                removable.remove(force=True)
            except APIError as error:
                if error.status_code != requests.codes.conflict:
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
            self.remove(volume)
        return len(containers) + len(volumes)

    def close(self) -> None:
        """Close the connections to the engine."""
        for network in self._idle_networks:
            network.channel.close()
        self._client.close()

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


def _ulimits(largest_file: int) -> list[Ulimit]:
    values = {"fsize": largest_file, "nofile": 256, "core": 0, "msgqueue": 0}
    return [Ulimit(name=name, soft=value, hard=value) for name, value in values.items()]
