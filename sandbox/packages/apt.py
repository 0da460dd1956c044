"""The apt command that installs Debian packages in a container.

Packages are fetched, their signatures checked, and unpacked into the box's volume, without root
rights; no script of a package runs, and the image stays as it is. The loader finds their libraries
by the box's environment.
"""

import os
import re
from collections.abc import Iterable, Sequence

from sandbox.base import InstallResult
from sandbox.packages.pip import PACKAGES, InstallPlan, failure, hosts_of, proxies

APT = "apt:"
_ROOT = f"{PACKAGES}/.debian"
_FOLDERS = ("usr/lib", "lib")
_MACHINES = ("x86_64-linux-gnu", "aarch64-linux-gnu")
_LIBRARIES = [f"{_ROOT}/{folder}/{machine}" for machine in _MACHINES for folder in _FOLDERS]
ENVIRONMENT = {
    "LD_LIBRARY_PATH": ":".join(_LIBRARIES),
    "PATH": f"/usr/local/bin:/usr/bin:/bin:{_ROOT}/usr/bin",
}
_SCRIPT = f"""
set -e
. /etc/os-release
cd {PACKAGES}
mkdir -p .apt/lists/partial .apt/archives/partial {_ROOT}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $0 $VERSION_CODENAME main" >.apt/sources.list
get() {{
    apt-get -qq -o Debug::NoLocking=1 -o Acquire::Retries=1 -o Acquire::http::Timeout=15 \\
        -o Acquire::Languages=none -o Dir::Cache={PACKAGES}/.apt \\
        -o Dir::State::lists={PACKAGES}/.apt/lists \\
        -o Dir::Etc::sourcelist={PACKAGES}/.apt/sources.list -o Dir::Etc::sourceparts=/dev/null "$@"
}}
get update
get --yes --no-install-recommends --download-only install -- "$@"
for archive in .apt/archives/*.deb; do
    [ -e "$archive" ] || continue
    dpkg-deb --extract "$archive" {_ROOT}
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


def plan(packages: Sequence[str], mirror: str) -> InstallPlan:
    """Return how Debian packages, and those that they need, are fetched and unpacked.

    Args:
        packages: Names that the caller has allowed.
        mirror: Address of a Debian archive.
    """
    environment = {"HOME": "/tmp", "LANG": "C.UTF-8", **proxies(os.environ)}  # noqa: S108
    return InstallPlan(
        ["sh", "-c", _SCRIPT, mirror, *packages],
        environment,
        sorted(hosts_of([mirror], os.environ)),
        outcome,
    )


def outcome(status: int, output: str, seconds: float) -> InstallResult:
    """Return the result that the script's exit status and output stand for."""
    if status != 0:
        return failure("apt", "E: ", status, output, seconds)
    archives = re.findall(r"^unpacked ([^_]+)_([^_]+)_", output, re.MULTILINE)
    installed = tuple(f"{APT}{name}=={version}" for name, version in archives)
    return InstallResult(ok=True, installed=installed, seconds=seconds)
