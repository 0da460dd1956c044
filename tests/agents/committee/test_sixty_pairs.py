"""Sixty functions in JavaScript and Go as projects have them are judged as is known.

Half of them have a mistake that is easily overlooked. Each agent tells the truth where it is asked
what it can know: what the query demands, not what a code gives; only an arbiter knows the label.
With ``COSQA_BUSY=6`` so many processes that never rest run beside them, and labels and supports
are the same. Covers `agents.claims.languages` and `agents.gates.syntax_tree_rules`.
"""

import asyncio
import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents.claims.claim import claims_in
from infra.records import Annotation, Code, Pair, Query, Record
from tests.agents.committee.test_boxed_languages import LIMITS_HERE, adapter_of
from tests.agents.conftest import Bench
from tests.bench.bench_judgement import busy
from tests.fakes.llm_server import ScriptedServer, fenced
from tests.real_sandbox import real_sandbox


class Row(Record):
    """A query with code that answers it, and a mistake: a part of it and what stands there then."""

    language: str
    subject: str
    query: str
    name: str
    right: str
    wrong: tuple[str, str]
    takes: str = ""
    gives: str = ""
    answer: str = ""
    examples: str = ""
    program: str = ""
    blind: str = ""
    support: str = "valid_oracle"

    @property
    def codes(self) -> dict[str, int]:
        """Each code, as agents are shown it, with its label."""
        return {self.right.strip(): 1, self.right.replace(*self.wrong).strip(): 0}

    def adapter(self) -> str:
        """Return the adapter, "" where there are programs."""
        given = {name: part for name, part in self.model_dump().items() if part}
        return adapter_of(given, given) if self.examples else ""


TABLE = tomllib.loads(Path(__file__).with_name("sixty_pairs.toml").read_text("utf-8"))
ROWS = {(row.language, row.query): row for row in map(Row.model_validate, TABLE["queries"])}


class Truthful(ScriptedServer):
    """Agents who know what the queries of the table in one language demand."""

    language = ""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        if call["role"] == "probe":  # the client counts a prompt's tokens
            return {"reply": {"verdict": "yes"}}
        row, user = ROWS[self.language, call["query"]], call["messages"][1]["content"]
        demanded = {one.arguments: one.value for one in claims_in(row.examples, 8)}
        label = row.codes.get(call["code"].strip())
        replies: dict[str, dict[str, Any]] = {
            "specifier": {
                "reading": row.query, "demands": row.query, "left_open": "",
                "examples": row.examples, "clarity": "clear",
            },
            "screener": {
                "reason": "r", "verdict": "unclear_behaviour", "adapter": row.adapter(), "call": "",
            },
            "value_reader": {"reason": "r", "value": demanded.get(fenced("arguments", user))},
            "writer": {"reading": row.query, "beside": "", "program": row.program},
            "blind_writer": {"reading": row.query, "beside": "", "program": row.blind},
            "fixer": {"diagnosis": "unknown", "action": "give_up", "content": ""},
        }  # fmt: skip
        verdict = "answers" if label else "does_not_answer"
        return {"reply": replies.get(call["role"], {"reason": "r", "verdict": verdict})}


class JavaScriptAgents(Truthful):
    """Those of JavaScript."""

    language = "javascript"


class GoAgents(Truthful):
    """Those of Go."""

    language = "go"


AGENTS = {"javascript": JavaScriptAgents, "go": GoAgents}
# Of each subject one; all take minutes, and Go makes an image.
ALWAYS = ("parseAll", "debounce", "fibonacci", "createStack", "appendLine", "envFlag")
NAMES = {
    language: [row.name for (its, _), row in ROWS.items() if its == language] for language in AGENTS
}


def refutes(annotation: Annotation) -> bool:
    """Return whether a valid program failed on a code, whatever label that has."""
    ends = [(one.oracle, one.result.outcome) for one in annotation.executions]
    return any(oracle and not oracle.faults and end != "passed" for oracle, end in ends)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("language", "names"),
    [
        ("javascript", ALWAYS),
        *(pytest.param(*one, marks=pytest.mark.nightly, id=one[0]) for one in NAMES.items()),
    ],
)
async def test_sixty_pairs_are_judged_as_is_known_and_no_right_code_is_refuted(
    bench: Bench, language: str, names: Collection[str]
) -> None:
    rows = [row for (its, _), row in ROWS.items() if its == language and row.name in names]
    pairs = [(row, code, label) for row in rows for code, label in row.codes.items()]
    bench.serve([], AGENTS[language])
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        judging = (
            committee.judge(Pair(query=Query.of(row.query), code=Code.of(code, language=language)))
            for row, code, _ in pairs
        )
        with busy(int(os.environ.get("COSQA_BUSY", "0"))):
            made = await asyncio.gather(*judging)
    for (row, _, label), one in zip(pairs, made, strict=True):
        print(row.name, label, one.label, one.path, one.support, f"{one.seconds:.0f} s", one.reason)
    assert [
        (row.name, one.label, one.support, refutes(one))
        for (row, *_), one in zip(pairs, made, strict=True)
    ] == [
        (row.name, label, row.support, not label and row.support == "valid_oracle")
        for row, _, label in pairs
    ]


def test_there_are_sixty_pairs_of_nine_subjects() -> None:
    assert sum(len(row.codes) for row in ROWS.values()) == 60
    assert len({row.subject for row in ROWS.values()}) == 9
    assert all(row.right.count(row.wrong[0]) == 1 for row in ROWS.values())
    assert all(bool(row.examples) != bool(row.program) for row in ROWS.values())
