"""A stand-in for a language model: it knows the labels of proved pairs and errs at known rates.

Its chances follow from query and code, so that it reads a pair alike in every role and every run.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.identity import digest
from infra.languages.python.translation import translated
from infra.records import Code, Query
from tests.bench.provable_pairs.case import name_in, names_bound_by, parts_for
from tests.bench.provable_pairs.made import HELPERS, ProvedPair
from tests.fakes.llm_server import ScriptedServer, fenced

_TOLD = {1: ("clear_match", "answers"), 0: ("clear_non_match", "does_not_answer")}

_EFFECT = re.compile(r"(prints lines|prints|writes|raises) (.*)")
_MAKER = re.compile(r"\b(file|folder|environ)\(")
_OBJECT = """
class DummySelf:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)
DummySelf.{name} = {name}"""

# Role → what it replies whatever it is asked: no repair, and to a client that counts tokens yes.
_ALIKE: Mapping[str, Mapping[str, Any]] = {
    "probe": {"verdict": "yes"},
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
    """Serves the roles of all committees for proved pairs.

    ``right`` has the programs that it wrote and that are right for the code by construction, and
    ``examples`` the number of calls that it named for each query.

    Args:
        pairs: The pairs.
        habits: How often it errs.
        count: Returns a text's tokens, which are reported; without it, words are.
    """

    def __init__(
        self, pairs: Iterable[ProvedPair], habits: Habits, count: Callable[[str], int] | None = None
    ) -> None:
        super().__init__([])
        self._pairs = {
            (pair.query, code.strip()): pair
            for pair in pairs
            for code in (pair.code, translated(pair.code))
        }
        self._demands = {pair.query: pair.demands for pair in self._pairs.values()}
        self._named = {name_in(pair.code): pair for pair in self._pairs.values()}
        self._habits, self._count = habits, count
        self._makes_files = False
        self.right: set[str] = set()
        self.examples: dict[str, int] = {}

    def misreads(self, pair: ProvedPair) -> bool:
        """Return whether it takes a code for what it is not."""
        shown = translated(Code.of(pair.code).text)
        return self._belief(Query.of(pair.query).text, shown) != pair.label

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        reply = dict(self._reply(call))
        if any('"beside"' in message["content"] for message in call["messages"]):
            reply["beside"] = self._pair_of(call).beside
        if self._count is None:
            return {"reply": reply}
        asked = sum(self._count(message["content"]) for message in call["messages"])
        said = self._count(json.dumps(reply))
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        return {"reply": reply, "usage": usage}

    def _pair_of(self, call: Mapping[str, Any]) -> ProvedPair:
        """Return the pair of a request; one of the code's name where the code is not shown."""
        if pair := self._pairs.get((call["query"], call["code"].strip())):
            return pair
        found = re.search(r"def (\w+)\(", call["messages"][1]["content"])
        return self._named[found[1]] if found else next(iter(self._pairs.values()))

    def _reply(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        role, query, code = call["role"], call["query"], call["code"]
        system, user = (message["content"] for message in call["messages"][:2])
        if role in _ALIKE:
            return _ALIKE[role]
        if role in ("writer", "blind_writer"):
            return {"reading": query, "program": self._program(call)}
        if role == "specifier":
            self._makes_files = "folder(" in system  # claims do, where the prompt says so
            return self._specification(query)
        if role == "value_reader":
            value = self._value(role, query, fenced("arguments", user))
            return {"reason": "worked out", "value": value}
        belief = self._belief(query, code)
        if role == "screener":
            return self._screening(query, code, belief, system)
        return self._judgement(role, query, code, user, belief)

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
        demands = _sayable(self._demands[query], makes_files=self._makes_files)
        chosen = sorted(demands, key=lambda call: digest("example", query, call))
        wrong = _chance("examples", query) < self._habits.wrong_values
        lines = [
            f"{call} => {_other(demands[call]) if wrong and number == 0 else demands[call]}"
            for number, call in enumerate(chosen[: self._habits.examples])
        ]
        self.examples[query] = len(lines)
        return {
            "reading": query,
            "demands": query,
            "left_open": "names of parameters",
            "examples": "\n".join(lines),
            "clarity": "clear",
        }

    def _screening(self, query: str, code: str, belief: int, system: str) -> Mapping[str, Any]:
        """Return a screening; by a specification with an adapter and the call that it would try."""
        pair = self._pairs[query, code.strip()]
        unclear = _chance("doubt", query, code) < self._habits.doubt
        if "- adapter:" not in system:
            return {"reason": "by reading", "verdict": "unclear" if unclear else _TOLD[belief][0]}
        demands = _sayable(pair.demands, makes_files=self._makes_files)
        shown_by = [call for call in pair.shown_by if call in demands]
        calls = demands if belief else shown_by or demands
        tried = min(calls, key=lambda call: digest("tried", query, code, call), default="")
        claim = ""
        if tried and (unclear or not belief):
            misread = not belief and not pair.shown_by  # it sees a fault where there is none
            own = self._value("screener", query, tried)
            claim = f"{tried} => {_other(pair.demands[tried]) if misread else own}"
        name = name_in(code)
        return {
            "reason": "by reading",
            "verdict": "unclear_behaviour" if unclear else _TOLD[belief][0],
            "adapter": pair.adapter or f"def answer(*values):\n    return {name}(*values)",
            "call": claim,
        }

    def _value(self, role: str, query: str, arguments: str) -> str:
        """Return the value that it would demand of a call; roles err apart, but by one value."""
        value = _value_of(self._demands[query], arguments)
        wrong = _chance("value", role, query, arguments) < self._habits.wrong_values
        return _other(value) if wrong else value

    def _program(self, call: Mapping[str, Any]) -> str:
        """Return a program of the pair's own, or one that makes some of the calls.

        The latter demands a wrong value now and then.
        """
        role, query, pair = call["role"], call["query"], self._pair_of(call)
        system, user = (message["content"] for message in call["messages"][:2])
        name = name_in(pair.code)
        if pair.program and role == "writer" and pair.query == query:
            program, is_right = pair.program, True
        else:
            program, is_right = self._calls(role, query, pair, user)
        lead = [f"from target import {name}"]
        if pair.beside and '"beside"' not in system + user:
            set_there = [f"target.{one} = {one}" for one in names_bound_by(pair.beside)]
            lead = ["import target", pair.beside.strip(), *set_there, *lead]
        if "DummySelf" in program:
            scaffolded = "DummySelf" in system
            lead.append("from target import DummySelf" if scaffolded else _OBJECT.format(name=name))
        whole = "\n".join((*lead, program))
        if is_right and pair.kind != "another's":
            self.right.add(whole)
        return whole

    def _calls(self, role: str, query: str, pair: ProvedPair, text: str) -> tuple[str, bool]:
        """Return tests that make some of the calls, and whether all demand the right value."""
        demands = self._demands[query]
        chosen = sorted(demands, key=lambda call: digest("chosen", role, query, text, call))
        chosen = [call for call in chosen if not demands[call].startswith("raises ")]
        wrong = _chance("values", role, query, text) < self._habits.wrong_values
        tests = []
        for number, call in enumerate(chosen[: self._habits.tests]):
            value = _other(demands[call]) if wrong and number == 0 else demands[call]
            given = f"plain({name_in(pair.code)}({call}))"
            if pair.adapter:
                effect, value = _parts_of(value)
                given = f"{(effect or 'gives').replace(' ', '_')}(answer, {call})"
            tests.append(f"def test_{number}():\n    assert {given} == {value}\n")
        program = "\n".join((pair.adapter, *tests)).strip()
        return f"{parts_for(program, HELPERS)}\n\n{program}\n", not wrong


def _sayable(demands: Mapping[str, str], *, makes_files: bool) -> Mapping[str, str]:
    """Return the calls that claims can name; without makers none with files or printed output."""
    return {
        call: value
        for call, value in demands.items()
        if makes_files or not (_MAKER.search(call) or value.startswith(("prints ", "writes ")))
    }


def _value_of(demands: Mapping[str, str], arguments: str) -> str:
    """Return the value that is demanded for arguments, however they are spelt."""
    if arguments in demands:
        return demands[arguments]
    return {_spelt(call): value for call, value in demands.items()}[_spelt(arguments)]


def _spelt(arguments: str) -> str:
    return ast.unparse(ast.parse(f"f({arguments}\n)"))


def _other(value: str) -> str:
    """Return a wrong value, the same one wherever it is mistaken."""
    effect, demanded = _parts_of(value)
    if effect == "raises":
        return "raises KeyError"
    known = ast.literal_eval(demanded)
    printed, written = f"{known}!", {"other.txt": ""}
    wrong = {"prints": printed, "prints lines": printed, "writes": written}.get(effect, [known])
    return f"{effect} {wrong!r}".strip()


def _parts_of(value: str) -> tuple[str, str]:
    """Return what a value demands a call to do, "" to return it, and the value itself."""
    found = _EFFECT.fullmatch(value)
    return (found[1], found[2]) if found else ("", value)


def _evidence(prompt: str) -> int | None:
    """Return the label that valid runs speak for, None where there are none."""
    if "Two programs that were written independently" in prompt:
        return 0
    if calls := fenced("calls", prompt):
        return _evidence_of_calls(calls)
    passed = re.search("every assertion that (it|was) reached held", prompt)
    return 1 if passed and "proves nothing" not in prompt else None


def _evidence_of_calls(calls: str) -> int | None:
    """Return 0 where a call that two readers agree on gave another value, 1 where all held.

    A value that the first reading contradicts, since the code gives another one, says nothing.
    """
    lines = [line.split(" | ") for line in calls.splitlines()]
    held = {line[0].partition(" => ")[0] for line in lines if line[1:2] == ["the code gave that"]}
    for line in lines:
        is_contradicted = line[0].partition(" => ")[0] in held
        if len(line) == len(("claim", "given", "read")) and not is_contradicted:
            claimed, read = line[0].partition(" => ")[2], line[2].rpartition("demands ")[2]
            if claimed == read:
                return 0
    given = [line[1] for line in lines if len(line) > 1]
    return 1 if given and all("gave that" in one for one in given) else None


def _chance(*parts: str) -> float:
    return float.fromhex(f"0x0.{digest(*parts)}")
