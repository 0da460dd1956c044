"""The pip command that installs requirements in a container.

Wheels only, so that no code of a distribution runs while it is installed; requirements are names
with versions, never options, addresses or paths.
"""

import ast
import contextlib
import io
import os
import re
import socket
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from sandbox.base import InstallResult

PACKAGES = "/packages"
WHEELS = "/wheels"
WHEEL_CACHE = "cosqa-wheels"
CERTIFICATES = ".certificates.pem"
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
    r"(\[[A-Za-z0-9._,-]+\])?"
    r"((===|[=<>!~]=|[<>])[A-Za-z0-9.*+!_-]+(,(===|[=<>!~]=|[<>])[A-Za-z0-9.*+!_-]+)*)?"
)
_PASSED_ON = ("index-url", "extra-index-url", "trusted-host", "proxy")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_PYPI = ["https://pypi.org", "https://files.pythonhosted.org"]
_MESSAGE_CHARACTERS = 1000


class InstallPlan(NamedTuple):
    """The command, environment and hosts of a container that installs something.

    Attributes:
        command: What it runs.
        environment: Its whole environment.
        hosts: Names that it can find the addresses of.
        outcome: What its exit status, output and seconds stand for.
        certificates: The host's bundle of certificate authorities, to be copied in.
        caches: Volumes that outlive it, and where they are mounted.
    """

    command: list[str]
    environment: dict[str, str]
    hosts: list[str]
    outcome: Callable[[int, str, float], InstallResult]
    certificates: Path | None = None
    caches: Mapping[str, str] = MappingProxyType({})


def plan(requirements: Sequence[str], further_hosts: Iterable[str]) -> InstallPlan:
    """Return how distributions are installed from this machine's index.

    Args:
        requirements: Names with versions.
        further_hosts: Hosts to which the index sends for its files.
    """
    settings = host_pip_settings()
    certificates = host_certificates(settings, os.environ)
    return InstallPlan(
        command(requirements),
        environment(settings, os.environ, certificates=certificates is not None),
        index_hosts(settings, os.environ, further_hosts),
        outcome,
        certificates,
        {WHEEL_CACHE: WHEELS},
    )


def malformed(requirements: Iterable[str]) -> list[str]:
    """Return those requirements that are no name with optional extras and versions."""
    return [text for text in requirements if not _REQUIREMENT.fullmatch(text)]


def command(requirements: Sequence[str]) -> list[str]:
    """Return what the installing container runs."""
    script = f"mkdir -p {PACKAGES}/.tmp && export TMPDIR={PACKAGES}/.tmp && exec python3 -m pip $0"
    options = [
        "--target", PACKAGES, "--only-binary", ":all:", "--upgrade", "--no-compile",
        "--no-input", "--progress-bar", "off", "--retries", "1", "--timeout", "15",
        "--cache-dir", WHEELS, "--disable-pip-version-check",
    ]  # fmt: skip
    return ["sh", "-c", f'{script} "$@"', "install", *options, "--", *requirements]


def environment(
    pip_settings: Mapping[str, str], variables: Mapping[str, str], *, certificates: bool
) -> dict[str, str]:
    """Return pip's environment: the host's index and proxy, and its certificates where given.

    Folders of the host (``file://`` addresses, paths) mean nothing in a container and are left out.
    """
    result = {"HOME": "/tmp", "LANG": "C.UTF-8", "PIP_CONFIG_FILE": os.devnull}  # noqa: S108
    result |= proxies(variables)
    for name in _PASSED_ON:
        values = [value for value in pip_settings.get(name, "").split() if _is_usable(name, value)]
        if values:
            result[f"PIP_{name.upper().replace('-', '_')}"] = " ".join(values)
    if certificates:
        result["PIP_CERT"] = f"{PACKAGES}/{CERTIFICATES}"
    return result


def index_hosts(
    pip_settings: Mapping[str, str], variables: Mapping[str, str], further: Iterable[str] = ()
) -> list[str]:
    """Return the only hosts that an installing container may know the addresses of.

    Args:
        pip_settings: The host's own, with the indexes that it uses.
        variables: The host's environment, with its proxies.
        further: Hosts to which an index sends for its files.
    """
    addresses = [
        word
        for name in ("index-url", "extra-index-url", "proxy")
        for word in pip_settings.get(name, "").split()
        if word.startswith(("http://", "https://"))
    ]
    if not pip_settings.get("index-url"):
        addresses += _PYPI
    return sorted({*hosts_of(addresses, variables), *further})


def proxies(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that set proxies."""
    return {name: variables[name] for name in _PROXIES if name in variables}


def hosts_of(addresses: Iterable[str], variables: Mapping[str, str]) -> set[str]:
    """Return the hosts of addresses, and those of the proxies on the way to them."""
    ways = [variables.get(name, "") for name in _PROXIES if name.lower() != "no_proxy"]
    return {host for address in (*addresses, *ways) if (host := urlsplit(address).hostname)}


def _is_usable(name: str, value: str) -> bool:
    return not name.endswith("index-url") or value.startswith(("http://", "https://"))


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


def addresses(hosts: Iterable[str]) -> dict[str, str]:
    """Return host → IP address; hosts without one are left out, and pip reports them."""
    by_host = {}
    for host in hosts:
        with contextlib.suppress(OSError):
            by_host[host] = socket.gethostbyname(host)
    return by_host


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


def failure(tool: str, mark: str, status: int, output: str, seconds: float) -> InstallResult:
    """Return the result of a tool that failed: its lines with that mark, or all that it printed."""
    errors = [line for line in output.splitlines() if line.startswith(mark)]
    message = "\n".join(errors) or output.strip() or f"{tool} ended with status {status}"
    return InstallResult(ok=False, message=message[-_MESSAGE_CHARACTERS:], seconds=seconds)
