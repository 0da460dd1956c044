"""The settings parameter of flows, which refuses a provider's key."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from infra.settings import Settings


def _refuse_key(value: object) -> object:
    """Raise if a flow's parameter has a key in it, which Prefect's database would store."""
    for name in ("llm", "encoder"):
        section = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(section, Mapping) and "api_key" in section:
            raise ValueError(
                f"{name}.api_key cannot be a parameter, since Prefect stores parameters: set "
                f"COSQA_{name.upper()}__API_KEY where the flow runs, or name a Prefect Secret "
                f"block by {name}.api_key_block"
            )
    return value


# The settings parameter of a flow; missing values are read from file and environment.
FlowSettings = Annotated[Settings | None, BeforeValidator(_refuse_key)]
