"""The wheels that requirements stand for: fetched by this machine's pip, unpacked in a container.

Wheels only, from this machine's own index only, so that no code of a distribution runs on the way
(`wheels_only`); requirements are names with versions, never options, addresses or paths. The
container that unpacks them has no network.
"""

import asyncio
import json
import os
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from infra.records import Record
from infra.settings import SandboxSettings
from sandbox.base import InstallResult

PACKAGES = "/packages"  # where a box finds what was installed; the image's user owns it
_FETCHED = ".wheels"
_LONGEST_LOG = 65_536  # bytes of pip's output, from its end
_MESSAGE_CHARACTERS = 1000
_MEGABYTE = 2**20
_MOST_CACHED_MB = 8192  # of wheels in the cache for later boxes
_GUARDED_PIP = Path(__file__).with_name("wheels_only.py")
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


class Image(Record):
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


def malformed(requirements: Iterable[str]) -> list[str]:
    """Return the requirements that are no name with optional extras and versions."""
    return [text for text in requirements if not _REQUIREMENT.fullmatch(text)]


def wheel_cache() -> Path:
    """Return the folder of what was fetched for earlier boxes."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "cosqa-plus" / "wheels"


async def fetch(
    requirements: Sequence[str],
    image: Image,
    settings: SandboxSettings,
    archive: BinaryIO,
    taken: int,
) -> Fetched:
    """Fetch the wheels of well-formed requirements, and of what these need.

    Args:
        requirements: Names with versions.
        image: Where they are to be installed.
        settings: The limits.
        archive: Where an archive for the container's packages is written.
        taken: Bytes of what was installed for the same box before.
    """
    limit = settings.install_timeout_s
    wanted = {
        "names": list(requirements),
        "python": image.markers["python_full_version"],
        "implementation": image.implementation,
        "platforms": image.platforms,
        "markers": dict(image.markers),
        "places": [place for host in settings.index_hosts for place in _places_of(host)],
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
            return Fetched(too_long(limit))
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


def too_long(limit_s: float) -> InstallResult:
    """Return the result of an installation that was ended at its time limit."""
    return InstallResult(ok=False, message=f"installing took over {limit_s:g} s", seconds=limit_s)


def failure(status: int, output: str) -> InstallResult:
    """Return the result of a pip that failed: its errors, or all that it printed."""
    errors = [line for line in output.splitlines() if line.startswith(("ERROR:", "limit: "))]
    message = "\n".join(errors) or output.strip() or f"pip ended with status {status}"
    return InstallResult(ok=False, message=message[-_MESSAGE_CHARACTERS:])


def _places_of(host: str) -> list[str]:
    return [host] if ":" in host else [f"{host}:{port}" for port in (80, 443)]
