"""Laws of the settings of re-annotation.

Covers `infra.settings.annotation`.
"""

import tomllib

import pytest
from pydantic import ValidationError

from infra.settings import (
    REASON_SUMMARIES,
    REASONS,
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

    settings = load_settings({"reannotation": {"limits": {"stale": 5, "failed": 2}}})
    text = settings_reference(settings)
    assert tomllib.loads(text)["reannotation"]["limits"] == {"stale": 5, "failed": 2}
