"""The recipe: everything that could change a label, so that a change makes labels stale."""

import json
from collections.abc import Iterable

from agents.committee.configurations import PLANS
from agents.llm.embedded import MODEL_SHA256, adapted
from agents.llm.prompt import system_text
from agents.llm.structured_output import Reply
from agents.roles.arbiter import Judgement
from agents.roles.fixer import Repair
from agents.roles.screener import Screening
from agents.roles.simulator import Prediction
from agents.roles.writer import Composition
from infra.identity import digest
from infra.records import Role
from infra.settings import Settings

# Raise it when the agents' order, the prompts' layout, the scaffolding or the mutants change.
ALGORITHM = "cosqa-plus-3"

_REPLIES: dict[Role, type[Reply]] = {
    "screener": Screening,
    "writer": Composition,
    "blind_writer": Composition,
    "simulator": Prediction,
    "fixer": Repair,
    "arbiter": Judgement,
    "judge": Judgement,
}


def prompt_versions(roles: Iterable[Role]) -> dict[str, str]:
    """Return for each role the digest of its standing text and of its reply's schema."""
    schemas = {
        role: json.dumps(_REPLIES[role].model_json_schema(), sort_keys=True) for role in roles
    }
    return {role: digest(system_text(role), schema) for role, schema in schemas.items()}


def recipe_of(settings: Settings, sandbox_description: str) -> dict[str, object]:
    """Return the recipe as a JSON-able value.

    The server's address and the key are no part of it: the same model elsewhere is the same model.

    Args:
        settings: Model, rounds and limits.
        sandbox_description: What ``Sandbox.check`` returned (engine, image id).
    """
    model = adapted(settings.llm)
    labels = {"model", "temperature", "max_tokens", "max_code_characters", "max_field_characters"}
    plan = PLANS[settings.annotation.configuration]
    return {
        "algorithm": ALGORITHM,
        "configuration": settings.annotation.configuration,
        "max_try_time": settings.annotation.max_try_time if plan.mends else None,
        "gates": settings.gates.model_dump(mode="json") if plan.gated else None,
        "model": model.model_dump(mode="json", include=labels),
        "model_file": MODEL_SHA256 if model.is_demo else None,
        "prompts": prompt_versions(plan.roles),
        "sandbox": sandbox_description if plan.runs == "box" else None,
        "limits": _limits_of(settings) if plan.runs == "box" else None,
    }


def _limits_of(settings: Settings) -> dict[str, object]:
    limits = {"memory_mb", "processes", "cpus", "timeout_s", "output_kb", "tmp_mb", "runtime"}
    return settings.sandbox.model_dump(mode="json", include=limits)
