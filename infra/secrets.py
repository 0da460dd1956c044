"""Secrets of the environment, struck out of texts that are stored, logged or published."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, quote_plus

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
    user and password of an address, and what is given; each as it is and as an address quotes it.

    Args:
        text: The text, as a provider's message, which may echo what it was sent.
        secrets: Others, such as the key in use; None and empty ones are left out.
    """
    for form in forms_of_secrets(*secrets):
        text = text.replace(form, STRUCK)
    return _USER_OF_URL.sub(STRUCK, text)


def forms_of_secrets(*secrets: str | None) -> list[str]:
    """Return what `without_secrets_in` strikes out beside users of addresses, the longest first."""
    known = {secret for secret in secrets if secret} | set(_of_the_environment())
    forms = {form for secret in known for form in (secret, quote(secret, ""), quote_plus(secret))}
    return sorted(forms, key=len, reverse=True)  # one may be part of another


def holds_a_secret(text: str) -> bool:
    """Return whether a text has an address with a user, a password or a key in it."""
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


def _of_the_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if _NAME.search(name) and _is_secret(value):
            yield value
        yield from (user for user in _USER_OF_URL.findall(value) if len(user) >= _SHORTEST)


def _is_secret(value: str) -> bool:
    """Return whether a value is one, not a number, a switch or the path of a file."""
    is_path = value.startswith(("/", "./", "~"))
    return len(value) >= _SHORTEST and not is_path and not value.isdecimal()
