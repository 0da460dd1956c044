"""Laws of the recipe, and of the table of configurations that it is made from."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import SecretStr

import agents
from agents import prompt_versions, recipe_of
from agents.committee.configurations import CONFIGURATIONS
from agents.committee.recipe import dependency_of
from infra.identity import mark_of
from infra.languages import languages
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


def test_every_agent_with_a_model_has_a_prompt_version_of_its_own() -> None:
    taking_part = {agent for item in CONFIGURATIONS.values() for agent in item.agents}
    versions = [prompt_versions([agent]) for agent in taking_part]
    roles = {role for version in versions for role in version["python"]}
    assert roles == {agent.role for agent in taking_part}
    assert {*versions[0]} == {*languages.names()}
    assert len({str(version) for version in versions}) == len(taking_part) == 16


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


DIGESTS = {  # of labels of code in Python that exist: another digest makes them stale
    "single": "549febe0a9bf02d28dd5",
    "arbiter": "ba37f83716c2425c06c5",
    "writer": "bcc7bf9f9d6e3326cdf9",
    "executor": "8dc69183d1c689155741",
    "paper": "275c68d4a3f9fee7c758",
    "spec": "8d849fd592db7590d229",
}


@pytest.mark.parametrize("configuration", DIGESTS)
def test_the_recipes_of_existing_labels_stay_what_they_were(configuration: Any) -> None:
    annotation = AnnotationSettings(configuration=configuration)
    llm = LanguageModelSettings(model="openai/gpt-4o-mini")
    body = recipe_of(Settings(llm=llm, annotation=annotation).committee, "engine 1, image 2")
    met = ",".join(
        ["box", *(agent.role for agent in CONFIGURATIONS[annotation.configuration].agents)]
    )
    assert dependency_of(body, met) == DIGESTS[configuration]


def test_a_later_round_is_a_recipe_of_its_own_and_the_first_is_that_of_before() -> None:
    first, second, third = (recipe_of(Settings().committee, "box", number) for number in (1, 2, 3))
    assert first == recipe_of(Settings().committee, "box")
    assert "round" not in first
    assert second == first | {"round": 2}
    assert len({mark_of(item) for item in (first, second, third)}) == 3


def test_every_configuration_of_the_settings_is_one_row_of_the_table() -> None:
    assert set(CONFIGURATIONS) == set(get_args(Configuration))


# They write code and queries; what is in the image, whose id counts, is named by the others.
NO_LABELS = {
    "agents/roles/code_writer.txt",
    "agents/roles/query_writer.txt",
    "sandbox/image/libraries.txt",
    "sandbox/image/packages.txt",
}


def test_a_text_makes_the_labels_of_the_languages_that_use_it_stale_and_no_others(
    tmp_path: Path,
) -> None:
    root = Path(agents.__file__).parent.parent
    for package in ("agents", "infra", "sandbox"):
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / package, tmp_path / package, ignore=left_out)
    command = [sys.executable, str(Path(__file__).with_name("texts_by_language.py")), str(tmp_path)]
    copied = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=copied, check=True, capture_output=True, text=True)
    stale = json.loads(done.stdout)
    for file, found in stale.items():
        named = {*re.split(r"[/.]", file)} & {*languages.names()}
        stem, _, suffix = file.rpartition(".")
        others = {name for name in found if f"{stem}.{name}.{suffix}" in stale}
        if file in NO_LABELS:
            assert not found, file
        elif named:
            assert {*found} == named, file
        else:
            assert "python" in found, file
            assert not others, file
    of_go = {file for file, found in stale.items() if found == ["go"]}
    assert {"agents/claims/go.go", "agents/roles/inserts.go.toml"} <= of_go
    assert {"sandbox/inside/go/harness.go", "sandbox/image/go.Dockerfile"} <= of_go
