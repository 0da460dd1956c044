"""JavaScript and Go are judged by claims and programs that run in boxes, as the known answers say.

Among them are sixty functions as projects have them, half of which have a mistake that is easily
overlooked. There each agent tells the truth where it is asked what it can know: what the query
demands, not what a code gives; only an arbiter knows the label. With ``COSQA_BUSY=6`` so many
processes that never rest run beside them, and labels and supports are the same.

Covers `agents.claims.languages`,
`agents.gates.syntax_tree_rules` and `agents.gates`.
"""

import asyncio
import itertools
import os
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from agents import Committee
from agents.claims.claim import claims_in
from agents.claims.executed import is_claims_program
from infra.records import Annotation, Code, Pair, Query, Record
from tests.agents.conftest import Bench, rule
from tests.bench.bench_judgement import busy
from tests.fakes.llm_server import ScriptedServer, fenced
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS


def rows_of(language: str) -> list[dict[str, str]]:
    table = tomllib.loads(Path(__file__).with_name(f"{language}_pairs.toml").read_text("utf-8"))
    rows: list[dict[str, str]] = table["queries"]
    return rows


ROWS = {language: rows_of(language) for language in ("javascript", "go")}
LIMITS_HERE = LIMITS.model_copy(update={"memory_mb": 512, "timeout_s": 20.0, "ready": 0})
DEMANDED = {
    (row["query"], claim.arguments): claim.value
    for row in itertools.chain(*ROWS.values())
    for claim in claims_in(row["examples"], 8)
}


class Reading(ScriptedServer):
    """A second reader who demands what the query does."""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        if call["role"] != "value_reader":
            return super()._step(call)
        arguments = fenced("arguments", call["messages"][1]["content"])
        return {"reply": {"reason": "r", "value": DEMANDED[call["query"], arguments]}}


def adapter_of(row: dict[str, str], code: dict[str, str]) -> str:
    is_go = "gives" in row
    taken = row["takes"].split(",")
    names = ", ".join(part.split()[0] for part in taken) if is_go else row["takes"]
    body = row.get("answer", f"return {code['name']}({names})")
    body = body.replace(row["name"], code["name"])
    if is_go:
        return f"func answer({row['takes']}) {row['gives']} {{\n\t{body}\n}}"
    start = "async " if "await" in body else ""
    return f"{start}function answer({row['takes']}) {{\n  {body}\n}}"


def screened(row: dict[str, str], code: dict[str, str], verdict: str) -> dict[str, Any]:
    reply = {"reason": "r", "verdict": verdict, "adapter": adapter_of(row, code), "call": ""}
    return rule("screener", {"reply": reply}, query=row["query"], code=code["name"])


def specified(row: dict[str, str]) -> dict[str, Any]:
    reply = {"reading": row["query"], "demands": row["query"], "left_open": "", "clarity": "clear"}
    reply |= {"examples": row["examples"]}
    return rule("specifier", {"reply": reply}, query=row["query"])


async def judged(committee: Committee, row: dict[str, str], code: str, language: str) -> Annotation:
    pair = Pair(query=Query.of(row["query"]), code=Code.of(code, language=language))
    return await committee.judge(pair)


def script(rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    rules = [rule("claims_arbiter", {"reply": {"reason": "r", "verdict": "does_not_answer"}})]
    for place, row in enumerate(rows):
        other = rows[(place + 1) % len(rows)]
        rules += [
            specified(row),
            screened(row, row, "unclear_behaviour"),
            screened(row, other, "clear_non_match"),
        ]
    return rules


def of_claims(annotation: Annotation) -> tuple[str, int | None, str | None, str]:
    return annotation.path, annotation.label, annotation.decided_by, annotation.support


@pytest.mark.exhaustive
@pytest.mark.docker
@pytest.mark.parametrize(
    "language",
    ["javascript", pytest.param("go", marks=pytest.mark.nightly)],  # it makes an image
)
async def test_claims_are_run_on_right_code_and_on_a_mutant(bench: Bench, language: str) -> None:
    row = ROWS[language][0]
    bench.serve(script(ROWS[language]), Reading)
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        right = await judged(committee, row, row["right"], language)
        assert of_claims(right) == ("claims_hold", 1, "claims", "valid_oracle"), right.reason
        (run,) = right.executions
        assert run.oracle is not None
        assert run.oracle.protection == "separate"
        assert run.oracle.killed >= 2
        assert is_claims_program(run.program)
        wrong = await judged(committee, row, row["wrong"], language)
        assert of_claims(wrong) == ("claims_fail", 0, "claims", "valid_oracle"), wrong.reason


@pytest.mark.docker
async def test_no_other_adapter_is_asked_for_a_name_that_the_code_lacks(bench: Bench) -> None:
    row = ROWS["javascript"][0]
    rules = [
        *script(ROWS["javascript"]),
        rule("writer", {"reply": {"reading": "r", "program": ""}}),
    ]
    bench.serve([*rules, rule("arbiter", {"reply": {"reason": "r", "verdict": "answers"}})])
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        code = row["right"].replace("{", "{\n  check();", 1)
        made = await judged(committee, row, code, "javascript")
    assert [call.role for call in made.calls] == ["specifier", "screener", "writer", "arbiter"]


@pytest.mark.exhaustive
@pytest.mark.docker
@pytest.mark.parametrize(
    "language",
    ["javascript", pytest.param("go", marks=pytest.mark.nightly)],  # it makes an image
)
@pytest.mark.parametrize("place", [0, 1])
async def test_claims_run_by_a_plain_call_where_there_is_no_adapter(
    bench: Bench, language: str, place: int
) -> None:
    row, silent = ROWS[language][place], {"reason": "r", "adapter": "", "call": ""}
    said = {"unclear_behaviour": row["right"], "clear_non_match": row["wrong"]}
    async with real_sandbox(LIMITS_HERE) as sandbox:
        for verdict, code in said.items():
            bench.serve(
                [specified(row), rule("screener", {"reply": silent | {"verdict": verdict}})]
            )
            committee = bench.committee(sandbox, configuration="spec", evidence="read")
            made = await judged(committee, row, code, language)
            path, label = ("claims_hold", 1) if code == row["right"] else ("claims_fail", 0)
            assert of_claims(made) == (path, label, "claims", "valid_oracle"), made.reason
            assert [call.role for call in made.calls] == ["specifier", "screener"]


@pytest.mark.docker
async def test_no_other_adapter_is_asked_for_where_the_language_cannot_say_a_claim(
    bench: Bench,
) -> None:
    row = ROWS["javascript"][0] | {"examples": "b'ab', 1 => b'ba'\n{1: 2}, 1 => [1j]"}
    bench.serve([specified(row), screened(row, row, "clear_match")], Reading)
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        made = await judged(committee, row, row["right"], "javascript")
    run, _ = made.executions  # by the adapter, then by a plain call
    assert {case.message.partition(":")[0] for case in run.result.tests} == {
        "not said in JavaScript"
    }
    assert bench.server.count("screener") == 1


PROGRAMS = {
    "javascript": """const assert = require('assert');
const { rotate } = require('target');
function test_within_the_length() {
  assert.deepStrictEqual(rotate([1, 2, 3], 1), [2, 3, 1]);
}
function test_beyond_it() {
  assert.deepStrictEqual(rotate([1, 2, 3], 4), [2, 3, 1]);
  assert.deepStrictEqual(rotate([], 1), []);
}
""",
    "go": """func check(t *testing.T, got, want []int) {
	t.Helper()
	if len(got) != len(want) || (len(got) > 0 && !reflect.DeepEqual(got, want)) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRotate(t *testing.T) {
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			check(t, Rotate([]int{1, 2, 3}, n), []int{2, 3, 1})
		})
	}
	check(t, Rotate(nil, 1), nil)
}
""",
}


def blindly(program: str) -> str:
    other = program.replace("1, 2, 3", "5, 6, 7, 8").replace("2, 3, 1", "6, 7, 8, 5")
    return other.replace("4)", "5)").replace("1, 4}", "1, 5}")


@pytest.mark.docker
@pytest.mark.nightly  # it runs for a minute
@pytest.mark.parametrize("language", ROWS)
@pytest.mark.parametrize(("kind", "verdict"), [("right", "answers"), ("wrong", "does_not_answer")])
async def test_a_program_is_written_run_and_weighed(
    bench: Bench, kind: str, verdict: str, language: str
) -> None:
    row, program = ROWS[language][0], PROGRAMS[language]
    undecided = {"reason": "r", "verdict": "unclear_behaviour", "adapter": "", "call": ""}
    written = {"reading": "r", "beside": "", "program": program}
    bench.serve(
        [
            specified(row),
            rule("screener", {"reply": undecided}),
            rule("writer", {"reply": written}),
            rule("blind_writer", {"reply": {**written, "program": blindly(program)}}),
            rule("arbiter", {"reply": {"reason": "r", "verdict": verdict}}),
        ]
    )
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        made = await judged(committee, row, row[kind], language)
    assert (made.label, made.support) == (kind == "right", "valid_oracle"), made
    assert all(one.oracle and one.oracle.faults == {} for one in made.executions)
    assert len(made.executions) == (1 if kind == "right" else 2)
    assert all("Python 3" not in call["messages"][0]["content"] for call in bench.server.calls)


@pytest.mark.docker
@pytest.mark.nightly  # 30 pairs take minutes
@pytest.mark.parametrize("language", ROWS)
async def test_thirty_pairs_are_judged_as_is_known(bench: Bench, language: str) -> None:
    rows = ROWS[language]
    bench.serve(script(rows), Reading)
    pairs = []
    for place, row in enumerate(rows):
        other = rows[(place + 1) % len(rows)]
        codes = {"right": row["right"], "mutant": row["wrong"], "another": other["right"]}
        pairs += [(row, kind, code) for kind, code in codes.items()]
    async with real_sandbox(LIMITS_HERE) as sandbox:
        committee = bench.committee(sandbox, configuration="spec", evidence="read")
        judging = (judged(committee, row, code, language) for row, _, code in pairs)
        made = await asyncio.gather(*judging)
    ends = {
        (row["query"], kind): (one.label, one.path, one.support, one.reason)
        for (row, kind, _), one in zip(pairs, made, strict=True)
    }
    wrong = {key: end for key, end in ends.items() if end[0] != (key[1] == "right")}
    print(*ends.items(), sep="\n")
    assert not wrong
    paths = Counter((kind, path) for (_, kind), (_, path, *_) in ends.items())
    assert paths["right", "claims_hold"] == len(rows), ends


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
SIXTY = {(row.language, row.query): row for row in map(Row.model_validate, TABLE["queries"])}


class Truthful(ScriptedServer):
    """Agents who know what the queries of the table in one language demand."""

    language = ""

    def _step(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        if call["role"] == "probe":  # the client counts a prompt's tokens
            return {"reply": {"verdict": "yes"}}
        row, user = SIXTY[self.language, call["query"]], call["messages"][1]["content"]
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
# Of values, effects and time one each; all take minutes, and Go makes an image.
ALWAYS = ("parseAll", "debounce", "appendLine")
NAMES = {
    language: [row.name for (its, _), row in SIXTY.items() if its == language]
    for language in AGENTS
}


def refutes(annotation: Annotation) -> bool:
    """Return whether a valid program failed on a code, whatever label that has."""
    ends = [(one.oracle, one.result.outcome) for one in annotation.executions]
    return any(oracle and not oracle.faults and end != "passed" for oracle, end in ends)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("language", "names"),
    [
        pytest.param("javascript", ALWAYS, marks=pytest.mark.exhaustive),
        *(pytest.param(*one, marks=pytest.mark.nightly, id=one[0]) for one in NAMES.items()),
    ],
)
async def test_sixty_pairs_are_judged_as_is_known_and_no_right_code_is_refuted(
    bench: Bench, language: str, names: Collection[str]
) -> None:
    rows = [row for (its, _), row in SIXTY.items() if its == language and row.name in names]
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
    assert sum(len(row.codes) for row in SIXTY.values()) == 60
    assert len({row.subject for row in SIXTY.values()}) == 9
    assert all(row.right.count(row.wrong[0]) == 1 for row in SIXTY.values())
    assert all(bool(row.examples) != bool(row.program) for row in SIXTY.values())
