"""Laws of the printed settings."""

import tomllib
from pathlib import Path

import pytest

from infra.settings import Settings, load_settings
from infra.settings.reference import settings_reference


def test_what_is_printed_gives_the_same_settings_when_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings({"search": {"encoders": ["minilm", "codebert"], "top_k": 7}})
    file = tmp_path / "cosqa.toml"
    file.write_text(settings_reference(settings), encoding="utf-8")
    monkeypatch.setenv("COSQA_CONFIG", str(file))
    assert load_settings() == settings


def test_what_is_the_default_is_commented_out(tmp_path: Path) -> None:
    assert not any(tomllib.loads(settings_reference(Settings())).values())
    changed = Settings.model_validate({"search": {"top_k": 7}, "store": {"folder": tmp_path}})
    printed = tomllib.loads(settings_reference(changed))
    assert {name: keys for name, keys in printed.items() if keys} == {
        "search": {"top_k": 7},
        "store": {"folder": str(tmp_path)},
    }


def test_every_setting_is_printed_with_its_description() -> None:
    text = settings_reference(Settings())
    for name, section in Settings.sections().items():
        for key, about in section.model_fields.items():
            assert f"{key} =" in text
            assert about.description, f"{name}.{key} has no description"


def test_a_secret_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_LLM__API_KEY", "sk-very-secret")
    text = settings_reference(load_settings())
    assert "very-secret" not in text
    assert "api_key" not in tomllib.loads(text)["llm"]
