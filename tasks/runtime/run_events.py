"""Events of runs for Prefect's event feed and its automations, and keys of their artifacts.

Prefect adds the flow run, its flow and its deployment to each event that a run emits. Without a
server nothing is emitted.
"""

import re

from prefect.events import emit_event

# A model's budget is spent, which all runs share, or that of one run: the next one has its own.
BUDGET_EXHAUSTED = "cosqa.budget.exhausted"
RUN_BUDGET_EXHAUSTED = "cosqa.run-budget.exhausted"
# The agents judge too many pairs with known labels wrongly.
CANARY_ALARM = "cosqa.canary.alarm"
# A benchmark has been exported with other content than before.
BENCHMARK_PUBLISHED = "cosqa.benchmark.published"

Payload = dict[str, str | int | float | None]


def slug(name: str) -> str:
    """Return a name in lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def artifact_key(kind: str, name: str) -> str:
    """Return the key of an artifact, such as ``funnel-python-source``.

    It is the same in each run on a collection, so that the Prefect UI shows their history.
    """
    return f"{kind}-{slug(name)}"


def tell(event: str, name: str, message: str, payload: Payload, kind: str = "collection") -> None:
    """Tell one of the events above of a collection, or of a benchmark, by its name."""
    emit_event(
        event,
        resource={
            "prefect.resource.id": f"cosqa.{kind}.{slug(name)}",
            "prefect.resource.name": name,
        },
        payload={"message": message, **payload},
    )
