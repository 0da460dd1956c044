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


def benchmark_published(name: str, collection: str, payload: Payload) -> None:
    """Tell that a benchmark has been exported with other content than before."""
    emit_event(
        BENCHMARK_PUBLISHED,
        resource={
            "prefect.resource.id": f"cosqa.benchmark.{slug(name)}",
            "prefect.resource.name": name,
        },
        payload={"collection": collection, **payload},
    )


def tell(event: str, collection: str, message: str, payload: Payload) -> None:
    """Tell of a run on a collection: one of the events above."""
    emit_event(
        event,
        resource={
            "prefect.resource.id": f"cosqa.collection.{slug(collection)}",
            "prefect.resource.name": collection,
        },
        payload={"message": message, **payload},
    )
