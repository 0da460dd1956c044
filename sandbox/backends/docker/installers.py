"""Containers that install: they have a volume to write to, no network, and nothing of a box."""

import time
from collections.abc import Callable
from typing import BinaryIO

import requests
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig
from pydantic import ValidationError

from infra.errors import SandboxError
from infra.settings import SandboxSettings
from sandbox.backends.docker.connection import translated
from sandbox.base import InstallResult
from sandbox.packages.wheels import INSTALLING, PACKAGES, QUESTION, Image, failure, too_long

NO_NETWORK = {"network_mode": "none", "hostname": "box"}
NO_LOG = LogConfig(type=LogConfig.types.NONE)
_SHORT_LOG = LogConfig(type=LogConfig.types.JSON, config={"max-size": "1m"})
_LARGEST_FILE_MB = 1024


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
        self._image: Image | None = None

    def make(self, volume: Volume, wheels: BinaryIO) -> Container:
        """Make a container that will install wheels, an archive of which is read, into a volume."""
        container = self._create(
            INSTALLING,
            volumes={str(volume.name): {"bind": PACKAGES, "mode": "rw"}},
            log_config=_SHORT_LOG,
            largest_file_mb=_LARGEST_FILE_MB,
            **NO_NETWORK,
        )
        with translated():
            container.put_archive(PACKAGES, wheels)
        return container

    def run(self, installer: Container, limit_s: float) -> InstallResult:
        """Let an installer run to its end, or to the time limit."""
        start = time.monotonic()
        with translated():
            try:
                installer.start()
                status = installer.wait(timeout=limit_s)["StatusCode"]
            except (requests.Timeout, requests.ConnectionError):
                if time.monotonic() - start < limit_s:
                    raise
                return too_long(self._settings.install_timeout_s)
            if status:
                return failure(status, installer.logs().decode(errors="replace"))
        return InstallResult(ok=True)

    def image(self) -> Image:
        """Return the image's own description, asked for once.

        Raises:
            SandboxError: It has no Python with pip.
        """
        if self._image is None:
            container = self._create(QUESTION, log_config=_SHORT_LOG, **NO_NETWORK)
            try:
                with translated():
                    container.start()
                    container.wait(timeout=self._settings.install_timeout_s)
                    output = container.logs().decode(errors="replace")
            finally:
                self._remove(container)
            try:
                self._image = Image.model_validate_json(output)
            except ValidationError:
                raise SandboxError(
                    f"the image {self._settings.image} needs python3 with pip: {output[-500:]}"
                ) from None
        return self._image
