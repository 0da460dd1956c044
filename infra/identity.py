"""Identifiers made from content by SHA-256."""

import hashlib
import json
from collections.abc import Iterable

_DIGITS = 20  # 80 bits: a collision among 10 million items has a chance of about 4e-11


def digest(*parts: str) -> str:
    """Return 20 hexadecimal digits of SHA-256 over the parts; other borders give other digits."""
    state = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        state.update(len(encoded).to_bytes(8, "big"))
        state.update(encoded)
    return state.hexdigest()[:_DIGITS]


def digest_of(value: object) -> str:
    """Return the digest of a JSON-serialisable value, in any order of its keys."""
    return digest(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def digest_of_set(items: Iterable[str]) -> str:
    """Return the digest of a set of strings, in any order."""
    return digest(*sorted(set(items)))
