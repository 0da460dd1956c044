"""Laws of a source's options, from every place where settings are given."""

import json
from pathlib import Path

import pytest
from pydantic import Field, TypeAdapter

from infra.errors import SettingsError
from infra.settings import Settings, SourceSettings, load_settings
from infra.settings.reference import settings_reference
from tasks.sources import SourceOptions, check_options, open_source, sources
from tasks.sources.python_source import PythonOptions


@pytest.fixture(autouse=True)
def no_settings_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COSQA_CONFIG", raising=False)


def test_options_come_from_file_environment_and_command_line_in_rising_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cosqa.toml").write_text('[source]\nseed = 1\npath = "file"\nqueries = "file"\n')
    monkeypatch.setenv("COSQA_SOURCE__PATH", "environment")
    monkeypatch.setenv("COSQA_SOURCE__QUERIES", "environment")
    monkeypatch.setenv("COSQA_SOURCE__FILTERS", "parseable, testable")
    settings = load_settings({"source": {"queries": Path("command"), "distribution": None}})
    options = PythonOptions.model_validate(settings.source.options)
    assert (options.seed, options.path, options.queries) == (
        1,
        Path("environment"),
        Path("command"),
    )
    assert options.filters == ("parseable", "testable")
    assert options.distribution is None


@pytest.mark.parametrize("filters", ["[]", "", "()"])
def test_filters_can_be_none(filters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_SOURCE__FILTERS", filters)
    options = PythonOptions.model_validate(load_settings().source.options)
    assert options.filters == ()


def test_settings_are_the_same_after_a_round_trip_through_json(tmp_path: Path) -> None:
    settings = load_settings({"source": {"name": "jsonl", "path": tmp_path, "collection": "mine"}})
    again = TypeAdapter(Settings).validate_python(json.loads(settings.model_dump_json()))
    assert again.source.collection == "mine"
    assert again.source.options == {"path": str(tmp_path)}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"seed": "many"}, r"source.seed: Input should be a valid integer"),
        ({"documentation_queries": -1}, r"source.documentation_queries: .*greater than or equal"),
        (
            {"sead": 1},
            r"has no option 'sead' \(given: sead=1\); did you mean 'seed'\? Its options: .*seed",
        ),
        ({"sead": 1, "seed": "x"}, r"source.seed: .*; .*'sead'"),
    ],
)
def test_a_wrong_option_is_refused_by_the_source(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        open_source(SourceSettings.model_validate(options))


def test_the_printed_settings_have_the_sources_options_and_give_the_same_when_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings({"source": {"seed": 3, "path": Path("here")}})
    text = settings_reference(settings, sources.get(settings.source.name).Options)
    assert "\nseed = 3\n" in text
    assert "\n# documentation_queries = 500\n" in text
    assert "\n# distribution =\n" in text
    (tmp_path / "cosqa.toml").write_text(text, encoding="utf-8")
    again = load_settings()
    assert again.source.options == {"seed": 3, "path": "here"}


def test_the_printed_settings_name_an_option_that_must_be_given() -> None:
    text = settings_reference(load_settings(), sources.get("jsonl").Options)
    assert "# a folder with queries.jsonl and codes.jsonl\n# path =\n" in text


def test_options_that_are_yet_to_be_given_are_no_mistake() -> None:
    assert check_options(SourceSettings(name="jsonl")) is None


def test_a_required_option_is_named_with_the_way_to_give_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Options(SourceOptions):
        url: str = Field(description="address of the archive")
        path: Path = Field(description="a folder")

    monkeypatch.setattr(sources.get("jsonl"), "Options", Options)
    with pytest.raises(SettingsError) as error:
        open_source(SourceSettings(name="jsonl"))
    assert "give --set source.url=VALUE (address of the archive)" in str(error.value)
    assert "give --path VALUE (a folder)" in str(error.value)
