"""Laws of the settings: who wins, what is refused, and their reference.

Covers `infra.settings.annotation`, `infra.settings.models`, `infra.settings.section`, `reference`
and, for messages about what is refused, `infra.settings.origins`.
"""

import os
import re
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from infra.errors import SettingsError
from infra.settings import (
    REASON_SUMMARIES,
    REASONS,
    EncoderSettings,
    ReannotationSettings,
    SandboxSettings,
    Settings,
    load_settings,
)
from infra.settings.reference import settings_reference


@pytest.fixture(autouse=True)
def no_settings_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("COSQA_", "RAY_ADDRESS"))]:
        monkeypatch.delenv(name)


def test_without_any_source_the_defaults_hold() -> None:
    settings = load_settings()
    assert settings.llm.model == ""
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
        *(
            ({"source": {"collection": name}}, "source.collection")
            for name in ("a b", "..", ".hidden", "_x", "-x", "a/b", "a\n", "", "a" * 101)
        ),
    ],
)
def test_a_wrong_value_or_key_is_an_error_that_names_it(
    given: dict[str, dict[str, object]], named: str
) -> None:
    with pytest.raises(SettingsError, match=named):
        load_settings(given)


@pytest.mark.parametrize("name", ["a", "a.b", "stdlib-3.11_x", "0", "a" * 100])
def test_names_of_collections_are_names_of_files(name: str) -> None:
    assert load_settings({"source": {"collection": name}}).source.collection == name


@pytest.mark.parametrize(
    ("variable", "suggested"),
    [
        ("COSQA_LMM__BUDGET_USD", "COSQA_LLM__BUDGET_USD"),
        ("COSQA_LLM_BUDGET_USD", "COSQA_LLM__BUDGET_USD"),
        ("cosqa_lmm__budget_usd", "COSQA_LLM__BUDGET_USD"),
        ("COSQA_CONFG", "COSQA_CONFIG"),
        ("COSQA_REQUIRE_DOKER", "COSQA_REQUIRE_DOCKER"),
        ("COSQA_WHATEVER_IT_IS", "`cosqa settings`"),
        ("COSQA___BUDGET_USD", "COSQA_LLM__BUDGET_USD"),
    ],
)
def test_an_unknown_variable_is_refused_and_the_right_one_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, suggested: str
) -> None:
    monkeypatch.setenv(variable, "5")
    with pytest.raises(SettingsError, match=f"{variable} is unknown.*{suggested}"):
        load_settings()


def test_an_unknown_key_in_a_variable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_LLM__BUDGT_USD", "5")
    with pytest.raises(SettingsError, match=r"llm\.budgt_usd"):
        load_settings()


def test_variables_of_the_makefile_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[3] / "Makefile").read_text("utf-8")
    variables = set(re.findall(r"COSQA_\w+", text))
    assert {"COSQA_NIGHT", "COSQA_REQUIRE_DOCKER"} <= variables
    for variable in variables:
        monkeypatch.setenv(variable, "5")
    load_settings()


@pytest.mark.parametrize("variable", ["COSQA_FOLDER", "cosqa_llm__budget_usd"])
def test_known_variables_are_taken(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "5")
    assert load_settings().llm.budget_usd in (None, 5)


@pytest.mark.parametrize(("named", "problem"), [("gone.toml", "not exist"), (".", "not a file")])
def test_a_named_file_that_is_no_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, named: str, problem: str
) -> None:
    monkeypatch.setenv("COSQA_CONFIG", named)
    with pytest.raises(SettingsError, match=rf"settings file {re.escape(named)} .*{problem}"):
        load_settings()


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cosqa.toml").mkdir()
    with pytest.raises(SettingsError, match=r"cosqa\.toml is not a file; move it away, or set"):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "text", "found"),
    [
        ("COSQA_SEARCH__ENCODERS", "minilm", ("minilm",)),
        ("COSQA_SEARCH__ENCODERS", "minilm, codebert", ("minilm", "codebert")),
        ("COSQA_SEARCH__ENCODERS", '["minilm", "codebert"]', ("minilm", "codebert")),
        ("COSQA_EVALUATION__METRICS", "NDCG@10,MRR", ("NDCG@10", "MRR")),
        ("COSQA_SANDBOX__INDEX_HOSTS", "files.example", ("files.example",)),
    ],
)
def test_a_variable_gives_a_list_as_names_or_as_json(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, found: object
) -> None:
    monkeypatch.setenv(variable, text)
    section, _, key = variable.removeprefix("COSQA_").lower().partition("__")
    assert getattr(getattr(load_settings(), section), key) == found


@pytest.mark.parametrize(
    ("variable", "text"),
    [("COSQA_SEARCH__ENCODERS", '["minilm"'), ("COSQA_SEARCH", "minilm"), ("COSQA_LLM", "{")],
)
def test_a_broken_list_or_section_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(SettingsError, match=rf"{variable}.* is not valid JSON"):
        load_settings()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"search": {"top_k": "many"}},
            "search.top_k = 'many' (command line): must be a whole number of 1 to 1000",
        ),
        (
            {"sandbox": {"memory_mb": 1}},
            "sandbox.memory_mb = 1 (command line): must be a whole number of at least 64",
        ),
        (
            {"llm": {"timeout_s": 0}},
            "llm.timeout_s = 0 (command line): must be a number above 0",
        ),
        ({"llm": {"budget_usd": "x"}}, "budget_usd = 'x' (command line): must be a number above 0"),
        (
            {"publish": {"support": ["bad"]}},
            "publish.support = 'bad' (command line): must be 'screened'",
        ),
        (
            {"reannotation": {"take": ["faild"]}},
            "'disagreement' or 'outdated'; did you mean failed?",
        ),
        ({"publish": {"folder": 3}}, "publish.folder = 3 (command line): "),
        ({"llm": {"api_key": 5}}, "llm.api_key (command line): must be a valid string"),
        (
            {"search": {"topk": 3}},
            "search.topk is no setting (from command line); did you mean search.top_k?",
        ),
    ],
)
def test_a_wrong_value_is_shown_with_its_origin_and_what_is_allowed(
    given: dict[str, dict[str, object]], told: str
) -> None:
    with pytest.raises(SettingsError) as error:
        load_settings(given)
    assert told in str(error.value)
    assert len(str(error.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("COSQA_SEARCH__TOP_K", "many", "search.top_k = 'many' (COSQA_SEARCH__TOP_K): must be a"),
        ("COSQA_SEARCH", '{"top_k": 0}', "search.top_k = 0 (COSQA_SEARCH): must be a whole number"),
        (
            "COSQA_LLM__APIKEY",
            "secret",
            "no setting (from COSQA_LLM__APIKEY); did you mean llm.api_key?",
        ),
        ("COSQA_PUBLISH__SUPPORT", "bad", "publish.support = 'bad' (COSQA_PUBLISH__SUPPORT): must"),
    ],
)
def test_a_wrong_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert told in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[serach]\ntop_k = 3\n", "[serach] in cosqa.toml is no section; did you mean [search]?"),
        ("[search]\ntop_k = 0\n", "search.top_k = 0 (cosqa.toml): must be a whole number of 1 to"),
        ("[zzzz]\n", "[zzzz] in cosqa.toml is no section; `cosqa settings` lists all sections"),
        ("[gates]\nmutant = 3\n", "no setting (from cosqa.toml); did you mean gates.mutants?"),
        ("search = 3\n", "search (cosqa.toml): must be a section: write [search]"),
    ],
)
def test_a_wrong_line_of_the_file_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "cosqa.toml").write_text(text)
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert told in str(error.value)


def test_the_usual_variable_of_ray_names_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert load_settings().ray.address == "10.0.0.1:6379"
    assert load_settings({"ray": {"address": "other"}}).ray.address == "other"


def test_a_key_is_never_shown() -> None:
    settings = load_settings({"llm": {"api_key": "very-secret"}})
    assert "very-secret" not in repr(settings)
    assert "very-secret" not in settings.model_dump_json()


def test_boxes_in_use_are_bounded_by_memory_where_none_are_given() -> None:
    assert SandboxSettings(slots=7).machine_slots == 7
    assert SandboxSettings(memory_mb=2**30).machine_slots == 2
    assert SandboxSettings(memory_mb=64).machine_slots >= 2


def test_an_address_of_ray_is_one_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for address, found in (
        ("head:6379\r", "head:6379"), ("ray://head:10001", "ray://head:10001"), ("local", None),
        (" ", None),
    ):  # fmt: skip
        monkeypatch.setenv("RAY_ADDRESS", address)
        assert load_settings().ray.address == found
    for address in ("http://head:8265", "auto"):
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(SettingsError, match=rf"ray\.address = '{address}'.*HOST:PORT"):
            load_settings()


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
