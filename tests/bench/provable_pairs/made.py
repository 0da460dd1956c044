"""The making of pairs with proved labels from cases, in a sandbox.

    python -m tests.bench.provable_pairs.made --to pairs.jsonl

A code answers where it gives the demanded value for each call of its case; else it does not. Lists,
tuples and iterators of the same are equal, as are 2 and 2.0: no query tells them apart. Broken
versions are graded by the share of calls that show it: grade 1 by most, grade 4 by few.
"""

import argparse
import ast
import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from infra.languages.python.mutation import mutants_of
from infra.languages.python.scaffolding import scaffolded
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Box, Sandbox
from tests.bench.provable_pairs.case import Case, load_cases

GRADES = (0.75, 0.5, 0.25, 0.0)  # above which share of the calls a mistake shows
_MUTANTS = 40
_MUTANT_S = 3.0

PLAIN = """
def plain(value):
    if hasattr(value, "__next__"):
        return list(value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return set(value) if isinstance(value, frozenset) else value
"""
_CALLS = """
import target
{plain}
for call in {calls!r}:
    try:
        value = eval(f"target.{name}({{call}})", {{"target": target}})
        print(repr(repr(plain(value))))
    except Exception as error:
        print(repr(f"raises {{type(error).__name__}}"))
"""


class ProvedPair(NamedTuple):
    """A query, a code and its proved label.

    Attributes:
        query: The query.
        code: The code.
        label: 1 where it gives each demanded value, else 0.
        kind: What the code is: "answer", "wider", "narrower", "another's", or "broken 1" to
            "broken 4", by how few calls show it.
        wrong: The share of calls that show that it does not answer.
        demands: Arguments of a call → the value that the query demands of it, both as source.
        shown_by: The arguments of the calls that show that it does not answer.
    """

    query: str
    code: str
    label: int
    kind: str
    wrong: float
    demands: Mapping[str, str]
    shown_by: tuple[str, ...] = ()

    @property
    def is_near_miss(self) -> bool:
        """Whether the code is wrong in a way that a reader easily overlooks."""
        return self.kind == "narrower" or (self.label == 0 and 0 < self.wrong <= GRADES[0])


async def proved_pairs(
    sandbox: Sandbox, cases: Sequence[Case], candidates: int = 0
) -> list[ProvedPair]:
    """Return the pairs of all cases, each label proved by running its code.

    Args:
        sandbox: Where the codes run.
        cases: The cases.
        candidates: Functions of other cases are added up to so many codes a query, if there are
            so many, as among the candidates that a search finds.
    """
    answers = [case.answer for case in cases]
    pairs: list[ProvedPair] = []
    for place, case in enumerate(cases):
        async with sandbox.box(scaffolded(answers[place])) as box:
            values = await _values(box, case, answers[place])
            assert not any(value.startswith("raises") for value in values), (case.query, values)
            demands = dict(zip(case.arguments, values, strict=True))
            for kind, code in _variants(case, answers[place], answers[place - 1]):
                shown_by = _shown_by(demands, await _values(box, case, code))
                pairs.append(_pair(case, code, kind, demands, shown_by))
            pairs += await _broken(box, case, answers[place], demands)
            others = (answers[other] for other in range(place - 2, place - len(cases), -1))
            missing = candidates - sum(pair.query == case.query for pair in pairs)
            for code in islice(others, max(missing, 0)):
                shown_by = _shown_by(demands, await _values(box, case, code))
                pairs.append(_pair(case, code, "another's", demands, shown_by))
    return pairs


def _variants(case: Case, answer: str, another: str) -> Iterator[tuple[str, str]]:
    yield "answer", answer
    yield "another's", another
    for kind, code in (("wider", case.wider), ("narrower", case.narrower)):
        if code:
            yield kind, code


async def _broken(
    box: Box, case: Case, answer: str, demands: Mapping[str, str]
) -> list[ProvedPair]:
    """Return at most one broken version of each grade, the first that there is."""
    graded: dict[int, ProvedPair] = {}
    for mutant in mutants_of(answer, _MUTANTS):
        shown_by = _shown_by(demands, await _values(box, case, mutant.code))
        if not shown_by:
            continue
        wrong = len(shown_by) / len(demands)
        grade = next(number for number, share in enumerate(GRADES, 1) if wrong > share)
        graded.setdefault(grade, _pair(case, mutant.code, f"broken {grade}", demands, shown_by))
    return [graded[grade] for grade in sorted(graded)]


async def _values(box: Box, case: Case, code: str) -> list[str]:
    """Return what the code gives for each call; nothing where it did not get to the end."""
    program = _CALLS.format(plain=PLAIN, calls=case.arguments, name=name_in(code))
    result = await box.run(program, code=scaffolded(code), timeout_s=_MUTANT_S)
    if result.outcome != "passed":
        return []
    return [ast.literal_eval(line) for line in result.stdout.splitlines()]


def name_in(code: str) -> str:
    """Return the name of the function in a code."""
    return next(node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef))


def _pair(
    case: Case, code: str, kind: str, demands: Mapping[str, str], shown_by: tuple[str, ...]
) -> ProvedPair:
    wrong = len(shown_by) / len(demands)
    return ProvedPair(case.query, code, int(not wrong), kind, wrong, demands, shown_by)


def _shown_by(demands: Mapping[str, str], found: Sequence[str]) -> tuple[str, ...]:
    """Return the calls for which a code gives another value; all where it gave none."""
    if len(demands) != len(found):
        return tuple(demands)
    both = zip(demands.items(), found, strict=True)
    return tuple(call for (call, value), other in both if not _equal(value, other))


def _equal(one: str, other: str) -> bool:
    """Return whether two values are equal, as 2 and 2.0 are."""
    try:
        return bool(ast.literal_eval(one) == ast.literal_eval(other))
    except (SyntaxError, ValueError):  # of an exception, or of a number that is none
        return one == other


async def _made(cases: Sequence[Case]) -> list[ProvedPair]:
    sandbox = make_sandbox(SandboxSettings())
    try:
        return await proved_pairs(sandbox, cases)
    finally:
        await sandbox.close()


def main(file: Path) -> None:
    """Write the pairs of all cases to a file, and print how many there are of each kind."""
    cases = load_cases()
    pairs = asyncio.run(_made(cases))
    file.write_text("".join(json.dumps(pair._asdict()) + "\n" for pair in pairs))
    for (kind, label), number in sorted(Counter((one.kind, one.label) for one in pairs).items()):
        print(f"{kind:12} label {label}: {number}")
    print(f"{len(pairs)} pairs of {len(cases)} queries in {file}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, required=True, help="file to write, one pair a line")
    main(parser.parse_args().to)
