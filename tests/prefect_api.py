"""Requests to a Prefect server's API, asked again while its SQLite is busy, as Prefect's are."""

import os
import time
from http import HTTPStatus
from typing import Any

import httpx

BUSY_S = 120.0
_POLL_S = 0.5


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
