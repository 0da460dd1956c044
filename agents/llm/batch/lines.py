"""The lines of a batch's files: requests as they are uploaded, outcomes as they are downloaded."""

import json
import logging
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agents.llm.answers import read_object
from agents.llm.batch.api import ENDPOINT
from agents.llm.bounds import LONGEST_REPLY
from agents.llm.retry import RequestError
from infra.records import Record
from infra.secrets import without_secrets_in

_EXPIRED = "batch_expired"
_OK = 200
_MAX_MESSAGE = 600

_log = logging.getLogger(__name__)


class Outcome(Record):
    """What became of a request.

    Attributes:
        key: The reply's key.
        kind: ``answered``; ``failed``, where another batch may do; ``refused``, where none will;
            ``expired``, where the batch had no time for it.
        body: The completion, where answered.
        problem: Why not.
    """

    key: str
    kind: Literal["answered", "failed", "refused", "expired"]
    body: dict[str, Any] | None = None
    problem: str = ""


def request_line(key: str, body: dict[str, Any]) -> bytes:
    """Return a request as a line of the file to upload; the key is its ``custom_id``."""
    line = {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body}
    return json.dumps(line).encode() + b"\n"


def outcomes_of(file: Path, keys: Collection[str], api_key: str | None) -> Iterator[Outcome]:
    """Yield the outcomes in a downloaded file.

    Lines that are no outcome, or of a request that the batch did not have, are left out with a
    warning.

    Args:
        file: The file of replies or of errors.
        keys: The batch's requests.
        api_key: What no problem may tell, though the provider may echo it.
    """
    strange = 0
    with file.open("rb") as stream:
        for line in iter(partial(stream.readline, LONGEST_REPLY), b""):
            outcome = _outcome(line, api_key) if line.strip() else None
            if outcome and outcome.key in keys:
                yield outcome
            else:
                strange += bool(line.strip())
    if strange:
        _log.warning(
            "%s lines of a batch's results are unreadable or of requests that were not in it: they "
            "are left out", f"{strange:,}",
        )  # fmt: skip


def _outcome(line: bytes, api_key: str | None) -> Outcome | None:
    row = read_object(line) or {}
    key, response, error = row.get("custom_id"), row.get("response"), row.get("error")
    if not isinstance(key, str):
        return None
    if isinstance(error, dict) and error.get("code") == _EXPIRED:
        return Outcome(key=key, kind="expired", problem=_EXPIRED)
    if isinstance(response, dict) and not error:
        return _answer(key, response.get("status_code"), response.get("body"), api_key)
    return Outcome(key=key, kind="failed", problem=_shown(error or response, api_key))


def _answer(key: str, status: object, body: object, api_key: str | None) -> Outcome:
    """Return what became of a request to which the model's server answered."""
    if status == _OK and isinstance(body, dict):
        return Outcome(key=key, kind="answered", body=body)
    code = status if isinstance(status, int) and 100 <= status < 600 and status != _OK else 500
    failure = RequestError(code, _shown(body, api_key))
    return Outcome(
        key=key,
        kind="failed" if failure.kind == "transient" else "refused",
        problem=f"{failure.status}: {failure.message}",
    )


def _shown(problem: object, api_key: str | None) -> str:
    return without_secrets_in(str(problem), api_key)[:_MAX_MESSAGE]
