"""The outcome of people's votes on samples: final labels, preferences, and minutes."""

from infra.ids import SampleId
from infra.records import Criterion, OfPair
from infra.store.database import Database, statements_beside
from infra.store.samples import Scale
from infra.summaries import PeopleFigures

_SQL = statements_beside(__file__)
_SAID = f"WITH said AS ({_SQL['said']}) "


class FinalLabel(OfPair):
    """The majority of the people who decided on a sampled pair.

    Attributes:
        collection: Whose pair it is, "" where no collection has it.
        drawn: How the sample was drawn: ``pairs`` or ``queries`` at random, or otherwise.
        scale: The sample's, as `infra.store.samples.Sample` has it.
        criterion: Likewise.
        relevance: 0, or the mean grade of those who see a match; None where as many see none.
        people: How many decided.
    """

    sample_id: SampleId
    collection: str
    drawn: str
    scale: Scale
    criterion: Criterion
    relevance: float | None
    people: int


def final_labels(database: Database) -> list[FinalLabel]:
    """Return people's labels of the sampled pairs that somebody decided on."""
    return database.records(FinalLabel, _SAID + _SQL["final_labels"])


def people_figures(database: Database) -> PeopleFigures:
    """Return the share of pairs whose own code people prefer, and their time for a pair."""
    [counts] = database.records(PeopleFigures, _SAID + _SQL["figures"])
    return counts
