"""The Docker engine in blocking calls: makes and removes what boxes are made of.

A box reaches no network, no files, users and privileges of the host, and no more memory, processes,
time and disk than its limits. It does not protect from a hole in the kernel (set
``sandbox.runtime`` to gVisor's ``runsc`` or Kata for that), nor from a program that uses up its own
limits for nothing.
"""

import contextlib
import shutil
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import requests
from docker.errors import APIError
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig, Ulimit

from infra.settings import SandboxSettings
from sandbox.backends.docker.channel import Channel, boot_command
from sandbox.backends.docker.connection import (
    connect,
    identity_of,
    require_limits,
    translate_errors,
)
from sandbox.backends.docker.images import GROUP, IMAGE_USER, BoxImages
from sandbox.backends.docker.jobs import longest_answer
from sandbox.backends.docker.owners import OwnedObjects
from sandbox.backends.docker.wheels import PACKAGES, Installers, wheel_cache
from sandbox.machine_slots import MachineSlots, Slot

_MOST_USERS = 4096  # boxes on a machine; far more than it holds
_USER_WAIT_S = 0.1  # until a number that another box has left is seen
_MEGABYTE = 2**20
_SHARED_MEMORY = "size=8m,nr_inodes=512,mode=1777"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 0.2

_NO_NETWORK: dict[str, Any] = {"network_mode": "none", "hostname": "box"}
_NO_LOG = LogConfig(type=LogConfig.types.NONE)

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
        self._idle_networks: deque[Running] = deque()
        self._users = MachineSlots("users", _MOST_USERS)  # one kernel counts, whatever the engine
        self._client = connect(settings.machine_slots + 2)
        self.owned = OwnedObjects(self._client, settings.machine_slots)
        self._images = BoxImages(self._client, settings.image, self.owned.labels)
        self.installers = Installers(self._create, self.owned.remove, settings)

    @classmethod
    def connect(cls, settings: SandboxSettings) -> "Engine":
        """Return the engine, after removing what ended processes left on it.

        Raises:
            EngineUnavailableError: No engine answers.
            SandboxError: It cannot hold a box to its limits.
        """
        engine = cls(settings)
        try:
            with translate_errors():
                info = engine._client.info()
            require_limits(info, settings.accept_without)
            engine.owned.remove_left_over()
        except BaseException:
            engine.close()
            raise
        return engine

    def describe(self) -> str:
        """Return engine and image; see ``Sandbox.check`` for the errors."""
        with translate_errors():
            version = self._client.version()["Version"]
            image = self._client.images.get(self._settings.image)
        runtime = f", runtime {self._settings.runtime}" if self._settings.runtime else ""
        return f"Docker {version}{runtime}, image {self._settings.image} {image.id}"

    def identity(self) -> str:
        """Return the identity of the engine as it is; see ``Identified``."""
        with translate_errors():
            info, image = self._client.info(), self._client.images.get(self._settings.image)
        return identity_of(info, self._settings.runtime, str(image.id))

    def start(self, volume: Volume | None = None, language: str = "python") -> Running:
        """Return a box with a waiting runner; errors as in ``Sandbox.check``.

        Nothing of the volume is loaded by the runner itself: no variable leads it there.

        Args:
            volume: The packages installed for the box, which can only read them.
            language: The language of the box.
        """
        with contextlib.ExitStack() as undo:
            while (user := self._users.try_acquire()) is None:
                time.sleep(_USER_WAIT_S)
            undo.callback(user.release)
            number = IMAGE_USER + 1 + user.number
            image = self._images.user_image(number, language)
            if network := self._take_network():
                undo.callback(self._idle_networks.append, network)
            container = self._create(
                boot_command(),
                image=image,
                user=f"{number}:{GROUP}",
                environment={"PYTHONHASHSEED": "0"},
                volumes={volume.name: {"bind": PACKAGES, "mode": "ro"}} if volume else {},
                stdin_open=True,
                **({"network_mode": f"container:{network.container.id}"} if network else {}),
            )
            running = self._start(container)._replace(network=network, user=user)
            undo.pop_all()
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
        try:
            with contextlib.suppress(APIError, requests.RequestException):
                # This spares the engine a killing process.
                running.container.wait(timeout=_STOP_TIMEOUT_S)
            self.owned.remove(running.container)
            if running.network and running.channel.is_clean:
                self._idle_networks.append(running.network)
            elif running.network:
                self.stop(running.network)
        finally:
            if running.user:
                running.user.release()

    def _start(self, container: Container) -> Running:
        """Start a container; where that fails, remove it."""
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        with contextlib.ExitStack() as undo, translate_errors():
            undo.callback(self.owned.remove, container)
            attached: Any = container.attach_socket(params=streams)
            connection = getattr(attached, "_sock", attached)
            channel = Channel(connection, attached, longest_answer(self._settings))
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
                stdin_open=True,
                auto_remove=True,  # it may end when nobody is left to remove it
            )
        )

    def make_volume(self) -> Volume:
        """Make a volume for what is installed for one box."""
        with translate_errors():
            return self._client.volumes.create(labels=self.owned.labels)

    def was_out_of_memory(self, container: Container) -> bool:
        """Return True if the kernel ended the container for memory."""
        with translate_errors():
            container.reload()
        return bool(container.attrs["State"]["OOMKilled"])

    def remove_everything(self) -> int:
        """Remove all boxes of all processes, their images, the cache of wheels; return how many."""
        removed = self.owned.remove_everything() + self._images.remove_all()
        if not wheel_cache().exists():
            return removed
        shutil.rmtree(wheel_cache(), ignore_errors=True)
        return removed + 1

    def close(self) -> None:
        """Close the connections to the engine."""
        for network in self._idle_networks:
            network.channel.close()
        self._client.close()

    def _create(self, command: Sequence[str], **options: Any) -> Container:  # noqa: ANN401 - docker-py's
        """Make a container within the limits, without a network where no option names one."""
        limits = self._settings
        largest_file = options.pop("largest_file_mb", limits.tmp_mb) * _MEGABYTE
        ulimits = {"fsize": largest_file, "nofile": 256, "core": 0, "msgqueue": 0}
        megabytes = f"{limits.tmp_mb}m,nr_inodes={64 * limits.tmp_mb},mode=1777"
        with translate_errors():
            return self._client.containers.create(
                options.pop("image", limits.image),
                list(command),
                labels=self.owned.labels,
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
                ulimits=[Ulimit(name=name, soft=n, hard=n) for name, n in ulimits.items()],
                runtime=limits.runtime,
                log_config=options.pop("log_config", _NO_LOG),
                **({} if "network_mode" in options else _NO_NETWORK),
                **options,
            )
