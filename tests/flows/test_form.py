"""Laws of forms: flat, described, without secrets, and what answers mean.

Covers `flows.entries`, `flows.options`.
"""

from pathlib import Path
from typing import Any

import pytest
from prefect.utilities.callables import generate_parameter_schema
from prefect.utilities.schema_tools.validation import validate

from flows.entries import form_of
from flows.leaderboard import leaderboard
from flows.options import Options, questions
from flows.runtime.runs import arguments_of
from infra.errors import SettingsError
from tests.flows.deployed import FORMS


def schema_of(form: type[Options]) -> dict[str, Any]:
    """Return the schema that Prefect makes of a form."""
    return generate_parameter_schema(form_of(form), {}).model_dump(exclude_unset=True)


PLAIN = {"string", "integer", "number", "boolean"}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_each_question_is_plain_has_a_title_and_says_what_it_asks(form: type[Options]) -> None:
    for name, question in schema_of(form)["properties"].items():
        kind = question["items"]["type"] if question["type"] == "array" else question["type"]
        assert kind in PLAIN, f"{name} is nested: a person fills it in"
        assert question["title"] not in ("", name)
        assert len(question["description"]) > 10, name
        assert "default" not in question, "the UI would send null, which the server refuses"
        assert name != "settings"
        assert not any(word in name for word in ("key", "secret", "token", "password")), name


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_questions_stand_in_their_order(form: type[Options]) -> None:
    schema = schema_of(form)
    places = [question["position"] for question in schema["properties"].values()]
    assert [*schema["properties"]] == [*form_of(form).parameters]
    assert places == list(range(len(places)))
    asked = [each for each in questions(form) if each.title]
    needed = [each.name for each in asked if each.default is ...]
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
    options = FORMS["benchmark"].of_form(answers | {"top_k": None})
    settings = options.settings
    assert settings.search.top_k == 7
    assert settings.search.encoders == ("unixcoder",)
    assert settings.llm.model == "openai/m"
    assert settings.annotation.limit == 3
    assert settings.source.options == {"path": Path("src")}


def test_failed_pairs_that_are_not_due_are_taken_by_a_form_as_by_a_command() -> None:
    form = FORMS["annotate"]
    for answer in (True, None):
        asked = form.of_form({"reasons": ["failed"], "retry_all": answer}).settings.reannotation
        assert (asked.take, asked.retry_all) == (("failed",), bool(answer))


def test_a_question_says_where_an_empty_answer_is_taken_from() -> None:
    asked = schema_of(FORMS["annotate"])["properties"]
    told = " If empty: as in the environment or cosqa.toml, else none."
    assert asked["budget_usd"]["description"].endswith(told)
    assert "If empty" not in asked["approve"]["description"], "no is no answer in words"


def test_a_preset_is_one_of_the_answers() -> None:
    settings = FORMS["study"].of_form({"preset": "cosqa-plus-v2"})
    assert settings.settings.preset == "cosqa-plus-v2"


def test_answers_that_are_no_settings_are_the_flow_s_own_arguments() -> None:
    answers = {"benchmark": "b", "methods": ["bm25"], "runs": None, "unjudged_to_annotate": 3}
    options = FORMS["leaderboard"].of_form(answers)
    given = arguments_of(leaderboard, options)
    assert given.pop("settings") == options.settings
    assert given == {"benchmark": Path("b"), "runs": (), "unjudged_to_annotate": 3}
    assert options.settings.evaluation.methods == ("bm25",)


def test_options_of_a_source_are_answers() -> None:
    options = FORMS["collect"].of_form({"source_option": ["distribution=pydantic"]})
    assert options.settings.source.options == {"distribution": "pydantic"}


def test_an_answer_out_of_bounds_that_passed_the_server_is_refused_by_its_name() -> None:
    with pytest.raises(SettingsError, match=r"search\.top_k"):
        _ = FORMS["annotate"].of_form({"top_k": 0}).settings
