"""Laws of the settings of re-annotation, and of the judges who annotate.

Covers `infra.settings.annotation`.
"""

import json
import tomllib

import pytest
from pydantic import SecretStr, ValidationError

from infra.errors import SettingsError
from infra.settings import (
    REASON_SUMMARIES,
    REASONS,
    AnnotationSettings,
    ReannotationSettings,
    load_settings,
)
from infra.settings.reference import settings_reference


def test_reasons_come_from_the_environment_as_names_with_commas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_REANNOTATION__TAKE", "stale,failed")
    monkeypatch.setenv("COSQA_REANNOTATION__LIMITS", '{"stale": 5}')
    found = load_settings().reannotation
    assert found.take == ("stale", "failed")
    assert found.limits == {"stale": 5}


@pytest.mark.parametrize(
    "values",
    [
        {"take": ()},
        {"take": ("stale", "stale")},
        {"take": ("old",)},
        {"limits": {"stale": -1}},
        {"limits": {"old": 1}},
        {"budgets_usd": {"failed": -0.5}},
    ],
)
def test_what_means_nothing_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ReannotationSettings.model_validate(values)


def test_judges_come_by_name_and_each_has_the_settings_of_its_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [item.llm.model for item in load_settings().by_judge] == [load_settings().llm.model]
    monkeypatch.setenv("COSQA_ANNOTATION__JUDGES", "openai/cheap,openai/dear")
    found = load_settings({"llm": {"max_tokens": 77}})
    assert [item.llm.model for item in found.by_judge] == ["openai/cheap", "openai/dear"]
    assert {item.llm.max_tokens for item in found.by_judge} == {77}
    assert found.annotation.times == 2
    assert AnnotationSettings(rounds=3).times == 3


def test_a_judge_with_a_server_of_its_own_gets_no_key_but_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = "http://localhost:8000/v1"
    monkeypatch.setenv("COSQA_LLM__API_KEY", "of-the-provider")
    monkeypatch.setenv("COSQA_ANNOTATION__JUDGES", "openai/own,openai/dear")
    monkeypatch.setenv("COSQA_ANNOTATION__JUDGE_ADDRESSES", json.dumps({"openai/own": address}))

    def reached() -> list[tuple[str | None, str]]:
        llms = [item.llm for item in load_settings().by_judge]
        return [(llm.base_url, (llm.api_key or SecretStr("")).get_secret_value()) for llm in llms]

    assert reached() == [(address, "no-key"), (None, "of-the-provider")]
    monkeypatch.setenv("COSQA_ANNOTATION__JUDGE_KEYS", '{"openai/own": "OWN_SERVERS_KEY"}')
    with pytest.raises(SettingsError, match=r"OWN_SERVERS_KEY, the key of openai/own, is not in"):
        reached()
    monkeypatch.setenv("OWN_SERVERS_KEY", "of-the-server")
    assert reached() == [(address, "of-the-server"), (None, "of-the-provider")]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('{"openai/own": "sk-0123456789"}', "names of environment variables, not keys"),
        ('{"openai/own": ["sk-0123456789"]}', "must be a valid string"),
        ('["sk-0123456789"]', "must be a valid dictionary"),
        ("sk-0123456789", "is not valid JSON: write it as JSON"),
    ],
)
def test_a_key_in_place_of_a_variables_name_is_refused_and_not_shown(
    value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COSQA_ANNOTATION__JUDGES", "openai/own")
    monkeypatch.setenv("COSQA_ANNOTATION__JUDGE_KEYS", value)
    with pytest.raises(SettingsError, match=told) as refused:
        load_settings()
    assert "sk-0123456789" not in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        {"judges": ("openai/m",), "judge_addresses": {"openai/n": "http://localhost/v1"}},
        {"judges": ("openai/m",), "judge_keys": {"openai/n": "OWN_KEY"}},
        {"judges": ("openai/m", "openai/m")},
        {"judges": ("openai/m",), "rounds": 2},
        {"escalation": "maybe"},
        {"doubt_below": 0},
    ],
)
def test_judges_that_cannot_judge_together_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AnnotationSettings.model_validate(values)


def test_every_reason_is_explained_in_the_reference() -> None:
    reference = " ".join(settings_reference(load_settings()).replace("# ", "").split())
    for reason in REASONS:
        assert f"{reason} ({REASON_SUMMARIES[reason]})" in reference


def test_limits_that_are_set_are_printed_as_toml_that_can_be_read_back() -> None:

    settings = load_settings({"reannotation": {"limits": {"stale": 5, "failed": 2}}})
    text = settings_reference(settings)
    assert tomllib.loads(text)["reannotation"]["limits"] == {"stale": 5, "failed": 2}
