"""The agents that judge whether a code answers a query; they take and return records.

``committee`` is Algorithm 1 for one pair, over the agents that a configuration names. ``roles``
holds the agents and their prompts. ``claims`` are calls and the values that a query
demands of them. ``gates`` check whether a test program's result counts as evidence. ``llm`` is the
language-model client. ``evidence`` has the records of test programs and their runs.
"""

from agents.committee.algorithm import Committee, build_committee, build_model
from agents.committee.generation import WrittenAnswer, written_answer
from agents.committee.recipe import prompt_versions, recipe_of
from agents.llm.ledger import JournalLedger, Ledger, Reservation, journal_ledger
from agents.llm.litellm_transport import check_model, check_name
from agents.llm.price_list import prices_of
from agents.llm.retry import RequestError

__all__ = [
    "Committee",
    "JournalLedger",
    "Ledger",
    "RequestError",
    "Reservation",
    "WrittenAnswer",
    "build_committee",
    "build_model",
    "check_model",
    "check_name",
    "journal_ledger",
    "prices_of",
    "prompt_versions",
    "recipe_of",
    "written_answer",
]
