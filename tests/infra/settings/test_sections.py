"""Laws of the settings: who wins, and what is refused."""

from pathlib import Path

import pytest

from infra.errors import SettingsError
from infra.settings import EMBEDDED_MODEL, load_settings


@pytest.fixture(autouse=True)
def no_settings_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("COSQA_CONFIG", "COSQA_LLM__MODEL", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


def test_without_any_source_the_defaults_hold() -> None:
    settings = load_settings()
    assert settings.llm.model == EMBEDDED_MODEL
    assert settings.llm.is_demo
    assert settings.search.top_k == 20


def test_the_command_line_beats_the_environment_which_beats_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cosqa.toml").write_text(
        '[llm]\nmodel = "from file"\ntimeout_s = 7\n[search]\ntop_k = 3\n'
    )
    monkeypatch.setenv("COSQA_LLM__MODEL", "from environment")
    monkeypatch.setenv("COSQA_LLM__MAX_TOKENS", "99")
    settings = load_settings({"llm": {"max_tokens": 77}, "search": {"top_k": None}})
    assert settings.llm.model == "from environment"
    assert settings.llm.max_tokens == 77
    assert settings.llm.timeout_s == 7
    assert settings.search.top_k == 3


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"search": {"top_k": 0}}, "search.top_k"),
        ({"search": {"topk": 5}}, "search.topk"),
        ({"sandbox": {"memory_mb": "much"}}, "sandbox.memory_mb"),
        ({"source": {"collection": "a b"}}, "source.collection"),
    ],
)
def test_a_wrong_value_or_key_is_an_error_that_names_it(
    given: dict[str, dict[str, object]], named: str
) -> None:
    with pytest.raises(SettingsError, match=named):
        load_settings(given)


def test_a_file_that_is_no_toml_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "cosqa.toml").write_text("[llm\n")
    with pytest.raises(SettingsError, match=r"cosqa\.toml is not valid TOML"):
        load_settings()


def test_the_usual_variable_of_ray_names_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert load_settings().ray.address == "10.0.0.1:6379"
    assert load_settings({"ray": {"address": "other"}}).ray.address == "other"


def test_a_key_is_never_shown() -> None:
    settings = load_settings({"llm": {"api_key": "very-secret"}})
    assert "very-secret" not in repr(settings)
    assert "very-secret" not in settings.model_dump_json()
