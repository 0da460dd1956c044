"""``cosqa list`` and ``cosqa settings``: what they print can be used as it is."""

import re
import tomllib
from typing import get_args

import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from flows.cli.tools import Kind
from infra.errors import SettingsError
from infra.settings import EvaluationSettings
from infra.settings.sections import USUAL_METRICS
from tasks.encoders import encoders
from tasks.filters import filters
from tasks.metrics import metrics
from tasks.sources import sources


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_is_listed_a_name_a_line_with_its_meaning(kind: str) -> None:
    outcome = CliRunner().invoke(app, ["list", kind])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout
    assert all(re.fullmatch(r"\S+( +\S.*\S)?", line) for line in outcome.stdout.splitlines())


@pytest.mark.parametrize(
    ("kind", "registry"),
    [("sources", sources), ("encoders", encoders), ("metrics", metrics), ("filters", filters)],
)
def test_the_list_is_the_registry(kind: str, registry: object) -> None:
    outcome = CliRunner().invoke(app, ["list", kind])
    assert [line.split()[0] for line in outcome.stdout.splitlines()] == list(registry)  # type: ignore[call-overload]


def test_an_encoder_among_the_methods_is_listed_with_its_model_and_licence() -> None:
    outcome = CliRunner().invoke(app, ["list", "methods"])
    lines = dict(line.split(maxsplit=1) for line in outcome.stdout.splitlines())
    assert "Robertson" in lines["bm25"]
    assert lines["codebert-base"].startswith("768 dimensions, MIT, microsoft/codebert-base")


def test_the_settings_are_toml_and_hold_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_SEARCH__TOP_K", "7")
    outcome = CliRunner().invoke(app, ["settings"])
    assert outcome.exit_code == 0, outcome.output
    assert tomllib.loads(outcome.stdout)["search"] == {"top_k": 7}


def test_the_usual_metrics_are_named_where_they_can_be_set() -> None:
    description = EvaluationSettings.model_fields["metrics"].description or ""
    assert ", ".join(USUAL_METRICS) in description


def test_misspelt_options_of_the_source_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSQA_SOURCE__FLITERS", "testable")
    outcome = CliRunner().invoke(app, ["settings"])
    assert isinstance(outcome.exception, SettingsError)
    assert "did you mean 'filters'" in str(outcome.exception)


def test_a_source_whose_required_options_are_missing_has_settings_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COSQA_SOURCE__NAME", "jsonl")
    outcome = CliRunner().invoke(app, ["settings"])
    assert outcome.exit_code == 0, outcome.output
    assert "# path =" in outcome.stdout
