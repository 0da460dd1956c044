"""The judgement: records in, records out. One file an agent, its prompt as a text file beside."""

from agents.committee import Committee
from agents.endpoint import Endpoint
from agents.factory import build_committee
from agents.llm import check_model
from agents.recipe import prompt_versions, recipe_of

__all__ = [
    "Committee",
    "Endpoint",
    "build_committee",
    "check_model",
    "prompt_versions",
    "recipe_of",
]
