"""Test programs made without a model: a function's own answers, written down as what it must give.

Such a program is what a person would write who knows the function well: some calls whose answers
differ, each compared with what must come out. On the function itself it passes; so it shows what a
good test makes of mutants.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from infra.languages.python.scaffolding import scaffolded
from infra.records import Code
from infra.settings import GateSettings
from sandbox.base import Box
from tests.bench.measure import cosqa_data

_MARK = "behaviour:"
SHOWN = """
from collections.abc import Iterator
from itertools import islice

def shown(answer):
    return repr(list(islice(answer, 50)) if isinstance(answer, Iterator) else answer)
"""
PROBE = f"""
import copy, hashlib, inspect, itertools, json, random, target
{SHOWN}
VALUES = (
    3, "b a", [3, 1, 2], 0, -2.5, "", [], {{"k": 1, "l": 2}}, (1, 2), True, None, [[1, 2], [3, 4]],
    "2020-01-31", "3.5", b"ab", len, ["b", "a", "b"], {{1, 2}}, [{{"k": 1}}, {{"k": 0}}], "/tmp",
)
MOST_CALLS, MOST_SHOWN, LONGEST = 120, 8, 200

def calls_of(function):
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    if len(VALUES) ** len(needed) <= MOST_CALLS:
        return list(itertools.product(VALUES, repeat=len(needed)))
    dice = random.Random(len(needed))
    same = [(value,) * len(needed) for value in VALUES]
    return same + [tuple(dice.choices(VALUES, k=len(needed))) for _ in range(MOST_CALLS)]

[function] = [
    value for value in vars(target).values()
    if inspect.isfunction(value) and value.__module__ == "target"
]
answers, telling = [], {{}}
for values in calls_of(function):
    written = ", ".join(value.__name__ if value is len else repr(value) for value in values)
    try:
        answer = shown(function(*copy.deepcopy(values)))
    except Exception as error:
        answers.append(type(error).__name__)
        continue
    answers.append(answer)
    if len(answer) <= LONGEST and " at 0x" not in answer:
        telling.setdefault(answer[:1].isdigit() or answer[:1], {{}}).setdefault(answer, written)
turns = itertools.zip_longest(*(kind.items() for kind in telling.values()))  # all kinds of answers
usable = [call for call in itertools.chain(*turns) if call][:MOST_SHOWN]
if {{answer for answer, _ in usable}} <= {{"None"}}:
    usable = []
digest = hashlib.sha256(repr(answers).encode(errors="replace")).hexdigest()
name = function.__name__
print("\\n{_MARK}", json.dumps({{"name": name, "calls": usable, "digest": digest}}), flush=True)
"""
_TIMEOUT_S = GateSettings().mutant_timeout_s


class Behaviour(NamedTuple):
    """What a function gives for the probe's values; ``program`` tests that it still does."""

    digest: str
    program: str


def functions() -> Iterator[Code]:
    """Yield the functions of CoSQA's code base that are no methods, each once."""
    file = cosqa_data() / "code_idx_map.txt"
    for text in json.loads(file.read_text("utf-8")):
        if "self" not in text and "(cls" not in text:
            yield Code.of(text)


async def behaviour(box: Box, code: str) -> Behaviour | str:
    """Return what a function does, or why nothing can be said of it."""
    first, second = [
        await box.run(PROBE, code=scaffolded(code), timeout_s=_TIMEOUT_S, hash_seed=seed)
        for seed in (0, 1)
    ]
    if first.outcome != "passed":
        return first.error_type or first.outcome
    if first.stdout != second.stdout:
        return "answers differently on another run"
    lines = [line for line in first.stdout.splitlines() if line.startswith(_MARK)]
    if not lines:
        return "takes the standard output away"
    said = json.loads(lines[-1].removeprefix(_MARK))
    if not said["calls"]:
        return "gives nothing that can be written down"
    return Behaviour(said["digest"], _program(said["name"], said["calls"]))


def _program(name: str, calls: list[list[str]]) -> str:
    lines = (f"    assert shown({name}({values})) == {answer!r}" for answer, values in calls)
    return "\n".join((f"from target import {name}", SHOWN, "def test_answers():", *lines))
