"""The judgement: records in, records out. One file an agent, its prompt as a text file beside.

``committee`` is Algorithm 1 over the agents that one of the ``configurations`` names; the
``laboratory`` is its middle, from a test program to evidence. ``gates`` decide what is evidence:
``scrutiny`` and ``assertions`` read the program, ``mutants`` (by the ``mistakes`` that people make)
are the broken code that it must notice. ``executor`` and ``fixer`` make programs run, after
``scaffolding`` has done what needs no model.

Agents ask the ``language_model``: ``llm`` is the wire, ``replies`` the journal of what was paid,
``patience`` the tries, ``ledger`` the rate and the budget that all workers of a key share,
``structure`` the forms in which a reply is asked for.
"""

from agents.committee import Committee
from agents.endpoint import Endpoint
from agents.factory import build_committee, build_model
from agents.llm import check_model
from agents.recipe import prompt_versions, recipe_of
from agents.reranker import Reranker

__all__ = [
    "Committee",
    "Endpoint",
    "Reranker",
    "build_committee",
    "build_model",
    "check_model",
    "prompt_versions",
    "recipe_of",
]
