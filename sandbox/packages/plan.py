"""What an installing container is given: its command, variables, places and limits.

It holds no code but the image's own, and what it fetches is unpacked, never run. It has no network,
but tunnels to a proxy on this machine, over its stdin and stdout. Its variables, an index's
credentials among them, come over its stdin too: the engine would show them to everybody.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from sandbox.base import InstallResult
from sandbox.packages.wheels_only import place_of

PACKAGES = "/packages"
_SANDBOX = Path(__file__).parents[1]
_MODULES = ("inside.seccomp", "packages.tunnels", "packages.installer")
_BOOT = """
import json, sys, types
for name in ("sandbox", "sandbox.inside", "sandbox.packages"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, text in json.loads(sys.argv.pop(1)).items():
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), vars(module))
module.main()
"""
_MESSAGE_CHARACTERS = 1000
_MARKS = ("limit: ", "refused: ")  # of what is no tool's own word


class InstallPlan(NamedTuple):
    """The command, environment and places of a container that installs something.

    Attributes:
        command: What it runs.
        environment: Its whole environment, but for the proxy.
        places: What it can reach, each ``host:port``.
        outcome: What its exit status, output and seconds stand for.
        certificates: The host's bundle of certificate authorities, to be copied in.
        caches: Volumes that outlive it, and where they are mounted.
        folder: Where a box finds what was installed; the installing container has it in /packages,
            the one place that its user owns.
        variables: What the box's programs need to find it, but never its runner.
        proxy: This machine's on the way there; "" for that which variables name, if any.
    """

    command: list[str]
    environment: dict[str, str]
    places: list[str]
    outcome: Callable[[int, str, float], InstallResult]
    certificates: Path | None = None
    caches: Mapping[str, str] = MappingProxyType({})
    folder: str = PACKAGES
    variables: Mapping[str, str] = MappingProxyType({})
    proxy: str = ""

    def container_command(
        self, *, most_mb: int, most_cached_mb: int, beside: Sequence[str] = ()
    ) -> list[str]:
        """Return what the container runs: `installer`, which starts the plan's command.

        Args:
            most_mb: Megabytes that all that is installed for one box may take.
            most_cached_mb: Megabytes of the caches that are kept.
            beside: Folders with what was installed for that box otherwise, and counts too.
        """
        limits = {
            "folders": [PACKAGES, *beside],
            "most_mb": most_mb,
            "caches": list(self.caches.values()),
            "most_cached_mb": most_cached_mb,
        }
        files = {name: _SANDBOX / f"{name.replace('.', '/')}.py" for name in _MODULES}
        modules = {f"sandbox.{name}": source(file) for name, file in files.items()}
        start = ["python3", "-I", "-c", _BOOT]
        return [*start, json.dumps(modules), json.dumps(limits), *self.command]

    def input(self) -> bytes:
        """Return what the container reads first."""
        return json.dumps(self.environment).encode() + b"\n"


@cache
def source(file: Path) -> str:
    """Return the text of a module that runs in a container."""
    return file.read_text("utf-8")


def places_of(addresses: Iterable[str]) -> set[str]:
    """Return the places of addresses, each ``host:port``.

    Beside an address's own port that of TLS: it may send there whoever asks without.
    """
    known = [address for address in addresses if place_of(address)]
    return {f"{urlsplit(address).hostname}:443" for address in known} | set(map(place_of, known))


def failure(tool: str, mark: str, status: int, output: str, seconds: float) -> InstallResult:
    """Return the result of a tool that failed: its lines with that mark, or all that it printed."""
    errors = [line for line in output.splitlines() if line.startswith((mark, *_MARKS))]
    message = "\n".join(errors) or output.strip() or f"{tool} ended with status {status}"
    return InstallResult(ok=False, message=message[-_MESSAGE_CHARACTERS:], seconds=seconds)
