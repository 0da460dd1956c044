"""Rounds of change for a store, and a naive account of what must be judged after each.

The account shares no code with the program: it keeps every judgement in a dictionary and compares
each candidate with each of them. A scripted model answers by digests of what it is asked, so that
the account knows its answers beforehand.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from infra.settings import Reason
from tests.fakes.llm_server import KEY, ScriptedServer, _found, fenced

ROLES = ("screener", "writer", "arbiter")


def version_line(version: int) -> str:
    """Return what stands at the end of the prompt of a role in a version; nothing in the first."""
    return f"\nPrompt version {version}." if version else ""


def number_of(*parts: object) -> int:
    return int(hashlib.sha256(repr(parts).encode()).hexdigest(), 16)


class Key(NamedTuple):
    """A query's and a code's text."""

    query: str
    code: str


@dataclass(frozen=True)
class State:
    """What labels depend on: the model, and the versions of the agents' prompts."""

    model: str = "m1"
    screener: int = 0
    writer: int = 0
    arbiter: int = 0

    def what_counts(self, met: Sequence[str]) -> tuple[object, ...]:
        """Return the parts that a pair has met."""
        return (self.model, *(getattr(self, role) for role in met))


@dataclass(frozen=True)
class World:
    """Everything that a round can change."""

    queries: tuple[str, ...]
    codes: tuple[str, ...]
    state: State = State()
    is_broken: bool = False
    take: tuple[Reason, ...] = ()
    pairs: int | None = None
    limits: Mapping[Reason, int] = field(default_factory=dict)


# What the model says ---------------------------------------------------------------------------


def screened(state: State, key: Key) -> str:
    verdicts = ("clear_match", "clear_non_match", "unclear")
    return verdicts[number_of(state.model, "screener", state.screener, key) % 3]


def program(state: State, key: Key) -> str:
    return f"program {number_of(state.model, 'writer', state.writer, key) % 10**8}"


def arbitrated(state: State, key: Key, written: str) -> int:
    return number_of(state.model, "arbiter", state.arbiter, key, written) % 2


def is_refused(key: Key) -> bool:
    """Return whether a broken model gives no program for a pair."""
    return number_of("broken", key) % 2 == 0


class DigestServer(ScriptedServer):
    """A model whose verdicts follow from model, role, prompt version and pair."""

    def __init__(self) -> None:
        super().__init__([])
        self.is_broken = False

    def answer(self, request: dict[str, Any], key: str) -> Mapping[str, Any]:
        assert key == KEY
        system, user = (message["content"] for message in request["messages"][:2])
        role = _found(r"\ARole: (\w+)", system)
        found = re.search(r"Prompt version (\d+)\.", system)
        state = State(model=request["model"], **{role: int(found[1]) if found else 0})
        pair = Key(fenced("query", user), fenced("code", user))
        self.calls.append({"role": role, "pair": pair, "model": state.model})
        if role == "writer" and self.is_broken and is_refused(pair):
            return {"status": 503, "message": "out of order"}
        if role == "screener":
            return {"reply": {"reason": "r", "verdict": screened(state, pair)}}
        if role == "writer":
            return {"reply": {"reading": "r", "program": program(state, pair)}}
        label = arbitrated(state, pair, fenced("program", user))
        return {"reply": {"reason": "r", "verdict": ("does_not_answer", "answers")[label]}}


# The naive account -----------------------------------------------------------------------------


class Judgement(NamedTuple):
    """What became of a pair under a state: a label, None if it failed, and the agents it met."""

    label: int | None
    met: tuple[str, ...]


def judged(state: State, key: Key, *, is_broken: bool) -> Judgement:
    """Return what the agents say of a pair, as Algorithm 1 has it where no program is run."""
    verdict = screened(state, key)
    if verdict != "unclear":
        return Judgement(int(verdict == "clear_match"), ("screener",))
    if is_broken and is_refused(key):
        return Judgement(None, ("screener", "writer"))
    return Judgement(arbitrated(state, key, program(state, key)), ROLES)


class Account:
    """All judgements that were made, all searches, and all replies that were paid for."""

    def __init__(self) -> None:
        self.judgements: dict[Key, dict[State, Judgement]] = {}
        self.searches: dict[str, set[Key]] = {}
        self.used: list[State] = []  # the last one last
        self.replies: set[tuple[object, ...]] = set()

    def is_fresh(self, key: Key, state: State) -> bool:
        return any(
            judgement.label is not None
            and former.what_counts(judgement.met) == state.what_counts(judgement.met)
            for former, judgement in self.judgements.get(key, {}).items()
        )

    def is_known(self, query: str, search: str) -> bool:
        return any(
            key.query == query
            and any(item.label is not None for item in self.judgements.get(key, {}).values())
            for other, keys in self.searches.items()
            if other != search
            for key in keys
        )

    def reason(self, key: Key, state: State, search: str) -> Reason:
        own = self.judgements.get(key, {})
        labels = {item.label for item in own.values() if item.label is not None}
        if state in own and own[state].label is None:
            return "failed"
        if len(labels) > 1:
            return "disagreement"
        if labels:
            return "outdated"
        return "new_codes" if self.is_known(key.query, search) else "new_queries"

    def pending(
        self, candidates: Sequence[Key], state: State, search: str
    ) -> dict[Reason, list[Key]]:
        """Return reason → pairs, in the order of the candidates."""
        found: dict[Reason, list[Key]] = {}
        for key in candidates:
            if not self.is_fresh(key, state):
                found.setdefault(self.reason(key, state, search), []).append(key)
        return found

    def chosen(self, pending: Mapping[Reason, Sequence[Key]], world: World) -> list[Key]:
        """Return the pairs that a run judges, in their order."""
        chosen: list[Key] = []
        for reason in world.take:
            chosen += pending.get(reason, [])[: world.limits.get(reason, 10**9)]
        return chosen[: world.pairs]

    def judge(self, keys: Iterable[Key], world: World) -> int:
        """Judge pairs; return how many requests that takes, those left out that were answered."""
        requests = 0
        state = world.state
        for key in keys:
            found = judged(state, key, is_broken=world.is_broken)
            self.judgements.setdefault(key, {})[state] = found
            for role in found.met:
                reply: tuple[object, ...] = (state.model, role, getattr(state, role), key)
                if role == "arbiter":
                    reply = (*reply, program(state, key))
                if found.label is None and role == found.met[-1]:
                    requests += 1
                elif reply not in self.replies:
                    requests += 1
                    self.replies.add(reply)
        return requests

    def use(self, state: State) -> None:
        self.used = [*(item for item in self.used if item != state), state]

    def labels(self, candidates: Iterable[Key]) -> dict[Key, int]:
        """Return the label that stands of each candidate: by the state last in use that has one."""
        found = {}
        for key in candidates:
            for state in reversed(self.used):
                own = [
                    item.label
                    for former, item in self.judgements.get(key, {}).items()
                    if item.label is not None
                    and former.what_counts(item.met) == state.what_counts(item.met)
                ]
                if own:
                    assert len(set(own)) == 1, "what rests on the same says the same"
                    found[key] = own[0]
                    break
        return found


# The rounds ------------------------------------------------------------------------------------

EVERYTHING: tuple[Reason, ...] = (
    "new_queries", "new_codes", "requested", "failed", "disagreement", "outdated",
)  # fmt: skip


def query(number: int) -> str:
    return f"how to add {number} to a value in python"


def code(number: int, edition: int = 0) -> str:
    comment = f"  # edition {edition}" if edition else ""
    return f"def plus_{number}(value):{comment}\n    return value + {number}"


def twenty_rounds() -> list[tuple[str, World]]:
    """Return twenty rounds, each by what it changes and the world after it; the last is whole."""
    world = World(tuple(map(query, range(6))), tuple(map(code, range(10))), take=EVERYTHING)
    rounds: list[tuple[str, World]] = []

    def add(name: str, **changes: Any) -> None:
        nonlocal world
        changed = replace(world, **changes)
        rounds.append((name, changed))
        world = replace(changed, take=EVERYTHING, pairs=None, limits={}, is_broken=False)

    def state(**changes: Any) -> State:
        return replace(world.state, **changes)

    add("first build")
    add("nothing changed")
    add("queries added", queries=(*world.queries, query(6), query(7)))
    add("arbiter's prompt", state=state(arbiter=1))
    add("codes changed", codes=(code(0, 1), code(1, 1), *world.codes[2:]))
    add("queries removed", queries=world.queries[1:5] + world.queries[6:])
    add("screener's prompt", state=state(screener=1))
    add("codes added", codes=(*world.codes, code(10), code(11)))
    add("model", state=state(model="m2"))
    add("writer's prompt, with a failing model", state=state(writer=1), is_broken=True)
    add("the model works again")
    add("former model", state=state(model="m1"))
    add("former prompt of the writer", state=state(writer=0))
    add("queries come back", queries=(query(0), query(5), *world.queries))
    add("codes removed", codes=world.codes[3:])
    add(
        "some of the stale pairs", state=state(writer=2), take=("outdated",), limits={"outdated": 4}
    )
    add("the rest of them")
    add("a few pairs of many changes", queries=(*world.queries, query(8)),
        state=state(arbiter=2), pairs=5)  # fmt: skip
    add("new queries alone, with a failing model", queries=(*world.queries, query(9)),
        state=state(model="m3"), take=("new_queries",), is_broken=True)  # fmt: skip
    add("everything")
    return rounds
