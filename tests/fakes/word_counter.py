"""A model that judges by counting the words that query and code share, and writes simple tests.

It stands behind the scripted server's address and answers every agent, so that whole runs over
real pairs need no key: right about as often as a word count is, and differently under every
configuration.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from infra.records import Annotation
from infra.settings import Settings
from infra.store import annotations, open_database
from infra.text import words
from tasks.inputs.pairs import TruePair
from tasks.stages.annotate.plan import current_recipe
from tasks.stages.compare_annotators import annotate_in_process
from tests.fakes.llm_server import ScriptedServer

_EVERYDAY = set(words("a an and by for from how in into is of on or python the to using with"))
_HELD, _FAILED = "every assertion that it reached held", "An assertion failed: the code is wrong"
_CONFIRMED = "evidence against the code where"


class WordCounter(ScriptedServer):
    """The server; see `ScriptedServer` for its address and what it was asked."""

    def __init__(self) -> None:
        super().__init__(())

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        shared, said = _shared(call["query"], call["code"])
        content = call["messages"][1]["content"]
        replies: dict[str, Mapping[str, str]] = {
            "exact_judge": {"asked": said, "deviations": said, "verdict": _verdict(shared >= 0.6)},
            "screener": {"reason": said, "verdict": _clear(shared)},
            "writer": _composition(call["code"]),
            "blind_writer": _composition(content),
            "fixer": {"diagnosis": "not to be helped", "action": "give_up", "content": ""},
            "command_fixer": {"diagnosis": "no", "verdict": "irreparable", "commands": ""},
            "arbiter": _weighed(shared, said, content),
        }
        return {"reply": replies[call["role"]]}


def _shared(query: str, code: str) -> tuple[float, str]:
    asked = set(words(query)) - _EVERYDAY
    found = asked & set(words(code))
    share = len(found) / len(asked) if asked else 0.0
    return share, f"{len(found)} of {len(asked)} words of the query stand in the code"


def _verdict(answers: bool) -> str:
    return "answers" if answers else "does_not_answer"


def _clear(shared: float) -> str:
    if shared >= 1:
        return "clear_match"
    return "clear_non_match" if shared <= 0.25 else "unclear"


def _weighed(shared: float, said: str, content: str) -> Mapping[str, str]:
    if _HELD in content:
        return {"reason": f"{said}; the program passed", "verdict": _verdict(shared >= 0.4)}
    if _CONFIRMED in content or _FAILED in content:
        return {"reason": f"{said}; an assertion failed", "verdict": _verdict(False)}
    return {"reason": f"{said}; the programs prove nothing", "verdict": _verdict(shared >= 0.6)}


def _composition(text: str) -> Mapping[str, str]:
    """Return a program that calls the first function of a text by what its parameters are named."""
    match = re.search(r"def (\w+)\((.*?)\)\s*(?:->[^:]*)?:", text, re.DOTALL)
    name, parameters = (match[1], match[2]) if match else ("nothing", "")
    call = f"{name}({', '.join(_argument(each) for each in _required(parameters))})"
    program = (
        f"from target import {name}\n\n"
        f"def test_it_gives_something():\n    assert {call} is not None\n\n"
        f"def test_it_gives_the_same_again():\n    assert {call} == {call}\n"
    )
    return {"reading": "it gives something, and the same again", "program": program}


def _required(parameters: str) -> list[str]:
    try:
        function = ast.parse(f"lambda {parameters}: 0", mode="eval").body
    except SyntaxError:
        return []
    assert isinstance(function, ast.Lambda)
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    return names[: len(names) - len(arguments.defaults)]


def _argument(name: str) -> str:
    if re.search(r"list|items|array|values|numbers|data|seq|iter", name):
        return "[3, 1, 2]"
    if re.search(r"dict|map", name):
        return "{'b': 1, 'a': 2}"
    if re.fullmatch(r"[nxyijk]|num\w*|count|size|value|\w*index", name):
        return "3"
    return "'a b 12'"


def judged(truth: Sequence[TruePair], settings: Settings) -> list[Annotation]:
    """Return the annotations of the pairs by the agents that the settings mean."""
    recipe = current_recipe(settings.committee)
    annotations.record_pairs(open_database(settings.store), [item.pair for item in truth])
    annotate_in_process([item.pair for item in truth], recipe, settings.committee, settings.store)
    keys = [item.key for item in truth]
    return annotations.load_annotations(open_database(settings.store), recipe.recipe_id, keys)
