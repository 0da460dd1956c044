"""Identifiers made from content by SHA-256.

A digest stands for content that others may choose: texts, requests, labels. A mark stands for what
only we choose: settings, models, recipes, files by size and time. Stores, folders and files of what
was spent are called by marks, and those keep the length that they had.
"""

import hashlib
import json
from collections.abc import Iterable

DIGITS = 32  # 128 bits: two contents with one digest take 2**64 trials, which nobody makes
MARK_DIGITS = 20  # 80 bits


def digest(*parts: str, digits: int = DIGITS) -> str:
    """Return hexadecimal digits of SHA-256 over the parts; other borders give other digits."""
    state = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        state.update(len(encoded).to_bytes(8, "big"))
        state.update(encoded)
    return state.hexdigest()[:digits]


def digest_of(value: object, digits: int = DIGITS) -> str:
    """Return the digest of a JSON-serialisable value, in any order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return digest(text, digits=digits)


def digest_of_set(items: Iterable[str]) -> str:
    """Return the digest of a set of strings, in any order."""
    return digest(*sorted(set(items)))


def mark(*parts: str) -> str:
    """Return the mark of parts: the first 20 digits of their digest."""
    return digest(*parts, digits=MARK_DIGITS)


def mark_of(value: object) -> str:
    """Return the mark of a JSON-serialisable value, in any order of its keys."""
    return digest_of(value, MARK_DIGITS)
