"""The store of replies: cache and journal at once, so that no call is paid twice.

A reply's name is the hash of what was asked: model, messages, schema, sampling and attempt. The
server's address and the key are no part of it.
"""

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from infra.records import Record


class RawReply(Record):
    """What a model said and what it took."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0


class ReplyStore:
    """Replies as files ``ab/cdef….json`` below a folder that many processes share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str) -> RawReply | None:
        """Return the reply of that key; one that cannot be read counts as absent."""
        try:
            return RawReply.model_validate_json(self._file(key).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def keep(self, key: str, reply: RawReply) -> None:
        """Store a reply whole or not at all, even if the process is killed meanwhile."""
        file = self._file(key)
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as part:
            part.write(reply.model_dump_json())
        Path(name).replace(file)

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"
