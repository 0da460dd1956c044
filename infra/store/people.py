"""The outcome of people's votes on samples: final labels, preferences, and minutes."""

from infra.ids import SampleId
from infra.records import Criterion, OfPair
from infra.store.database import Database
from infra.store.samples import Scale
from infra.summaries import PeopleFigures

# One row a person and sampled item: what the person said last.
_LAST = """
    SELECT sample_id, samples.collection, samples.kind, scale,
        coalesce(body ->> 'drawn', '') AS drawn,
        coalesce(body ->> 'criterion', 'exact') AS criterion, query_id, code_id, relevance
    FROM votes JOIN samples ON origin = 'sample:' || sample_id
    JOIN sample_items USING (sample_id, query_id, code_id)
    QUALIFY row_number() OVER (
        PARTITION BY sample_id, annotator, query_id, code_id ORDER BY phase = 'revised' DESC) = 1
"""


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
    return database.records(
        FinalLabel,
        f"""
        SELECT sample_id, collection, drawn, scale, criterion, query_id, code_id,
            count(*) AS people,
            CASE WHEN 2 * count(*) FILTER (relevance > 0) > count(*)
                    THEN avg(relevance) FILTER (relevance > 0)
                WHEN 2 * count(*) FILTER (relevance > 0) < count(*) THEN 0 END AS relevance
        FROM ({_LAST}) WHERE kind = 'pairs' AND relevance IS NOT NULL
        GROUP BY ALL ORDER BY sample_id, query_id, code_id
        """,  # noqa: S608 - a literal
    )


def people_figures(database: Database) -> PeopleFigures:
    """Return the share of pairs whose own code people prefer, and their time for a pair."""
    [counts] = database.records(
        PeopleFigures,
        f"""
        SELECT * FROM (
            SELECT count(*) AS preferences, count(*) FILTER (relevance > 0) AS preferred
            FROM ({_LAST}) WHERE kind = 'preference' AND relevance IS NOT NULL
        ), (
            SELECT count(*) FILTER (program = '') AS timed_without_program,
                avg(minutes) FILTER (program = '') AS minutes_without_program,
                count(*) FILTER (program <> '') AS timed_with_program,
                avg(minutes) FILTER (program <> '') AS minutes_with_program
            FROM votes WHERE starts_with(origin, 'sample:') AND phase = 'blind'
                AND minutes IS NOT NULL
        )
        """,  # noqa: S608 - a literal
    )
    return counts
