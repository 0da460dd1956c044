"""The judgement: records in, records out. One file an agent, its prompt as a text file beside."""

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
