"""A stand-in for a language model: it knows the labels of proved pairs and errs at known rates.

Its chances follow from query and code, so that it reads a pair alike in every role and every run.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.identity import digest
from tests.bench.provable_pairs.made import PLAIN, ProvedPair
from tests.fakes.llm_server import ScriptedServer, fenced

_TOLD = {
    1: ("clear_match", "answers"),
    0: ("clear_non_match", "does_not_answer"),
}

_NO_REPAIR: Mapping[str, Mapping[str, Any]] = {
    "fixer": {"diagnosis": "unknown", "action": "give_up", "content": ""},
    "command_fixer": {"diagnosis": "unknown", "verdict": "irreparable", "commands": ""},
}


@dataclass(frozen=True)
class Habits:
    """How often a reader errs.

    Attributes:
        near_miss_errors: Share of near misses that it takes for answers.
        errors: Share of all other pairs that it misreads.
        doubt: Share of pairs whose screening is left open, near misses and answers alike.
        wrong_values: Share of test programs and of specifications that demand a wrong value, and
            of calls for which it would demand one.
        tests: Calls that a test program makes.
        examples: Examples that a specification has.
        trust: Share of pairs where it follows a run that contradicts its reading.
    """

    near_miss_errors: float = 0.15
    errors: float = 0.03
    doubt: float = 0.5
    wrong_values: float = 0.1
    tests: int = 4
    examples: int = 6
    trust: float = 0.95


class FallibleReader(ScriptedServer):
    """Serves the roles of all committees for proved pairs."""

    def __init__(self, pairs: Iterable[ProvedPair], habits: Habits) -> None:
        super().__init__([])
        self._pairs = {(pair.query, pair.code.strip()): pair for pair in pairs}
        self._demands = {pair.query: pair.demands for pair in self._pairs.values()}
        self._habits = habits

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        role, query, code = call["role"], call["query"], call["code"]
        system, user = (message["content"] for message in call["messages"][:2])
        if role in _NO_REPAIR:
            return {"reply": _NO_REPAIR[role]}
        if role in ("writer", "blind_writer"):
            return {"reply": {"reading": query, "program": self._program(role, query, user)}}
        if role == "specifier":
            return {"reply": self._specification(query)}
        if role == "value_reader":
            value = self._value(role, query, fenced("arguments", user))
            return {"reply": {"reason": "worked out", "by_query_alone": value, "value": value}}
        belief = self._belief(query, code)
        if role == "screener":
            is_specified = "- adapter:" in system
            return {"reply": self._screening(query, code, belief, is_specified=is_specified)}
        return {"reply": self._judgement(role, query, code, user, belief)}

    def _judgement(
        self, role: str, query: str, code: str, prompt: str, belief: int
    ) -> Mapping[str, Any]:
        """Return the last word, by what a valid run says or by the belief."""
        if role in ("arbiter", "claims_arbiter"):
            evidence = _evidence(prompt)
            if evidence is not None and _chance("trust", query, code) < self._habits.trust:
                belief = evidence
        verdict = _TOLD[belief][1]
        if role == "exact_judge":
            return {"asked": query, "deviations": "none", "verdict": verdict}
        return {"reason": "by what I know", "verdict": verdict}

    def _belief(self, query: str, code: str) -> int:
        """Return the label that reading the code gives."""
        pair = self._pairs[query, code.strip()]
        habits = self._habits
        rate = habits.near_miss_errors if pair.is_near_miss else habits.errors
        return pair.label ^ (_chance("reading", query, code) < rate)

    def _specification(self, query: str) -> Mapping[str, Any]:
        """Return a specification whose examples are some of the calls; one may be wrong."""
        demands = self._demands[query]
        chosen = sorted(demands, key=lambda call: digest("example", query, call))
        wrong = _chance("examples", query) < self._habits.wrong_values
        lines = [
            f"{call} => {_other(demands[call]) if wrong and number == 0 else demands[call]}"
            for number, call in enumerate(chosen[: self._habits.examples])
        ]
        return {
            "reading": query,
            "other_readings": "",
            "demands": query,
            "left_open": "names of parameters",
            "examples": "\n".join(lines),
            "clarity": "clear",
        }

    def _screening(
        self, query: str, code: str, belief: int, *, is_specified: bool
    ) -> Mapping[str, Any]:
        """Return a screening; by a specification with an adapter and the call that it would try."""
        pair = self._pairs[query, code.strip()]
        unclear = _chance("doubt", query, code) < self._habits.doubt
        if not is_specified:
            return {"reason": "by reading", "verdict": "unclear" if unclear else _TOLD[belief][0]}
        found = re.search(r"def (\w+)\(", code)
        name = found[1] if found else "target"
        calls = pair.demands if belief else pair.shown_by or pair.demands
        tried = min(calls, key=lambda call: digest("tried", query, code, call))
        value = self._value("screener", query, tried)
        if not belief and not pair.shown_by:  # misread: it sees a fault where there is none
            value = _other(pair.demands[tried])
        return {
            "reason": "by reading",
            "verdict": "unclear_behaviour" if unclear else _TOLD[belief][0],
            "adapter": f"def answer(*values):\n    return {name}(*values)",
            "call": f"{tried} => {value}" if unclear or not belief else "",
        }

    def _value(self, role: str, query: str, arguments: str) -> str:
        """Return the value that it would demand of a call; roles err apart, but by one value."""
        value = self._demands[query][arguments]
        wrong = _chance("value", role, query, arguments) < self._habits.wrong_values
        return _other(value) if wrong else value

    def _program(self, role: str, query: str, text: str) -> str:
        """Return a program that makes some of the calls; now and then it demands a wrong value."""
        demands = self._demands[query]
        chosen = sorted(demands, key=lambda call: digest("chosen", role, query, text, call))
        wrong = _chance("values", role, query, text) < self._habits.wrong_values
        found = re.search(r"def (\w+)\(", text)
        name = found[1] if found else "target"
        tests = []
        for number, call in enumerate(chosen[: self._habits.tests]):
            value = demands[call]
            if wrong and number == 0:
                value = _other(value)
            tests.append(f"def test_{number}():\n    assert plain({name}({call})) == {value}\n")
        return f"from target import {name}\n{PLAIN}\n" + "\n".join(tests)


def _other(value: str) -> str:
    """Return a wrong value, the same one wherever it is mistaken."""
    return repr([ast.literal_eval(value)])


def _evidence(prompt: str) -> int | None:
    """Return the label that valid runs speak for, None where there are none."""
    if "Two programs that were written independently" in prompt:
        return 0
    if calls := fenced("calls", prompt):
        return _evidence_of_calls(calls)
    passed = "every assertion that it reached held" in prompt
    return 1 if passed and "proves nothing" not in prompt else None


def _evidence_of_calls(calls: str) -> int | None:
    """Return 0 where a call that two readers agree on gave another value, 1 where all held."""
    lines = [line.split(" | ") for line in calls.splitlines()]
    for line in lines:
        if len(line) == len(("claim", "given", "read")):
            claimed, read = line[0].partition(" => ")[2], line[2].rpartition("demands ")[2]
            if claimed == read:
                return 0
    return 1 if all("gave that" in line[1] for line in lines if len(line) > 1) else None


def _chance(*parts: str) -> float:
    return float.fromhex(f"0x0.{digest(*parts)}")
