"""pip in an installing container, where it starts no process and asks no host but the index's.

The container gets the text of this module. ``--only-binary`` lets pass what a distribution's own
metadata demand by address (``Requires-Dist: x @ http://...``): such an address could have pip build
a source distribution, which runs its code, or send a request to wherever it likes. Nothing of a
distribution runs in this process, so that its own hook and its own session are enough to refuse
both: every way in which pip runs code is a process, and every request it makes is the session's.
"""

import json
import sys
from typing import Any
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}
_PROCESSES = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"}
    | {"os.spawn", "pty.spawn"}
)


def refuse_processes(event: str, _: object) -> None:
    """Be the interpreter's audit hook that refuses to start a process."""
    if event in _PROCESSES:
        raise PermissionError("only wheels are installed: nothing is built and no tool is run")


def place_of(url: str) -> str:
    """Return ``host:port`` of an address; "" where it is none of the web's."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        return ""
    return f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def refuse_strangers(places: frozenset[str]) -> None:
    """Let pip's session, its redirections included, send requests to these places alone."""
    from pip._internal.exceptions import InstallationError  # noqa: PLC0415 - the container's own pip
    from pip._internal.network.session import PipSession  # noqa: PLC0415

    send = PipSession.send

    def send_to_the_index(session: PipSession, request: Any, **options: Any) -> Any:  # noqa: ANN401 - pip's
        place = place_of(request.url)
        if place not in places:
            raise InstallationError(
                f"{place or 'an address'} is none of the package index's (sandbox.index_hosts)"
            )
        return send(session, request, **options)

    PipSession.send = send_to_the_index


def main() -> int:
    """Run pip with the arguments after the first, which lists the places; return its status."""
    from pip._internal.cli.main import main as pip  # noqa: PLC0415 - the container's own pip

    refuse_strangers(frozenset(json.loads(sys.argv[1])))
    sys.addaudithook(refuse_processes)
    return pip(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
