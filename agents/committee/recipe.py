"""The recipe of labels: everything whose change would make them stale."""

import json
from collections.abc import Iterable, Mapping

from agents.committee.configurations import AgentType, Configuration, configuration_of
from agents.llm.embedded import MODEL_SHA256, adapted
from agents.llm.prompt import system_text
from infra.identity import digest
from infra.settings import GateSettings, Settings

# Stored recipes keep the former names: other keys would make all labels stale.
_STORED_NAMES = {name: former for former, name in GateSettings.former_names.items()}


def prompt_versions(agents: Iterable[AgentType]) -> dict[str, str]:
    """Return for each agent's role the digest of its system text and of its reply's schema."""
    return {
        agent.role: digest(
            system_text(agent.text_name()),
            json.dumps(agent.reply_type.model_json_schema(), sort_keys=True),
        )
        for agent in agents
    }


def recipe_of(
    settings: Settings, sandbox_description: str, labelling_round: int = 1
) -> dict[str, object]:
    """Return the recipe as a JSON-able value.

    The server's address and the key are no part of it: a model is the same wherever it is served.
    Nor is the first round, so that labels made before there were rounds are those of the first.

    Args:
        settings: Model, rounds and limits.
        sandbox_description: What ``Sandbox.check`` returned (engine, image id).
        labelling_round: The round in which pairs are judged, from 1.
    """
    model = adapted(settings.llm)
    labels = {"model", "temperature", "max_tokens", "max_code_characters", "max_field_characters"}
    configuration = configuration_of(settings.annotation)
    runs = configuration.executor == "box"
    scaffolding = {"scaffolding": configuration.scaffolding} if configuration.writer else {}
    return {
        **scaffolding,
        "algorithm": configuration.algorithm,
        "configuration": settings.annotation.configuration,
        "max_try_time": settings.annotation.max_try_time if configuration.fixer != "none" else None,
        "gates": _stored_gates(settings.gates) if configuration.gates else None,
        "model": model.model_dump(mode="json", include=labels),
        "model_file": MODEL_SHA256 if model.is_demo else None,
        "prompts": prompt_versions(configuration.agents),
        "sandbox": sandbox_description if runs else None,
        "limits": _limits_of(settings, configuration) if runs else None,
        **({"round": labelling_round} if labelling_round > 1 else {}),
    }


def gates_of(recipe: Mapping[str, object]) -> GateSettings:
    """Return the gates' settings of a stored recipe; the defaults where it has none."""
    stored = recipe["gates"] if isinstance(recipe["gates"], Mapping) else {}
    names = GateSettings.former_names
    return GateSettings.model_validate({names.get(key, key): stored[key] for key in stored})


def _stored_gates(gates: GateSettings) -> dict[str, object]:
    fields = gates.model_dump(mode="json")
    return {_STORED_NAMES.get(name, name): value for name, value in fields.items()}


def _limits_of(settings: Settings, configuration: Configuration) -> dict[str, object]:
    limits = {"memory_mb", "processes", "cpus", "timeout_s", "output_kb", "tmp_mb", "runtime"}
    if configuration.fixer == "commands":
        limits.add("command_timeout_s")
    return settings.sandbox.model_dump(mode="json", include=limits)
