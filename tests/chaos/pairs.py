"""The pairs of a chaos run, what the scripted model says of each, and the store before the run."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.flows.world import World, judged, screened, written

CODES = 50
UNCLEAR_EACH = 20  # one pair in so many needs a program in a box

VERDICTS = {"clear_match": 1, "clear_non_match": 0, "answers": 1, "does_not_answer": 0}
_PROGRAM = (
    "from target import times_{number}\n\ndef test_it():\n    assert times_{number}(2) == {value}\n"
)


class Expected(NamedTuple):
    """What the scripted model makes of a pair: its label, and how many requests that takes."""

    label: int
    requests: int


class Pairs:
    """Queries, codes and a script, each query with the same number of candidates.

    Args:
        number: How many pairs; a multiple of `CODES`.
    """

    def __init__(self, number: int) -> None:
        self.queries = number // CODES
        self.number = self.queries * CODES

    def expected(self) -> dict[tuple[str, str], Expected]:
        """Return (query, name of the code) → what comes out."""
        return {
            (_query(query), f"times_{code}"): _expected(query, code) for query, code in self._all()
        }

    def requests(self) -> int:
        """Return how many requests an undisturbed run makes."""
        return sum(one.requests for one in self.expected().values())

    def script(self, delay_s: float) -> list[dict[str, Any]]:
        """Return the model's rules: each reply depends on the pair alone.

        Args:
            delay_s: How long each reply takes.
        """
        rules = [
            rule | {"query": _query(query), "code": f"def times_{code}("}
            for query, code in self._all()
            for rule in _rules(query, code)
        ]
        for rule in rules:
            rule["steps"] = [step | {"delay_s": delay_s} for step in rule["steps"]]
        return rules

    def _all(self) -> Iterator[tuple[int, int]]:
        return ((query, code) for query in range(self.queries) for code in range(CODES))


def write_source(world: World, pairs: Pairs) -> None:
    """Write the queries and the codes where the world's commands read them."""
    world.source.mkdir(parents=True)
    for name, rows in (
        ("queries", [{"query": _query(number)} for number in range(pairs.queries)]),
        ("codes", [{"code": _code(number)} for number in range(CODES)]),
    ):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (world.source / f"{name}.jsonl").write_text(lines, "utf-8")


def _query(number: int) -> str:
    return f"python multiply a number by {number}"


def _code(number: int) -> str:
    return (
        f"def times_{number}(value):\n"
        f'    """Multiply a value by {number}.\n\n    It is only a product.\n    """\n'
        f"    return value * {number}"
    )


def _draw(query: int, code: int) -> int:
    """Return a number that depends on the pair alone."""
    return int.from_bytes(hashlib.sha256(f"{query}/{code}".encode()).digest()[:4])


def _expected(query: int, code: int) -> Expected:
    rules = _rules(query, code)
    return Expected(VERDICTS[rules[-1]["steps"][0]["reply"]["verdict"]], len(rules))


def _rules(query: int, code: int) -> list[dict[str, Any]]:
    """Return the rules of a pair, in the order in which its agents are asked."""
    draw = _draw(query, code)
    if draw % UNCLEAR_EACH:
        return [screened("clear_match" if draw % 3 else "clear_non_match")]
    passes = draw // UNCLEAR_EACH % 2
    program = _PROGRAM.format(number=code, value=2 * code + (not passes))
    verdict = judged("answers" if passes else "does_not_answer")
    return [screened("unclear"), written(program), verdict]
