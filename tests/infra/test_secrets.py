"""Laws of secrets: none that the environment holds is in a text that is shown."""

import html
import json
import os
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.secrets import without_own_keys, without_secrets_in

SECRET = "sk-a/b+c d=4711"


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY", "aws_secret_access_key", "HF_TOKEN", "DB_PASSWORD", "PGPASSWD",
        "GOOGLE_CREDENTIALS", "COSQA_LLM__API_KEY",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "echo", [SECRET, "sk-a%2Fb%2Bc%20d%3D4711", "sk-a%2Fb%2Bc+d%3D4711", f"x{SECRET}{SECRET}y"]
)
def test_a_secret_of_the_environment_is_struck_out(
    monkeypatch: pytest.MonkeyPatch, name: str, echo: str
) -> None:
    monkeypatch.setenv(name, SECRET)
    told = without_secrets_in(f"401: {echo} is no key")
    assert "4711" not in told
    assert told.startswith("401: ")
    assert told.endswith(" is no key")


ODD = "sk-\"a\\b</é&'4711"


@pytest.mark.parametrize(
    "escape",
    [
        json.dumps,
        lambda key: json.dumps(json.dumps({"key": key})),
        lambda key: json.dumps(key, ensure_ascii=False),
        lambda key: json.dumps(key).replace("/", r"\/").replace("<", r"\u003C"),
        html.escape,
        lambda key: "".join(f"&#{ord(character)};" for character in key),
        lambda key: "".join(f"&#X{ord(character):04X};" for character in key),
        lambda key: html.escape(html.escape(key)),
        quote,
        lambda key: quote(quote(key, "").lower(), ""),
        lambda key: json.dumps(html.escape(key)),
    ],
)
def test_a_key_is_struck_out_however_it_is_escaped(escape: Callable[[str], str]) -> None:
    told = without_secrets_in(f"401: {escape(ODD)} is no key", ODD)
    assert "4711" not in html.unescape(told)
    assert "sk-" not in html.unescape(told)


def test_users_of_addresses_and_given_keys_are_struck_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://someone:pass-word@proxy:3128")
    told = without_secrets_in(
        "via someone:pass-word at http://me:mine@host/v1 by k3y", "k3y", None, ""
    )
    assert told == "via *** at http://***@host/v1 by ***"


def test_the_longer_of_two_secrets_is_struck_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "12345678a")
    monkeypatch.setenv("B_TOKEN", "12345678a-and-more")
    assert without_secrets_in("12345678a-and-more") == "***"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_TOKENS", "100000000"),
        ("KEY_FILE", "/etc/keys/one"),
        ("TOKEN", "yes"),
        ("HOME", "home-of-me"),
    ],
)
def test_what_is_no_secret_stays(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert without_secrets_in(f"about {value}") == f"about {value}"


@given(st.text())
def test_any_text_can_be_looked_through(text: str) -> None:
    assert isinstance(without_secrets_in(text, "secret"), str)


def test_own_keys_are_out_of_the_environment_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        "COSQA_LLM__API_KEY": "a",
        "cosqa_encoder__api_key": "b",
        "COSQA_LLM": '{"api_key": "c"}',
    }
    others = {"OPENAI_API_KEY": "d", "COSQA_LLM__MODEL": "m", "COSQA_LLM__API_KEY_BLOCK": "name"}
    for name, value in (own | others).items():
        monkeypatch.setenv(name, value)
    with without_own_keys():
        assert not own.keys() & os.environ.keys()
        assert others.items() <= os.environ.items()
    assert (own | others).items() <= os.environ.items()
