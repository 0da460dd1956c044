"""Before agents run, the engine's boxes must show what they must; else nothing is run.

Covers `tasks.stages.preflight` where it asks the engine.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from infra.errors import SandboxError, UnknownNameError
from infra.records import ExecutionResult
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.backends import backends
from tasks.runtime.input_checks import ValidatedInputs, check, handed_on
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.preflight import check_agents, check_committee, check_inputs
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.sandbox import PASSED, FakeSandbox
from tests.flows.world import rule


class OpenEngine(FakeSandbox):
    """An engine in whose boxes every program passes, whatever it must be refused."""

    async def identity(self) -> str:
        return "open"


def passes(program: str, installed: frozenset[str]) -> ExecutionResult:
    return PASSED


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenEngine]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = OpenEngine(passes)
    backends.register("open")(lambda settings: made)
    yield made
    del backends._entries["open"]


def settings_of(*accepted: str, configuration: str = "spec") -> Settings:
    return Settings(
        llm=LanguageModelSettings(model="openai/scripted", api_key=SecretStr(KEY)),
        sandbox=SandboxSettings(backend="open", accept_without=accepted),
        annotation=AnnotationSettings.model_validate({"configuration": configuration}),
    )


def checked(*accepted: str, configuration: str = "spec") -> ValidatedInputs:
    return check(settings_of(*accepted, configuration=configuration), lambda _: None)


@pytest.mark.usefixtures("engine")
def test_agents_do_not_begin_on_an_engine_that_lets_everything_through() -> None:
    with pytest.raises(SandboxError) as caught:
        check_agents(checked())
    for name in ("no address can be reached", "a false assert has failed", "memory is limited"):
        assert f"\n- {name}: " in str(caught.value)
    assert "`cosqa sandbox check` checks all again" in str(caught.value)


@pytest.mark.usefixtures("engine")
def test_a_name_that_nothing_has_is_refused_before_the_engine_is_asked() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'memory is limited'"):
        check_agents(checked("memory is limitd"))


def test_a_plan_and_agents_that_run_nothing_ask_for_no_behaviour(engine: OpenEngine) -> None:
    assert current_recipe(settings_of().committee).sandbox == "fake sandbox"
    assert check_agents(checked(configuration="arbiter")).sandbox == ""
    assert engine.made == 0


def test_agents_that_a_command_has_checked_are_not_checked_again_by_its_flow() -> None:
    ready = checked(configuration="arbiter")
    found = check_agents(ready)
    with handed_on(ready):
        taken = check_inputs(ready.given, lambda _: None)
    assert check_agents(taken) is found
    own = check_agents(check_inputs(ready.given, lambda _: None))
    assert own == found
    assert own is not found, "a flow to which nothing is handed on makes the check"


def test_a_command_asks_its_model_once_and_none_where_a_server_alone_has_the_key(
    tmp_path: Path,
) -> None:
    with ScriptedServer([rule("probe", {"reply": {"verdict": "yes"}})]) as model:
        settings = settings_of(configuration="arbiter")
        llm = settings.llm.model_copy(update={"base_url": model.base_url})
        store = StoreSettings(folder=tmp_path / "store")
        keyless = llm.model_copy(update={"api_key": None, "api_key_block": "key"})
        unasked, asked = (
            check(settings.model_copy(update={"llm": each, "store": store}), lambda _: None)
            for each in (keyless, llm)
        )
        check_committee(unasked)
        assert (model.calls, unasked.recipes) == ([], {})
        for _ in range(2):
            check_committee(asked)
        assert len(model.calls) == 1
    assert check_agents(asked) is asked.recipes[asked.settings.committee]
