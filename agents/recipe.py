"""The recipe: everything that could change a label, so that a change makes labels stale."""

import json

from agents.arbiter import Judgement
from agents.embedded import MODEL_SHA256, adapted
from agents.fixer import Repair
from agents.prompting import Role, system_text
from agents.screener import Screening
from agents.structure import Reply
from agents.writer import Composition
from infra.identity import digest
from infra.settings import Settings

_ALGORITHM = (
    "cosqa-plus-1"  # raise it when the order of the agents or the layout of prompts changes
)

_REPLIES: dict[Role, type[Reply]] = {
    "screener": Screening,
    "writer": Composition,
    "fixer": Repair,
    "arbiter": Judgement,
}


def prompt_versions() -> dict[str, str]:
    """Return for each role the digest of its standing text and of its reply's schema."""
    return {
        role: digest(system_text(role), json.dumps(reply.model_json_schema(), sort_keys=True))
        for role, reply in _REPLIES.items()
    }


def recipe_of(settings: Settings, sandbox_description: str) -> dict[str, object]:
    """Return the recipe as a JSON-able value.

    The server's address and the key are no part of it: the same model elsewhere is the same model.

    Args:
        settings: Model, rounds and limits.
        sandbox_description: What ``Sandbox.check`` returned (engine, image id).
    """
    model = adapted(settings.llm)
    labels = {"model", "temperature", "max_tokens", "max_code_characters", "max_field_characters"}
    limits = {"memory_mb", "processes", "cpus", "timeout_s", "output_kb", "tmp_mb", "runtime"}
    return {
        "algorithm": _ALGORITHM,
        "max_try_time": settings.annotation.max_try_time,
        "model": model.model_dump(mode="json", include=labels),
        "model_file": MODEL_SHA256 if model.is_demo else None,
        "prompts": prompt_versions(),
        "sandbox": sandbox_description,
        "limits": settings.sandbox.model_dump(mode="json", include=limits),
    }
