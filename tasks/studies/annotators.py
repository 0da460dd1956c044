"""Tables IV and VI, and Tables 3 and 4 of the first version: annotators against known labels."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from tasks.studies import Annotator, Evidence, Figure, have, paper_data, studies

# Configuration → its row in Table VI: PS screener, TPG writer, TE executor, BF fixer, FA arbiter.
_ABLATION = {
    "single": "Single LLM",
    "arbiter": "PS + FA",
    "writer": "PS + TPG + FA",
    "executor": "PS + TPG + TE + FA",
    "simulated": "PS + TPG + simulated executor + FA",
    "paper": "PS + TPG + TE + BF + FA",
}
_AVERAGE = "average "  # the row of all people begins so
_CRITERIA = {"v1-half": "50 %", "v1-exact": "exact"}


@studies.register("annotators")
def annotators(evidence: Evidence) -> Sequence[Figure]:
    """Return the accuracy of each annotator that the files have, by the papers' names."""
    scored = have(evidence.annotators)
    files = dict.fromkeys(item.file for item in scored)
    people = [
        figure
        for file in files
        for figure in _of_people([item for item in scored if item.file == file])
    ]
    figures = [figure for item in scored if item.model for figure in _of_agents(item)]
    return [*people, *figures]


def _of_people(of_file: Sequence[Annotator]) -> Iterator[Figure]:
    """Yield the figures of the people of one file, by the criterion of its agents."""
    people = [
        item for item in of_file if not item.model and not item.configuration.startswith(_AVERAGE)
    ]
    accuracies = [item.accuracy for item in people if item.accuracy is not None]
    if not accuracies:
        return
    found = sorted(
        {_CRITERIA[item.configuration] for item in of_file if item.configuration in _CRITERIA}
    )
    criterion = " or ".join(found)
    names = ", ".join(item.configuration for item in people)
    note = f"{Path(people[0].file).name}: {names}" if people[0].file else names
    pairs, mean = max(item.pairs for item in people), fmean(accuracies)
    if not criterion:
        row = "human without test program"
        yield Figure(row=row, column="accuracy", value=mean, n=pairs, note=note)
        return
    row = "average human"
    yield Figure(row=row, column=f"accuracy, {criterion}", value=mean, n=pairs, note=note)
    for item in of_file:
        if item.configuration.startswith(_AVERAGE) and item.alpha_with_people is not None:
            column = f"alpha with humans, {criterion}"
            yield _figure(item, "humans alone", column, note, item.alpha_with_people)


def _of_agents(item: Annotator) -> Iterator[Figure]:
    model, differs = paper_data().name_of(item.model.rpartition("/")[2].lower())
    note = f"{item.model}: {differs}" if differs else item.model
    if item.configuration in _CRITERIA:
        criterion = _CRITERIA[item.configuration]
        yield _figure(item, model, f"accuracy, {criterion}", note)
        if item.alpha_with_people is not None:
            column = f"alpha with humans, {criterion}"
            yield _figure(item, model, column, note, item.alpha_with_people)
        return
    yield _figure(item, _ABLATION.get(item.configuration, item.configuration), "accuracy", note)
    if item.configuration == "paper":
        yield _figure(item, "agents", "accuracy", note)
    if item.configuration == "single":
        yield _figure(item, model, "accuracy", note)


def _figure(
    item: Annotator, row: str, column: str, note: str, value: float | None = None
) -> Figure:
    shown = item.accuracy if value is None else value
    return Figure(row=row, column=column, value=shown, n=item.pairs, note=note)
