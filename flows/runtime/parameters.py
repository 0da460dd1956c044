"""Parameters of flows, as Prefect shows them in a deployment's form and stores them with a run."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from infra.settings import Settings


def _refuse_key(given: object) -> object:
    """Refuse a key among the values of a form, which Prefect's database would keep."""
    llm = given.get("llm") if isinstance(given, Mapping) else None
    if isinstance(llm, Mapping) and "api_key" in llm:
        raise ValueError(
            "llm.api_key is no parameter, since Prefect stores parameters: set COSQA_LLM__API_KEY "
            "where the flow runs, or name a Prefect Secret block by llm.api_key_block"
        )
    return given


# Settings that a flow is given; what they leave out is read from file and environment.
FlowSettings = Annotated[Settings | None, BeforeValidator(_refuse_key)]
