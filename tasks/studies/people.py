"""What people prefer and how long they take: research questions 1 and 2 of CoSQA+."""

from collections.abc import Sequence
from typing import ClassVar

from tasks.studies import Evidence, Figure, Study, have, studies


@studies.register("people")
class People(Study):
    """Preferences and minutes of people."""

    title: ClassVar[str] = "People: preferences between two codes, and minutes for a pair"
    reading: ClassVar[str] = (
        "Preference: share of all choices between two codes of a query that fall on the "
        "benchmark's. Minutes: means over blind labels whose time was told, without and with a "
        "test program."
    )
    command: ClassVar[str] = (
        "cosqa label preference and cosqa label sample, cosqa label read, then cosqa study"
    )

    def figures(self, evidence: Evidence) -> Sequence[Figure]:
        """Return the share of preferences and the minutes, each where people gave any."""
        people = have(evidence.people)
        figures = []
        if people.preferences:
            share = people.preferred / people.preferences
            figures.append(
                Figure(row="preference", column="share", value=share, n=people.preferences)
            )
        for row, minutes, timed in (
            ("expert", people.minutes_without_program, people.timed_without_program),
            (
                "expert with test program",
                people.minutes_with_program,
                people.timed_with_program,
            ),
        ):
            if minutes is not None:
                figures.append(Figure(row=row, column="minutes of a pair", value=minutes, n=timed))
        return figures
