"""Laws of forms: flat, described, without secrets, and what answers mean.

Covers `flows.entries`, `flows.options`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect.utilities.callables import generate_parameter_schema
from prefect.utilities.schema_tools.validation import validate

from flows.entries import arguments_of, form_of
from flows.leaderboard import leaderboard
from flows.options import fields_of, settings_of
from flows.study import study_kape
from infra.errors import SettingsError
from tests.flows.deployed import FORMS


def schema_of(form: Callable[..., None]) -> dict[str, Any]:
    """Return the schema that Prefect makes of a form."""
    return generate_parameter_schema(form_of(form), {}).model_dump(exclude_unset=True)


PLAIN = {"string", "integer", "number", "boolean"}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_question_is_plain_has_a_title_and_says_what_it_asks(
    form: Callable[..., None],
) -> None:
    for name, question in schema_of(form)["properties"].items():
        kind = question["items"]["type"] if question["type"] == "array" else question["type"]
        assert kind in PLAIN, f"{name} is nested: a person fills it in"
        assert question["title"] not in ("", name)
        assert len(question["description"]) > 10, name
        assert "default" not in question, "the UI would send null, which the server refuses"
        assert name != "settings"
        assert not any(word in name for word in ("key", "secret", "token", "password")), name


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_questions_stand_in_their_order(form: Callable[..., None]) -> None:
    schema = schema_of(form)
    places = [question["position"] for question in schema["properties"].values()]
    assert [*schema["properties"]] == [*form_of(form).parameters]
    assert places == list(range(len(places)))
    asked = [each for each, field in fields_of(form) if field.title]
    needed = [each.name for each in asked if each.default is each.empty]
    assert schema.get("required", []) == needed


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"top_k": 0}, "minimum"),
        ({"top_k": "many"}, "not valid"),
        ({"source": "nowhere"}, "is not one of"),
        ({"encoders": ["minilm", "nothing"]}, "is not one of"),
    ],
)
def test_the_schema_refuses_a_wrong_answer(answers: dict[str, Any], reason: str) -> None:
    schema = schema_of(FORMS["annotate"])
    errors = validate(answers, schema, allow_none_with_default=True)
    assert [error for error in errors if reason in error.message]


def test_the_schema_takes_a_right_one_and_an_empty_one() -> None:
    schema = schema_of(FORMS["annotate"])
    right = {"top_k": 5, "source": "jsonl", "path": "src", "encoders": ["minilm"], "codes": []}
    assert validate(right, schema, allow_none_with_default=True) == []
    assert validate({}, schema) == []


def test_answers_set_settings_and_what_is_empty_is_left_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cosqa.toml"
    file.write_text('[search]\ntop_k = 7\nencoders = ["unixcoder"]\n[llm]\nmodel = "openai/m"\n')
    monkeypatch.setenv("COSQA_CONFIG", str(file))
    answers = {"source": "jsonl", "path": "src", "encoders": [], "model": "", "limit": 3}
    settings = settings_of(FORMS["benchmark"], answers | {"top_k": None}, is_form=True)
    assert settings.search.top_k == 7
    assert settings.search.encoders == ("unixcoder",)
    assert settings.llm.model == "openai/m"
    assert settings.annotation.limit == 3
    assert settings.source.options == {"path": "src"}


def test_failed_pairs_that_are_not_due_are_taken_by_a_form_as_by_a_command() -> None:
    asked = settings_of(FORMS["annotate"], {"reasons": ["failed"]}, is_form=True).reannotation
    assert (asked.take, asked.retry_all) == (("failed",), True)


def test_a_question_says_where_an_empty_answer_is_taken_from() -> None:
    asked = schema_of(FORMS["annotate"])["properties"]
    told = " If empty: as in the environment or cosqa.toml, else none."
    assert asked["budget_usd"]["description"].endswith(told)
    assert "If empty" not in asked["approve"]["description"], "no is no answer in words"


def test_a_preset_is_one_of_the_answers() -> None:
    settings = settings_of(FORMS["study"], {"preset": "cosqa-plus-v2"}, is_form=True)
    assert settings.preset == "cosqa-plus-v2"


def test_answers_that_are_no_settings_are_the_flow_s_own_arguments() -> None:
    answers = {"benchmark": "b", "methods": ["bm25"], "runs": None, "annotate_unjudged": True}
    given = arguments_of(leaderboard, FORMS["leaderboard"], answers)
    assert given.pop("settings").evaluation.methods == ("bm25",)
    assert given == {"benchmark": "b", "annotate_unjudged": True}
    assert leaderboard.validate_parameters(given)["benchmark"] == Path("b")


def test_data_sets_are_answered_by_name_and_folder() -> None:
    answers = {"data": ["docs=a/b"], "encoders": ["minilm"]}
    given = arguments_of(study_kape, FORMS["study-kape"], answers)
    assert given["data"] == {"docs": Path("a/b")}
    assert study_kape.validate_parameters(given)["settings"].search.encoders == ("minilm",)


def test_other_settings_are_answers_and_keys_are_not() -> None:
    answers = {"sets": ["source.distribution=pydantic", "annotation.rounds=3"]}
    settings = settings_of(FORMS["collect"], answers, is_form=True)
    assert settings.source.options == {"distribution": "pydantic"}
    assert settings.annotation.rounds == 3
    with pytest.raises(SettingsError, match="COSQA_LLM__API_KEY"):
        settings_of(FORMS["collect"], {"sets": ["llm.api_key=k"]}, is_form=True)
