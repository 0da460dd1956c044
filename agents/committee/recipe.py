"""The recipe of labels: everything whose change would make them stale."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from agents.committee.configurations import ALGORITHM, CONFIGURATIONS, AgentType, configuration_of
from agents.llm.prompt import system_text
from agents.llm.recorded import recording
from agents.roles.read import Screener
from agents.roles.write import Writer
from infra.identity import mark, mark_of
from infra.languages import languages
from infra.records import Criterion
from infra.settings import CommitteeSettings

# Parts of a recipe that matter to a pair only if a test program was written for it.
_OF_PROGRAMS = {
    "gates": "gates",
    "harness": "harness",
    "limits": "limits of the sandbox",
    "max_try_time": "rounds of repair",
    "sandbox": "sandbox image",
    "scaffolding": "scaffolding",
}
_NAMES = {**_OF_PROGRAMS, "agents": "agents", "round": "labelling round"}
_BOX = "box"
_HARNESSES = (("agents", "claims"), ("sandbox", "inside"), ("sandbox", "image"))


def prompt_versions(agents: Iterable[AgentType]) -> dict[str, dict[str, str]]:
    """Return language → role → digest of the agent's system text for it and its reply's schema."""
    return {
        name: {
            agent.role: mark(
                system_text(agent.text_name(), languages.get(name)().title),
                json.dumps(agent.reply_type.model_json_schema(), sort_keys=True),
            )
            for agent in agents
        }
        for name in languages.names()
    }


@cache
def harness_versions() -> dict[str, str]:
    """Return language → digest of the files, named like it, by which its code is run and claimed.

    Python has none: its harness is of modules, for which `ALGORITHM` is raised.
    """
    texts: dict[str, list[str]] = {}
    for root in (Path(str(files(package))) / folder for package, folder in _HARNESSES):
        for file in sorted(root.rglob("*.*")):
            for name in {*re.split(r"[/.]", file.relative_to(root).as_posix())}:
                if name in languages.names():
                    texts.setdefault(name, []).append(file.read_text("utf-8"))
    return {name: mark(*found) for name, found in texts.items()}


def recipe_of(
    chosen: CommitteeSettings, sandbox_description: str, labelling_round: int = 1
) -> dict[str, object]:
    """Return the recipe as a JSON-able value.

    The server's address and the key are no part of it: a model is the same wherever it is served.
    Nor is the first round, so that labels made before there were rounds are those of the first.
    """
    limits = {"memory_mb", "processes", "cpus", "timeout_s", "output_kb", "tmp_mb", "runtime"}
    labels = {"model", "temperature", "max_tokens", "max_code_characters", "max_field_characters"}
    configuration = configuration_of(chosen.annotation)
    runs = configuration.executor == "box"
    if configuration.fixer == "commands":
        limits.add("command_timeout_s")
    by, replies = recording(chosen.llm.model) if chosen.llm.is_recorded else ("", {})
    of_programs = {"scaffolding": configuration.scaffolding, "evidence": configuration.evidence}
    return {
        **(of_programs if configuration.writer else {}),
        "algorithm": ALGORITHM,
        "configuration": chosen.annotation.configuration,
        "max_try_time": chosen.annotation.max_try_time if configuration.fixer != "none" else None,
        "gates": chosen.gates.model_dump(mode="json") if configuration.gates else None,
        "model": chosen.llm.model_dump(mode="json", include=labels),
        "prompts": prompt_versions(configuration.agents),
        "harness": harness_versions() if runs else None,
        "sandbox": sandbox_description if runs else None,
        "limits": chosen.sandbox.model_dump(mode="json", include=limits) if runs else None,
        **({"replies": {"by": by, "mark": mark_of(replies)}} if replies else {}),
        **({"round": labelling_round} if labelling_round > 1 else {}),
    }


def dependency_of(body: Mapping[str, object], path: str) -> str:
    """Return the digest of the parts of a recipe on which a label rests, by the path of its pair.

    Every part counts that is not known to be without effect: a label of the screener does not
    depend on the prompts of agents who were not asked, nor on the sandbox.
    """
    return mark_of(_parts_on_path(body, path))


def changed_parts(
    former: Mapping[str, object], current: Mapping[str, object], path: str
) -> tuple[str, ...]:
    """Return the differences of two recipes for a pair's path, as in "prompt of arbiter"."""
    before, after = _parts_on_path(former, path), _parts_on_path(current, path)
    if "prompts" in before or "prompts" in after:  # agents on the path are not in both recipes
        return ("agents",) if before != after else ()
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if "agents" in changed:  # their prompts differ with them
        changed = [name for name in changed if name.partition(" ")[0] != "prompt"]
    return tuple(sorted(_NAMES.get(name, name) for name in changed))


def criterion_of(body: Mapping[str, object]) -> Criterion:
    """Return the question that a recipe's agents answer; labels of one are none of another."""
    found = (item for name, item in CONFIGURATIONS.items() if name == body.get("configuration"))
    return next((item.criterion for item in found), "exact")


def _parts_on_path(body: Mapping[str, object], path: str) -> dict[str, object]:
    """Return name → value of the parts of a recipe on a pair's path; all if that is unknown.

    What the configuration's name stands for is in other parts. Of prompts and harnesses those for
    the pair's language count alone. Where a program was written, the agents who take part count,
    asked or not: one that failed would have met a fixer if there were one. A pair that met no
    screener would have, if there were one.
    """
    versions, roles = body.get("prompts"), set(filter(None, path.split(",")))
    if not isinstance(versions, Mapping):
        return dict(body)
    language = next(iter(sorted(roles & versions.keys())), "python")
    prompts, agents = versions.get(language), roles - {_BOX, language}
    if not isinstance(prompts, Mapping) or not agents or not agents <= prompts.keys():
        return dict(body)
    harnesses = body.get("harness")
    body = {**body, "harness": harnesses.get(language) if isinstance(harnesses, Mapping) else None}
    has_program = bool(roles & {_BOX, Writer.role})
    left_out = {"configuration", "prompts", *(() if has_program else _OF_PROGRAMS)}
    if Writer.role not in roles:  # a program of claims is not repaired
        left_out.add("max_try_time")
    return {
        **{name: value for name, value in body.items() if name not in left_out},
        **{f"prompt of {agent}": prompts[agent] for agent in agents},
        "agents": sorted(prompts if has_program else prompts.keys() & {Screener.role}),
    }
