"""The plan of an annotation run for people: pairs by reason, requests, tokens, money, minutes.

``record`` is what is stored and approved, ``markdown`` the page that the Prefect UI shows,
``question`` the short form of it that a person approves.
"""

from tasks.reports.plan.markdown import (
    HEADER,
    plan_markdown,
    plan_notes,
    plan_rows,
    plan_sentence,
)
from tasks.reports.plan.question import plan_question
from tasks.reports.plan.record import Cause, ReasonPlan, RunPlan

__all__ = [
    "HEADER",
    "Cause",
    "ReasonPlan",
    "RunPlan",
    "plan_markdown",
    "plan_notes",
    "plan_question",
    "plan_rows",
    "plan_sentence",
]
