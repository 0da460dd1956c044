"""What the agents read out of a benchmark's queries before they saw any code."""

from typing import Literal

from infra.records import Record

SPECIFICATIONS_FILE = "specifications.parquet"


class QuerySpecification(Record):
    """What a query demands, by which all its candidates were judged.

    Attributes:
        query_id: The query.
        recipe_id: The recipe whose agents wrote it: its version.
        model: The model that wrote it.
        reading: The most likely reading.
        other_readings: Other plausible readings.
        demands: What an answer must do.
        left_open: What an answer may do as it likes.
        examples: Calls and the values that are demanded of them, as in ``[3, 1], 2 => [1, 3]``.
        clarity: ``underspecified`` where readings differ too much for one label to be right.
        is_underspecified: The same as a mark to filter by.
        cannot_show: Why no value can show an answer, as in ``network``; ``none`` where one can.
    """

    query_id: str
    recipe_id: str
    model: str
    reading: str
    other_readings: tuple[str, ...] = ()
    demands: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    clarity: Literal["clear", "underspecified"]
    is_underspecified: bool
    cannot_show: str = "none"
