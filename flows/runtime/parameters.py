"""The settings parameter of flows, which refuses a provider's key."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from infra.settings import Settings


def _refuse_key(value: object) -> object:
    """Raise if a flow's parameter has a key in it, which Prefect's database would store."""
    llm = value.get("llm") if isinstance(value, Mapping) else None
    if isinstance(llm, Mapping) and "api_key" in llm:
        raise ValueError(
            "llm.api_key cannot be a parameter, since Prefect stores parameters: set "
            "COSQA_LLM__API_KEY where the flow runs, or name a Prefect Secret block "
            "by llm.api_key_block"
        )
    return value


# The settings parameter of a flow; missing values are read from file and environment.
FlowSettings = Annotated[Settings | None, BeforeValidator(_refuse_key)]
