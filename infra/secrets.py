"""Secrets of the environment, struck out of texts that are stored, logged or published."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

STRUCK = "***"
_SHORTEST = 8  # characters; shorter values are words of their own
_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_OWN_KEY = re.compile(  # as NAME=VALUE, by itself or in a whole section as JSON
    r"COSQA_(\w+__API_KEY=|(LLM|ENCODER)=.*api_key)", re.IGNORECASE | re.DOTALL
)
_SECRET_OF_URL = re.compile(rf"://\S*(@|[?&;#][^\s=&]*({_NAME.pattern})[^\s=&]*=)", re.IGNORECASE)
_USER_OF_URL = re.compile(r"(?<=://)[^\s/@]+(?=@)")


def without_secrets_in(text: str, *secrets: str | None) -> str:
    """Return a text without the secrets that this process knows.

    These are values of variables whose names tell of a key, token, secret, password or credential,
    user and password of an address, and what is given; each as it is, and as addresses, JSON and
    HTML escape it, within one another, too.

    Args:
        text: The text, as a provider's message, which may echo what it was sent.
        secrets: Others, such as the key in use; None and empty ones are left out.
    """
    known = {secret for secret in secrets if secret}
    for name, value in os.environ.items():
        # A number, a switch or the path of a file is none.
        is_other = value.isdecimal() or value.startswith(("/", "./", "~"))
        if _NAME.search(name) and len(value) >= _SHORTEST and not is_other:
            known.add(value)
        known.update(user for user in _USER_OF_URL.findall(value) if len(user) >= _SHORTEST)
    for secret in sorted(known, key=len, reverse=True):  # one may be part of another
        text = re.sub("".join(map(_escapes_of, secret)), STRUCK, text)
    return _USER_OF_URL.sub(STRUCK, text)


def _escapes_of(character: str) -> str:
    """Return a pattern of a character in a text of any escapes."""
    point = ord(character)
    named = escape(character).strip("&;")
    quoted = "".join(f"%(?:25)*{byte:02x}" for byte in character.encode(errors="replace"))
    return (
        rf"(?:\\{{0,8}}(?:{re.escape(character)}|(?i:u0*{point:x}))|(?i:{quoted})"
        rf"|&(?:amp;)*(?i:\#0*{point}|\#x0*{point:x}|{re.escape(named)});"
        rf"{'|[+]' if character == ' ' else ''})"
    )


def holds_a_secret(text: str) -> bool:
    """Return True if a text has an address with a user, a password or a key in it."""
    return _SECRET_OF_URL.search(text) is not None


@contextmanager
def without_own_keys() -> Iterator[None]:
    """Take the keys of our settings out of the environment inside the ``with``.

    Processes that are started there do not have them; those that need a key get it with the
    settings, in memory. Keys under the names that a provider gave them stay: only its library knows
    who needs them.
    """
    keys = {n: value for n, value in os.environ.items() if _OWN_KEY.match(f"{n}={value}")}
    for name in keys:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(keys)
