"""Requests to a Prefect server's API, asked again while its SQLite is busy, and its database."""

import os
import shutil
import subprocess
import sys
import time
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx

from infra.files import locked

BUSY_S = 120.0
_POLL_S = 0.5
_DATABASE = f"cosqa-{version('prefect')}.db"


def lay_database(home: Path) -> None:
    """Give a home of Prefect the tables that a server's first start makes in seconds of a core.

    They are made once for the virtual environment.
    """
    made, database = Path(sys.prefix) / _DATABASE, home / _DATABASE
    with locked(made.with_suffix(".lock")):
        if not made.exists():
            partial = made.with_suffix(".partial")
            partial.unlink(missing_ok=True)
            place = {"PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{partial}"}
            words = ["server", "database", "upgrade", "--yes"]
            subprocess.run(
                [sys.executable, "-m", "prefect", *words], env=os.environ | place, check=True,
                capture_output=True,
            )  # fmt: skip
            partial.rename(made)
    home.mkdir(parents=True, exist_ok=True)
    if not database.exists():
        shutil.copyfile(made, database)


def ask(method: str, address: str, content: Any = None, auth_string: str = "") -> Any:
    """Return what the server answers, or nothing where it answers without a body.

    :param auth_string: What the server asks for; that of the environment if it is empty.
    :raises httpx.HTTPStatusError: another status than success, or busy for ``BUSY_S``.
    """
    deadline = time.monotonic() + BUSY_S
    auth_string = auth_string or os.environ.get("PREFECT_API_AUTH_STRING", "")
    user, _, password = auth_string.partition(":")
    auth = (user, password) if user else None
    while True:
        answer = httpx.request(method, address, json=content, timeout=BUSY_S, auth=auth)
        busy = answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        if not busy or time.monotonic() > deadline:
            answer.raise_for_status()
            return answer.json() if answer.content else None
        time.sleep(_POLL_S)
