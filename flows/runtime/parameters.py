"""The parameters of flows: what options give them, and settings, which refuse a provider's key."""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any

from prefect import Flow
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


def arguments_of(flow: Flow[..., Any], options: object) -> dict[str, object]:
    """Return the arguments of a flow by its parameters' names, as far as the options have them."""
    names = inspect.signature(flow.fn).parameters
    return {name: getattr(options, name) for name in names if hasattr(options, name)}
