"""The apt command that installs Debian packages in a container.

Packages are fetched, their signatures checked, and unpacked into the box's volume, without root
rights; no script of a package runs, and the image stays as it is. The loader of a program finds
their libraries by its environment, and only there: no wheel can bring a file to where it looks.
"""

import re
from collections.abc import Iterable, Sequence

from sandbox.base import InstallResult
from sandbox.packages.plan import PACKAGES, InstallPlan, failure, places_of

APT = "apt:"
_ROOT = "/debian"
_FOLDERS = ("usr/lib", "lib")
_MACHINES = ("x86_64-linux-gnu", "aarch64-linux-gnu")
_LIBRARIES = [f"{_ROOT}/{folder}/{machine}" for machine in _MACHINES for folder in _FOLDERS]
_VARIABLES = {
    "LD_LIBRARY_PATH": ":".join(_LIBRARIES),
    "PATH": f"/usr/local/bin:/usr/bin:/bin:{_ROOT}/usr/bin",
}
SOURCES = ["apt-get", "update", "--print-uris"]  # prints what it would fetch
_SCRIPT = f"""
set -e
. /etc/os-release
cd {PACKAGES}
mkdir -p .apt/lists/partial .apt/archives/partial
mirror=$1 sources=
shift
if [ -n "$mirror" ]; then
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$keys] $mirror $VERSION_CODENAME main" >.apt/sources.list
    sources="-o Dir::Etc::sourceparts=/dev/null"
    sources="$sources -o Dir::Etc::sourcelist={PACKAGES}/.apt/sources.list"
fi
get() {{
    apt-get -qq -o Debug::NoLocking=1 -o Acquire::Retries=1 -o Acquire::http::Timeout=15 \\
        -o Acquire::http::Proxy="$http_proxy" -o Acquire::https::Proxy="$https_proxy" \\
        -o Acquire::http::Pipeline-Depth=0 -o Acquire::Languages=none \\
        -o Dir::Cache={PACKAGES}/.apt -o Dir::State::lists={PACKAGES}/.apt/lists $sources "$@"
}}
get update
get --yes --no-install-recommends --download-only install -- "$@"
for archive in .apt/archives/*.deb; do
    [ -e "$archive" ] || continue
    dpkg-deb --extract "$archive" {PACKAGES}
    echo "unpacked ${{archive##*/}}"
done
rm -rf .apt
"""


def split(requirements: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of the Debian packages among requirements, and the other requirements."""
    packages, others = [], []
    for requirement in requirements:
        if requirement.startswith(APT):
            packages.append(requirement.removeprefix(APT))
        else:
            others.append(requirement)
    return packages, others


def plan(packages: Sequence[str], mirror: str | None, sites: Iterable[str]) -> InstallPlan:
    """Return how Debian packages, and those that they need, are fetched and unpacked.

    Args:
        packages: Names that the caller has allowed.
        mirror: Address of a Debian archive; None for the image's own sources.
        sites: Addresses in those sources, as of `sites_in`.
    """
    environment = {"HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108
    return InstallPlan(
        ["sh", "-c", _SCRIPT, "sh", mirror or "", *packages],
        environment,
        sorted(places_of([mirror] if mirror else sites)),
        outcome,
        folder=_ROOT,
        variables=_VARIABLES,
    )


def sites_in(output: str) -> list[str]:
    """Return the addresses that ``SOURCES`` has printed."""
    return re.findall(r"^'([^']+)'", output, re.MULTILINE)


def outcome(status: int, output: str, seconds: float) -> InstallResult:
    """Return the result that the script's exit status and output stand for."""
    if status != 0:
        return failure("apt", "E: ", status, output, seconds)
    archives = re.findall(r"^unpacked ([^_]+)_([^_]+)_", output, re.MULTILINE)
    installed = tuple(f"{APT}{name}=={version}" for name, version in archives)
    return InstallResult(ok=True, installed=installed, seconds=seconds)
