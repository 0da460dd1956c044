"""Laws of flows' parameters: no key in forms, in stored parameters, or in Prefect's database.

Covers `flows.runtime.runs`.
"""

import os
import pickle
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, cast
from uuid import UUID

import pytest
from prefect import Flow
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.exceptions import ParameterTypeError, PrefectHTTPStatusError
from prefect.utilities.callables import parameter_schema
from pydantic import SecretStr

import flows
from flows.benchmark import benchmark
from flows.leaderboard import leaderboard
from flows.runtime.runs import subject_of
from flows.study import compare_annotators
from infra.errors import SettingsError
from infra.settings import LanguageModelSettings, Settings
from tasks.benchmarks import write_benchmark
from tasks.runtime.input_checks import check_comparison
from tasks.stages.preflight import check_annotators, check_inputs
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.flows.world import settings_in
from tests.tasks.reports.cases import benchmark as toy


def all_flows() -> dict[str, Flow[..., Any]]:
    modules = [import_module(f"flows.{module.name}") for module in iter_modules(flows.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    return {flow.name: flow for flow in values if isinstance(flow, Flow)}


def settings_of(folder: Path, **llm: Any) -> Settings:
    return settings_in(folder, "bm25", llm=llm)


def test_no_flow_has_a_secret_in_its_form() -> None:
    for name in sorted(all_flows()):
        text = parameter_schema(all_flows()[name]).model_dump_json()
        assert '"api_key"' not in text, name
        assert "password" not in text, "the format by which pydantic marks a secret"


@pytest.mark.parametrize("model", [{"api_key": KEY}, {"model": "openai/m", "api_key": None}])
def test_a_key_in_a_form_is_refused_with_the_way_to_give_it(model: dict[str, Any]) -> None:
    with pytest.raises(ParameterTypeError, match="COSQA_LLM__API_KEY"):
        benchmark.validate_parameters({"settings": {"llm": model}})


def test_a_run_is_named_by_what_it_is_about() -> None:
    assert subject_of({"codes": ["a=x", "b=y"], "preset": "cosqa-plus-v2"}) == "a=x+b=y"
    assert subject_of({"truth": "dev.json"}) == "dev.json"
    assert subject_of({"data": {"docs": Path("a"), "web": Path("b")}}) == "docs+web"
    assert subject_of({"benchmark": Path("a/mine")}) == "mine"
    assert subject_of({"settings": Settings()}) == "python-source"
    assert subject_of({"source": "jsonl"}) == "jsonl"
    assert subject_of({}) == ""


@pytest.mark.usefixtures("prefect_server")
def test_the_server_refuses_a_run_with_a_key_before_it_stores_it() -> None:
    deployment = benchmark.to_deployment("form", work_pool_name=None)
    identity = cast("UUID", deployment.apply())  # type: ignore[union-attr]
    with get_client(sync_client=True) as client:
        with pytest.raises(PrefectHTTPStatusError, match="api_key"):
            client.create_flow_run_from_deployment(
                identity, parameters={"settings": {"llm": {"api_key": KEY}}}
            )
        run = client.create_flow_run_from_deployment(
            identity, parameters={"settings": {"llm": {"model": "openai/m"}}}
        )
        client.delete_flow_run(run.id)
        client.delete_deployment(identity)


@pytest.mark.usefixtures("prefect_server")
def test_a_run_with_a_key_leaves_no_trace_of_it_with_prefect(tmp_path: Path) -> None:
    write_benchmark(toy(), tmp_path / "benchmark")
    settings = settings_of(tmp_path, model="openai/m", api_key=SecretStr(KEY))
    state = leaderboard(tmp_path / "benchmark", settings=settings, return_state=True)
    assert state.is_completed()
    assert state.state_details.flow_run_id
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(state.state_details.flow_run_id)
    assert "api_key" not in run.parameters["settings"]["llm"]
    files = [file for file in Path(os.environ["PREFECT_HOME"]).rglob("*") if file.is_file()]
    assert any(file.suffix == ".db" for file in files)
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []


def test_workers_get_the_key() -> None:
    settings = Settings(llm=LanguageModelSettings(api_key=SecretStr(KEY)))
    sent = pickle.loads(pickle.dumps(settings))
    assert sent.llm.api_key.get_secret_value() == KEY
    assert KEY not in settings.model_dump_json() + repr(settings)


@pytest.fixture
def block(prefect_server: str) -> Iterator[str]:
    Secret(value=KEY).save("cosqa-key", overwrite=True)
    yield "cosqa-key"
    Secret.delete("cosqa-key")


def test_the_key_is_read_from_a_prefect_block_unless_the_settings_have_one(
    tmp_path: Path, block: str
) -> None:
    write_benchmark(toy(), tmp_path / "benchmark")
    check = partial(check_comparison, benchmarks=[tmp_path / "benchmark"])
    ready = check_inputs(settings_of(tmp_path, api_key_block=block), check)
    assert ready.settings.llm.api_key == SecretStr(KEY)
    given = settings_of(tmp_path, api_key_block=block, api_key=SecretStr("given"))
    assert check_inputs(given, check).settings.llm.api_key == SecretStr("given")


def test_annotators_that_are_compared_have_the_key_of_the_block(tmp_path: Path, block: str) -> None:
    with ScriptedServer([]) as server:
        settings = settings_of(tmp_path, api_key_block=block, base_url=server.base_url)
        ready = check_inputs(settings, lambda _: None)
        found = check_annotators(ready, ["openai/m", "openai/n"], ["single", "arbiter"])
    assert [(asked.llm.model, asked.annotation.configuration) for asked, _ in found] == [
        ("openai/m", "single"), ("openai/m", "arbiter"),
        ("openai/n", "single"), ("openai/n", "arbiter"),
    ]  # fmt: skip
    assert {asked.llm.api_key for asked, _ in found} == {SecretStr(KEY)}
    assert [recipe.model for _, recipe in found] == [asked.llm.model for asked, _ in found]


def test_annotators_that_cannot_be_asked_are_refused_before_any_of_them_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = settings_of(tmp_path)
    truth = tmp_path / "missing.jsonl"
    models = ["recorded/stdlib-sample", "openai/gpt-4o-mini"]
    with pytest.raises(SettingsError, match="openai/gpt-4o-mini needs a key"):
        compare_annotators.fn(truth, models, ["single"], settings)


@pytest.mark.usefixtures("prefect_server")
def test_a_block_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no Secret block 'absent'"):
        check_inputs(
            settings_of(tmp_path, api_key_block="absent"), partial(check_comparison, benchmarks=[])
        )
