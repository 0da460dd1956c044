"""The publish flow: exports of the labelled benchmarks."""

from prefect import State, flow
from prefect.states import Completed

from flows.runtime.runs import FlowSettings, Steps, run_name
from infra.store.benchmarks import Published
from tasks.runtime.input_checks import ValidatedInputs
from tasks.runtime.references import CollectedSource
from tasks.stages.labels import label_sets, require_trusted
from tasks.stages.preflight import check_inputs, collected_source
from tasks.stages.publish import nothing_exported, publish_benchmark

Exported = list[tuple[Published | None, Steps]]


@flow(name="publish", flow_run_name=run_name)
def publish(settings: FlowSettings = None) -> State[list[Published]]:
    """Export a benchmark for each collection and each origin of its labels; say which."""
    ready = check_inputs(settings)
    source = collected_source(ready)
    exported = publish_labels(ready, source)
    message = f"{ready.settings.source.title}: {export_sentence(exported)}"
    return Completed(data=[published for published, _ in exported if published], message=message)


def export_sentence(exported: Exported) -> str:
    """Return the exported benchmarks."""
    return f"exported as {', '.join(published.name for published, _ in exported if published)}"


def publish_labels(ready: ValidatedInputs, source: CollectedSource, after: Steps = ()) -> Exported:
    """Export the labels of a source's collections, of the agents those by the last used recipe.

    Args:
        ready: The checked inputs.
        source: The collections.
        after: The steps before it.

    Returns:
        The export of each set of labels, None where it has none, and the step that made it.

    Raises:
        GoldQuestionError: Labels are held, and nobody has accepted them.
        PublishError: None has any.
    """
    database, settings = ready.database, ready.settings.publish
    sets = label_sets(database, source, people=settings.labels != "agents")
    for labels in sets:
        if labels.current and settings.labels != "people" and not settings.accept_gold:
            require_trusted(database, labels.current, ready.settings.annotation.gold_limit)
    steps = [
        publish_benchmark(database, labels, settings, wait_for=after, return_state=True)
        for labels in sets
    ]
    exported: Exported = [(state.result(), [state]) for state in steps]
    if not any(published for published, _ in exported):
        raise nothing_exported(database, sets, settings, source.main.name)
    return exported
