"""The wheels that requirements stand for: fetched by this machine's pip, unpacked in a container.

Wheels only, from this machine's own index only, so that no code of a distribution runs on the way
(`sandbox.packages.guarded_pip`); requirements are names with versions, never options, addresses or
paths. The container that unpacks them has a volume to write to, no network, and nothing of a box.
"""

import asyncio
import json
import os
import re
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import requests
from docker.models.containers import Container
from docker.models.volumes import Volume
from docker.types import LogConfig
from pydantic import ValidationError

from infra.errors import SandboxError
from infra.records import Record
from infra.settings import SandboxSettings
from sandbox.backends.docker.connection import translate_errors
from sandbox.base import InstallResult

PACKAGES = "/packages"  # where a box finds what was installed; the image's user owns it
_FETCHED = ".wheels"
_LONGEST_LOG = 65_536  # bytes of pip's output, from its end
_MESSAGE_CHARACTERS = 1000
_MEGABYTE = 2**20
_MOST_CACHED_MB = 8192  # of wheels in the cache for later boxes
_SHORT_LOG = LogConfig(type=LogConfig.types.JSON, config={"max-size": "1m"})
_LARGEST_FILE_MB = 1024
_GUARDED_PIP = Path(__file__).parents[2] / "packages" / "guarded_pip.py"
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
    r"(\[[A-Za-z0-9._,-]+\])?"
    r"((===|[=<>!~]=|[<>])[A-Za-z0-9.*+!_-]+(,(===|[=<>!~]=|[<>])[A-Za-z0-9.*+!_-]+)*)?"
)
_QUESTION = """
import json
from pip._vendor.packaging import markers, tags
print(json.dumps({
    "implementation": tags.interpreter_name(),
    "platforms": list(dict.fromkeys(tags.platform_tags())),
    "markers": markers.default_environment(),
}))
"""
QUESTION = ["python3", "-I", "-c", _QUESTION]
INSTALLING = [
    "sh", "-c", (
    f"cd {PACKAGES} && TMPDIR={PACKAGES}/{_FETCHED} PIP_CONFIG_FILE=/dev/null python3 -I -m pip "
    f"install -qq --target {PACKAGES} --upgrade --no-deps --no-index --no-compile --no-input "
    f"--disable-pip-version-check {_FETCHED}/*.whl; status=$?; rm -rf {_FETCHED}; exit $status"),
]  # fmt: skip


class Platform(Record):
    """An image's answer to ``QUESTION``: the platform of its wheels.

    Attributes:
        implementation: Of its Python, as in the names of wheels.
        platforms: Those of wheels, the most specific first.
        markers: The values of environment markers.
    """

    implementation: str
    platforms: tuple[str, ...]
    markers: Mapping[str, str]


class Fetched(NamedTuple):
    """Wheels in an archive, or why there are none.

    Attributes:
        result: What is installed once they are unpacked, or the failure.
        size: Bytes that they then take.
    """

    result: InstallResult
    size: int = 0


def invalid_requirements(requirements: Iterable[str]) -> list[str]:
    """Return the requirements that are no name with optional extras and versions."""
    return [text for text in requirements if not _REQUIREMENT.fullmatch(text)]


def wheel_cache() -> Path:
    """Return the folder of what was fetched for earlier boxes."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "cosqa-plus" / "wheels"


async def fetch(
    requirements: Sequence[str],
    platform: Platform,
    settings: SandboxSettings,
    archive: BinaryIO,
    taken: int,
) -> Fetched:
    """Fetch the wheels of well-formed requirements, and of what these need.

    Args:
        requirements: Names with versions.
        platform: Of the image in which they are to be installed.
        settings: The limits.
        archive: Where an archive for the container's packages is written.
        taken: Bytes of what was installed for the same box before.
    """
    limit = settings.install_timeout_s
    wanted = {
        "names": list(requirements),
        "python": platform.markers["python_full_version"],
        "implementation": platform.implementation,
        "platforms": platform.platforms,
        "markers": dict(platform.markers),
        "places": [
            place
            for host in settings.index_hosts
            for place in ([host] if ":" in host else [f"{host}:80", f"{host}:443"])
        ],
        "cache": str(wheel_cache()),
        "most_cached": _MOST_CACHED_MB * _MEGABYTE,
        "most": max(0, settings.install_mb * _MEGABYTE - taken),
        "seconds": limit,
        "there": _FETCHED,
    }
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(_GUARDED_PIP), json.dumps(wanted),
            stdin=asyncio.subprocess.DEVNULL, stdout=archive, stderr=log,
        )  # fmt: skip
        try:
            status = await asyncio.wait_for(process.wait(), limit)
        except TimeoutError:
            return Fetched(timeout_result(limit))
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        log.seek(max(0, log.seek(0, 2) - _LONGEST_LOG))
        output = log.read().decode(errors="replace")
    if status:
        return Fetched(failure(status, output))
    archive.seek(0)
    with tarfile.open(fileobj=archive) as wheels:
        names = [Path(entry.name).name.split("-") for entry in wheels if entry.isfile()]
    archive.seek(0)
    installed = tuple(f"{name.replace('_', '-')}=={version}" for name, version, *_ in names)
    return Fetched(InstallResult(ok=True, installed=installed), int(output.split()[-1]))


def timeout_result(limit_s: float) -> InstallResult:
    """Return the result of an installation that was ended at its time limit."""
    return InstallResult(ok=False, message=f"installing took over {limit_s:g} s", seconds=limit_s)


def failure(status: int, output: str) -> InstallResult:
    """Return the result of a pip that failed: its errors, or all that it printed."""
    errors = [line for line in output.splitlines() if line.startswith(("ERROR:", "limit: "))]
    message = "\n".join(errors) or output.strip() or f"pip ended with status {status}"
    return InstallResult(ok=False, message=message[-_MESSAGE_CHARACTERS:])


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
        self._platform: Platform | None = None

    def make(self, volume: Volume, wheels: BinaryIO) -> Container:
        """Make a container that will install wheels, an archive of which is read, into a volume."""
        container = self._create(
            INSTALLING,
            volumes={str(volume.name): {"bind": PACKAGES, "mode": "rw"}},
            log_config=_SHORT_LOG,
            largest_file_mb=_LARGEST_FILE_MB,
        )
        with translate_errors():
            container.put_archive(PACKAGES, wheels)
        return container

    def run(self, installer: Container, limit_s: float) -> InstallResult:
        """Let an installer run to its end, or to the time limit."""
        start = time.monotonic()
        with translate_errors():
            try:
                installer.start()
                status = installer.wait(timeout=limit_s)["StatusCode"]
            except (requests.Timeout, requests.ConnectionError):
                if time.monotonic() - start < limit_s:
                    raise
                return timeout_result(self._settings.install_timeout_s)
            if status:
                return failure(status, installer.logs().decode(errors="replace"))
        return InstallResult(ok=True)

    def platform(self) -> Platform:
        """Return the platform of the image, asked for once.

        Raises:
            SandboxError: It has no Python with pip.
        """
        if self._platform is None:
            container = self._create(QUESTION, log_config=_SHORT_LOG)
            try:
                with translate_errors():
                    container.start()
                    container.wait(timeout=self._settings.install_timeout_s)
                    output = container.logs().decode(errors="replace")
            finally:
                self._remove(container)
            try:
                self._platform = Platform.model_validate_json(output)
            except ValidationError:
                raise SandboxError(
                    f"the image {self._settings.image} needs python3 with pip: {output[-500:]}"
                ) from None
        return self._platform
