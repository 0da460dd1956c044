"""Laws of deployments: the flow, the form and the chain of each, and what answers to a form mean.

Covers `flows.entries`, `flows.options`.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
import yaml
from prefect import Flow
from prefect.cli.deploy._triggers import DeploymentTriggerAdapter
from prefect.client.orchestration import get_client
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ParameterTypeError, SignatureMismatchError
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.callables import generate_parameter_schema, parameter_schema
from prefect.utilities.schema_tools.hydration import HydrationContext, hydrate
from prefect.utilities.schema_tools.validation import validate

import flows
from flows import entries
from flows.entries import arguments_of, form_of
from flows.leaderboard import leaderboard
from flows.options import fields_of, settings_of
from flows.runtime.runs import flow_of
from flows.study import study_kape
from infra.errors import SettingsError
from infra.settings import StoreSettings
from infra.store.database_file import writer_lock
from tests.flows.deployed import DEPLOYMENTS, FORMS, PREFECT_YAML

AFTER: dict[str, dict[str, Any]] = {
    name: trigger for name, each in DEPLOYMENTS.items() for trigger in each.get("triggers", [])
}


def test_every_flow_has_a_deployment_of_its_name() -> None:
    modules = [
        import_module(f"flows.{module.name}")
        for module in iter_modules(flows.__path__)
        if not module.ispkg and module.name not in ("entries", "options")
    ]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, Flow)]
    assert sorted(DEPLOYMENTS) == sorted(flow.name for flow in found)
    assert {flow.name: flow for flow in found} == {
        name: flow_of(name.replace("-", "_")) for name in DEPLOYMENTS
    }, "each is found by its name"


def parameters_of(name: str) -> set[str]:
    return {*entries.form_of(FORMS[name]).parameters}


@pytest.mark.parametrize(("name", "deployment"), DEPLOYMENTS.items(), ids=DEPLOYMENTS)
def test_a_deployment_gives_its_flow_parameters_that_it_has_and_sees_whether_it_lives(
    name: str, deployment: Mapping[str, Any]
) -> None:
    assert {*deployment.get("parameters", {})} <= parameters_of(name)
    assert "cosqa" in deployment["tags"]
    environment = deployment["work_pool"]["job_variables"]["env"]
    assert environment["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
    assert environment["COSQA_FOLDER"] == "{{ $COSQA_FOLDER }}", "where its runs work"
    assert environment["PYTHONSAFEPATH"] == "1", "no module of that folder runs"
    for schedule in deployment.get("schedules", []):
        assert CronSchedule(cron=schedule["cron"], timezone="UTC"), "Prefect takes it"


def test_no_run_starts_in_the_folder_where_it_works() -> None:
    (step,) = yaml.safe_load(PREFECT_YAML.read_text("utf-8"))["pull"]
    assert step == {"prefect.deployments.steps.set_working_directory": {"directory": "/"}}


def starter_of(name: str) -> str:
    return str(AFTER[name]["match_related"]["prefect.resource.name"]) if name in AFTER else ""


def test_what_starts_what() -> None:
    assert {name: starter_of(name) for name in AFTER} == {
        "annotate": "collect",
        "evaluate": "publish",
    }


@pytest.mark.parametrize("name", AFTER)
def test_a_deployment_is_started_with_the_parameters_of_the_run_before_as_far_as_it_has_them(
    name: str,
) -> None:
    trigger = DeploymentTriggerAdapter.validate_python(AFTER[name])
    given = {asked: ['a "quoted"', {"b": None}] for asked in parameters_of(starter_of(name))}
    context = HydrationContext(jinja_context={"flow_run": {"parameters": given}}, render_jinja=True)
    shared = parameters_of(starter_of(name)) & parameters_of(name)
    assert hydrate(trigger.parameters or {}, context) == {asked: given[asked] for asked in shared}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_the_entrypoint_of_a_deployment_is_a_flow_of_its_name_and_form(name: str) -> None:
    flow: Flow[..., Any] = load_flow_from_entrypoint(DEPLOYMENTS[name]["entrypoint"])
    assert flow.name == name
    asked = parameter_schema(flow).properties
    assert [*asked] == [*form_of(FORMS[name]).parameters]


def test_a_wrong_answer_is_refused_before_the_run_begins() -> None:
    with pytest.raises(ParameterTypeError, match="top_k"):
        entries.annotate.validate_parameters({"top_k": 0})
    for unknown in ("nothing_of_this_name", "settings", "api_key"):
        with pytest.raises(SignatureMismatchError, match=unknown):
            entries.annotate.validate_parameters({unknown: "x"})


@pytest.mark.usefixtures("prefect_server")
def test_a_run_that_finds_the_store_being_written_ends_as_cancelled_and_says_by_whom(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "queries.jsonl").write_text('{"query": "add one"}\n')
    (tmp_path / "src" / "codes.jsonl").write_text('{"code": "def f(x):\\n    return x + 1"}\n')
    monkeypatch.chdir(tmp_path)
    store = StoreSettings(folder=tmp_path / "cosqa-data")
    with writer_lock(store, "annotate-nightly"):
        state: Any = entries.collect(source="jsonl", path="src", return_state=True)
    assert state.is_cancelled()
    assert "annotate-nightly (process " in str(state.message)


@pytest.mark.usefixtures("prefect_server")
def test_a_run_without_answers_is_named_by_the_collection_of_its_folder(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "cosqa.toml").write_text(
        '[source]\nname = "jsonl"\npath = "src"\ncollection = "our-helpers"\n'
    )
    monkeypatch.chdir("/")
    monkeypatch.setenv("COSQA_FOLDER", str(tmp_path))
    state: Any = entries.collect(return_state=True)  # a schedule's: it fails, as nothing is there
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(state.state_details.flow_run_id)
    assert run.name.startswith("collect our-helpers, ")


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
