"""The pip command that installs requirements in a container.

Wheels only, of this machine's index only, so that no code of a distribution runs while it is
installed (`wheels_only`); requirements are names with versions, never options, addresses or paths.
"""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from sandbox.base import InstallResult
from sandbox.packages.plan import PACKAGES, InstallPlan, failure, places_of, source

WHEELS = "/wheels"
WHEEL_CACHE = "cosqa-wheels"
_FETCHED = f"{WHEELS}/fetched"  # beside it may lie what an earlier version has built
CERTIFICATES = ".certificates.pem"
_GUARDED_PIP = Path(__file__).with_name("wheels_only.py")
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
    r"(\[[A-Za-z0-9._,-]+\])?"
    r"((===|[=<>!~]=|[<>])[A-Za-z0-9.*+!_-]+(,(===|[=<>!~]=|[<>])[A-Za-z0-9.*+!_-]+)*)?"
)
_PASSED_ON = ("index-url", "extra-index-url", "trusted-host")
_WEB = ("http://", "https://")


def plan(requirements: Sequence[str], further_hosts: Iterable[str]) -> InstallPlan:
    """Return how distributions are installed from this machine's index.

    Args:
        requirements: Names with versions.
        further_hosts: Hosts, with a port or without, to which the index sends for its files.
    """
    settings = host_pip_settings()
    certificates = host_certificates(settings, os.environ)
    indexes = index_addresses(settings)
    further = [place for host in further_hosts for place in _places_of_host(host)]
    places = sorted({*places_of(indexes), *further})
    return InstallPlan(
        command(requirements, places),
        environment(settings, certificates=certificates is not None),
        places,
        outcome,
        certificates,
        {WHEEL_CACHE: WHEELS},
        proxy=settings.get("proxy", "").strip(),
    )


def malformed(requirements: Iterable[str]) -> list[str]:
    """Return those requirements that are no name with optional extras and versions."""
    return [text for text in requirements if not _REQUIREMENT.fullmatch(text)]


def command(requirements: Sequence[str], places: Sequence[str]) -> list[str]:
    """Return what the installing container runs.

    Args:
        requirements: Names with versions.
        places: The only ones that requests are sent to, each ``host:port``.
    """
    folder = f"{PACKAGES}/.tmp"
    script = f'rm -rf {folder} && mkdir {folder} && TMPDIR={folder} exec python3 -I -c "$@"'
    options = [
        "--target", PACKAGES, "--only-binary", ":all:", "--upgrade", "--no-compile",
        "--no-input", "--progress-bar", "off", "--retries", "1", "--timeout", "15",
        "--cache-dir", _FETCHED, "--disable-pip-version-check",
    ]  # fmt: skip
    guarded = [source(_GUARDED_PIP), json.dumps(places), "install", *options, "--", *requirements]
    return ["sh", "-c", script, "sh", *guarded]


def environment(pip_settings: Mapping[str, str], *, certificates: bool) -> dict[str, str]:
    """Return pip's environment: the host's index, and its certificates where given.

    Folders of the host (``file://`` addresses, paths) mean nothing in a container and are left out.
    """
    result = {"HOME": "/tmp", "LANG": "C.UTF-8", "PIP_CONFIG_FILE": os.devnull}  # noqa: S108
    for name in _PASSED_ON:
        values = [value for value in pip_settings.get(name, "").split() if _is_usable(name, value)]
        if values:
            result[f"PIP_{name.upper().replace('-', '_')}"] = " ".join(values)
    if certificates:
        result["PIP_CERT"] = f"{PACKAGES}/{CERTIFICATES}"
    return result


def index_addresses(pip_settings: Mapping[str, str]) -> list[str]:
    """Return the addresses of the indexes that this machine's pip uses, its default among them."""
    named = [
        address
        for name in ("index-url", "extra-index-url")
        for address in pip_settings.get(name, "").split()
        if _is_usable(name, address)
    ]
    return named if pip_settings.get("index-url") else [*_default_index(), *named]


def _default_index() -> list[str]:
    """Return the index that pip asks where none is set, and where that has its files.

    Without a pip on this machine there is none, and the container's pip says what it lacks.
    """
    try:
        from pip._internal.models.index import PyPI  # noqa: PLC0415 - heavy, and may be missing
    except ImportError:
        return []
    return [PyPI.simple_url, f"https://{PyPI.file_storage_domain}"]


def _places_of_host(name: str) -> list[str]:
    return [name] if ":" in name else [f"{name}:{port}" for port in (80, 443)]


def _is_usable(name: str, value: str) -> bool:
    return not name.endswith("index-url") or value.startswith(_WEB)


@cache
def host_pip_settings() -> dict[str, str]:
    """Return pip's settings on this machine, from its files and variables, the latter winning."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    return parsed_settings(listing.stdout)


def parsed_settings(listing: str) -> dict[str, str]:
    """Return name → value from what ``pip config list`` prints (``global.index-url='…'``)."""
    settings = {}
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(":env:")):
        name, separator, value = line.partition("=")
        if separator:
            settings[name.rpartition(".")[2]] = str(ast.literal_eval(value))
    return settings


def host_certificates(pip_settings: Mapping[str, str], variables: Mapping[str, str]) -> Path | None:
    """Return the host's own bundle of certificate authorities where one is set."""
    named = [pip_settings.get("cert")]
    named += [variables.get(name) for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")]
    files = [Path(name) for name in named if name]
    return next((file for file in files if file.is_file()), None)


def archive_of(certificates: Path) -> bytes:
    """Return the archive that brings certificates to where pip looks for them."""
    content = certificates.read_bytes()
    entry = tarfile.TarInfo(CERTIFICATES)
    entry.size, entry.mode = len(content), 0o444
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def outcome(status: int, output: str, seconds: float) -> InstallResult:
    """Return the result that pip's exit status and output stand for."""
    if status != 0:
        return failure("pip", "ERROR:", status, output, seconds)
    words = re.findall(r"^Successfully installed (.+)$", output, re.MULTILINE)
    installed = tuple("==".join(word.rsplit("-", 1)) for word in " ".join(words).split())
    return InstallResult(ok=True, installed=installed, seconds=seconds)
