"""Containers that install: they have a way to an index, a volume to write to, nothing of a box.

They have no network. A proxy in this process is their only way out, and connects to the index and
the archive of packages alone.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import requests
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig

from infra.settings import SandboxSettings
from sandbox.backends.docker.connection import attached, translated
from sandbox.backends.docker.streams import Streams, carry
from sandbox.base import InstallResult
from sandbox.packages import apt, pip
from sandbox.packages.plan import PACKAGES, InstallPlan
from sandbox.packages.proxy import Proxy, usual_way

_log = logging.getLogger(__name__)

NO_NETWORK = {"network_mode": "none", "hostname": "box"}
NO_LOG = LogConfig(type=LogConfig.types.NONE)
_LARGEST_WHEEL_MB = 1024
_BESIDE = "/mnt"  # where nothing is looked for


class Installers:
    """The installing containers of one engine, in blocking calls.

    Args:
        create: Makes a container from a command and options of ``docker``.
        remove: Removes a container in any state.
        settings: The sandbox's settings.
    """

    def __init__(
        self,
        create: Callable[..., Container],
        remove: Callable[[Container], None],
        settings: SandboxSettings,
    ) -> None:
        self._create = create
        self._remove = remove
        self._settings = settings
        self._sites: list[str] | None = None

    def make(
        self, volume: Volume, plan: InstallPlan, others: Mapping[str, Volume] = MappingProxyType({})
    ) -> Container:
        """Make a container that will install, with the volume writable.

        Args:
            volume: For what is installed.
            plan: What is done.
            others: Folder in the box → what was installed for it otherwise, to be counted.
        """
        written = {str(volume.name): PACKAGES, **plan.caches}
        counted = {str(one.name): _BESIDE + at for at, one in others.items()}
        limits = self._settings
        container = self._create(
            plan.container_command(
                most_mb=limits.install_mb,
                most_cached_mb=limits.wheel_cache_mb,
                beside=list(counted.values()),
            ),
            volumes={name: {"bind": folder, "mode": "rw"} for name, folder in written.items()}
            | {name: {"bind": folder, "mode": "ro"} for name, folder in counted.items()},
            stdin_open=True,
            log_config=NO_LOG,
            largest_file_mb=_LARGEST_WHEEL_MB,
            **NO_NETWORK,
        )
        if plan.certificates is not None:
            with translated():
                container.put_archive(PACKAGES, pip.archive_of(plan.certificates))
        return container

    def run(self, installer: Container, plan: InstallPlan) -> InstallResult:
        """Let an installer run to its end, or to the time limit."""
        limit, start = self._settings.install_timeout_s, time.monotonic()
        proxy = Proxy(plan.places, partial(usual_way, proxy=plan.proxy), plan.certificates)
        with translated():
            streams = Streams(
                *attached(installer, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            )
            try:
                installer.start()
                streams.write(plan.input())
                asyncio.run(carry(streams, proxy, limit))
                left = max(1.0, start + limit - time.monotonic())
                status = installer.wait(timeout=left)["StatusCode"]
            except (TimeoutError, requests.Timeout, requests.ConnectionError):
                if time.monotonic() - start < limit:
                    raise
                return InstallResult(
                    ok=False, message=f"installing took over {limit:g} s", seconds=limit
                )
            except ValueError as error:
                message = f"the installing container broke its protocol: {error}"
                return InstallResult(ok=False, message=message, seconds=time.monotonic() - start)
            finally:
                streams.close()
        refused = [f"refused: {reason}" for reason in proxy.refused]
        if refused:
            _log.warning("in an installing container: %s", "; ".join(refused))
        output = "\n".join([streams.printed.rstrip("\n"), *refused])
        return plan.outcome(status, output, time.monotonic() - start)

    def apt_sites(self) -> list[str]:
        """Return the addresses in the image's own sources of Debian packages, asked for once."""
        if self._sites is None:
            container = self._create(apt.SOURCES, **NO_NETWORK)
            try:
                with translated():
                    container.start()
                    container.wait(timeout=self._settings.install_timeout_s)
                    output = container.logs(stdout=True, stderr=False).decode(errors="replace")
            finally:
                self._remove(container)
            self._sites = apt.sites_in(output)
        return self._sites
