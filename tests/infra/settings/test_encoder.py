"""Laws of the settings of embedding APIs."""

import pytest

from infra.settings import EncoderSettings, load_settings


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
