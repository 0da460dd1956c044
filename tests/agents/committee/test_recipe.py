"""Laws of the recipe, and of the table of configurations that it is made from."""

import json
from typing import Any, get_args

import pytest
from pydantic import SecretStr

from agents import prompt_versions, recipe_of
from agents.committee.configurations import CONFIGURATIONS
from agents.llm.prompt import system_text
from infra.identity import mark_of
from infra.settings import (
    AnnotationSettings,
    Configuration,
    GateSettings,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
)


def identity(box: str = "engine 1, image 2", **sections: Any) -> str:
    return mark_of(recipe_of(Settings(**sections).committee, box))


def test_a_recipe_is_plain_json() -> None:
    recipe = recipe_of(Settings().committee, "box")
    assert json.loads(json.dumps(recipe)) == recipe


@pytest.mark.parametrize(
    "sections",
    [
        {"llm": LanguageModelSettings(model="openai/x")},
        {"llm": LanguageModelSettings(temperature=0.7)},
        {"llm": LanguageModelSettings(max_tokens=50)},
        {"llm": LanguageModelSettings(max_code_characters=300)},
        {"annotation": AnnotationSettings(max_try_time=4)},
        {"annotation": AnnotationSettings(configuration="executor")},
        {"annotation": AnnotationSettings(configuration="paper")},
        {"gates": GateSettings(mutants=3)},
        {"sandbox": SandboxSettings(memory_mb=256)},
        {"sandbox": SandboxSettings(timeout_s=3)},
        {"sandbox": SandboxSettings(runtime="runsc")},
        {"box": "engine 1, image 3"},
    ],
)
def test_what_could_change_a_label_changes_the_recipe(sections: dict[str, Any]) -> None:
    assert identity(**sections) != identity()


@pytest.mark.parametrize(
    "sections",
    [
        {"llm": LanguageModelSettings(api_key=SecretStr("k"), base_url="http://elsewhere")},
        {"llm": LanguageModelSettings(timeout_s=5, max_retries=1, requests_per_minute=7)},
        {"annotation": AnnotationSettings(limit=3, in_flight=9)},
        {"sandbox": SandboxSettings(slots=1)},
    ],
)
def test_what_cannot_change_a_label_leaves_the_recipe_alone(sections: dict[str, Any]) -> None:
    assert identity(**sections) == identity()


def test_a_text_in_another_language_is_part_of_its_role(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe_of(Settings().committee, "box")
    monkeypatch.setattr(
        "agents.committee.recipe.system_text",
        lambda name, language: system_text(name, language) + language.removeprefix("Python"),
    )
    assert recipe_of(Settings().committee, "box")["prompts"] != before["prompts"]


def test_every_agent_with_a_model_has_a_prompt_version_of_its_own() -> None:
    agents = {agent for item in CONFIGURATIONS.values() for agent in item.agents}
    versions = [prompt_versions([agent]) for agent in agents]
    assert {role for version in versions for role in version} == {agent.role for agent in agents}
    assert len({str(version) for version in versions}) == len(agents) == 16


def test_no_configuration_has_two_agents_of_one_role() -> None:
    for item in CONFIGURATIONS.values():
        roles = [agent.role for agent in item.agents]
        assert len(set(roles)) == len(roles), "the second would hide the first one's prompt"


def test_gates_leave_the_recipe_alone_where_they_are_not_used() -> None:
    paper = AnnotationSettings(configuration="paper")
    strict = GateSettings(min_mutation_score=0.9)
    assert identity(annotation=paper) == identity(annotation=paper, gates=strict)


def test_a_configuration_without_a_box_does_not_depend_on_one() -> None:
    single = AnnotationSettings(configuration="single")
    limits = SandboxSettings(memory_mb=256)
    assert identity("box 1", annotation=single) == identity(
        "box 2", annotation=single, sandbox=limits
    )


DIGESTS = {  # of labels that exist: another digest makes them stale
    "single": "67f17fb0d8f6c31a8f28",
    "arbiter": "5e05df18f4264baf50b5",
    "writer": "24dffff2870bf609fb27",
    "executor": "3e782b2e684c2df24ac5",
    "paper": "a0a2e4374790fe998245",
    "spec": "b35e602ae7af1773529b",
}


@pytest.mark.parametrize("configuration", DIGESTS)
def test_the_recipes_of_existing_labels_stay_what_they_were(configuration: Any) -> None:
    annotation = AnnotationSettings(configuration=configuration)
    llm = LanguageModelSettings(model="openai/gpt-4o-mini")
    assert identity(llm=llm, annotation=annotation) == DIGESTS[configuration]


def test_a_later_round_is_a_recipe_of_its_own_and_the_first_is_that_of_before() -> None:
    first, second, third = (recipe_of(Settings().committee, "box", number) for number in (1, 2, 3))
    assert first == recipe_of(Settings().committee, "box")
    assert "round" not in first
    assert second == first | {"round": 2}
    assert len({mark_of(item) for item in (first, second, third)}) == 3


def test_every_configuration_of_the_settings_is_one_row_of_the_table() -> None:
    assert set(CONFIGURATIONS) == set(get_args(Configuration))
