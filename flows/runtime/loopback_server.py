"""The process of a Prefect server on loopback: ``python -m flows.runtime.loopback_server NUMBER``.

It serves at the socket with that number, which its parent has bound: nobody else can be there. A
request for another host is refused: a web page may let a name of its own lead to this machine.
"""

import socket
import sys
from urllib.parse import urlsplit

import uvicorn
from prefect.server.api.server import create_app
from prefect.settings import PREFECT_SERVER_CORS_ALLOWED_ORIGINS
from starlette.middleware.trustedhost import TrustedHostMiddleware


def main() -> None:
    """Serve Prefect's API until a signal ends this process."""
    origins = PREFECT_SERVER_CORS_ALLOWED_ORIGINS.value().split(",")
    hosts = {urlsplit(origin.strip()).hostname for origin in origins}
    # Around the application, not in it: the server asks itself under a name of its own.
    app = TrustedHostMiddleware(create_app(), [host for host in hosts if host])
    config = uvicorn.Config(app, log_level="error", lifespan="on")
    with socket.socket(fileno=int(sys.argv[1])) as bound:
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
