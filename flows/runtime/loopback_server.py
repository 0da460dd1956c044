"""The process of a private Prefect server: ``python -m flows.runtime.private_server NUMBER``.

It serves at the socket with that number, which its parent has bound: nobody else can be there.
"""

import socket
import sys

import uvicorn


def main() -> None:
    """Serve Prefect's API until a signal ends this process."""
    config = uvicorn.Config(
        "prefect.server.api.server:create_app", factory=True, log_level="error", lifespan="on"
    )
    with socket.socket(fileno=int(sys.argv[1])) as bound:
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
