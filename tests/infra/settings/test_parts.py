"""Laws of sections of the settings and of their reference.

Covers `infra.settings.annotation`, `infra.settings.models`, `reference`.
"""

import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from infra.settings import (
    REASON_SUMMARIES,
    REASONS,
    EncoderSettings,
    ReannotationSettings,
    Settings,
    load_settings,
)
from infra.settings.reference import settings_reference


def test_the_key_of_an_api_is_taken_from_the_environment_and_never_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_ENCODER__API_KEY", "sk-mine")
    settings = load_settings({"encoder": {"budget_usd": 3.5}})
    model = settings.encoder.of_api("openai/x")
    assert model.api_key is not None
    assert model.api_key.get_secret_value() == "sk-mine"
    assert (model.model, model.budget_usd, model.variables) == ("openai/x", 3.5, "COSQA_ENCODER__")
    assert "sk-mine" not in settings.model_dump_json() + repr(settings) + str(model)


def test_the_key_of_the_language_model_is_not_sent_to_another_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_LLM__API_KEY", "sk-other")
    assert load_settings({}).encoder.of_api("openai/x").api_key is None
    assert EncoderSettings().of_api("openai/x").base_url is None


def test_reasons_come_from_the_environment_as_names_with_commas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_REANNOTATION__TAKE", "outdated,failed")
    monkeypatch.setenv("COSQA_REANNOTATION__LIMITS", '{"outdated": 5}')
    found = load_settings().reannotation
    assert found.take == ("outdated", "failed")
    assert found.limits == {"outdated": 5}


@pytest.mark.parametrize(
    "values",
    [
        {"take": ()},
        {"take": ("outdated", "outdated")},
        {"take": ("old",)},
        {"limits": {"outdated": -1}},
        {"limits": {"old": 1}},
    ],
)
def test_what_means_nothing_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ReannotationSettings.model_validate(values)


def test_every_reason_is_explained_in_the_reference() -> None:
    reference = " ".join(settings_reference(load_settings()).replace("# ", "").split())
    for reason in REASONS:
        assert f"{reason} ({REASON_SUMMARIES[reason]})" in reference


def test_limits_that_are_set_are_printed_as_toml_that_can_be_read_back() -> None:

    settings = load_settings({"reannotation": {"limits": {"outdated": 5, "failed": 2}}})
    text = settings_reference(settings)
    assert tomllib.loads(text)["reannotation"]["limits"] == {"outdated": 5, "failed": 2}


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
