"""Claims about files, surroundings and less than a value: right codes hold them, others do not.

Covers `agents.claims.languages`, `agents.claims.program` and the harnesses' surroundings.
"""

import tomllib
from pathlib import Path

import pytest

from agents.claims.claim import claims_in
from agents.claims.executed import EXECUTED
from agents.claims.program import claim_runs
from agents.evidence import Draft
from agents.gates.validator import OracleValidator
from infra.languages import language_named
from infra.records import Code, Pair, Query, Record
from infra.settings import GateSettings
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

ROOMY = LIMITS.model_copy(update={"memory_mb": 512, "timeout_s": 30.0, "ready": 0})
ADAPTERS = {
    "python": "def answer({names}):\n    return f({names})",
    "javascript": "function answer({names}) {{ return f({names}); }}",
    "go": "func answer({takes}) {gives} {{ return f({names}) }}",
}


class Codes(Record):
    """A right code, and mistakes: a part of it and what stands in its place."""

    code: str
    wrong: tuple[tuple[str, str], ...]


class Row(Record):
    """Claims of one kind, with a right code in each language."""

    kind: str
    takes: str
    gives: str
    claims: str
    python: Codes
    javascript: Codes
    go: Codes


TABLE = tomllib.loads(Path(__file__).with_name("three_languages.toml").read_text("utf-8"))
ROWS = [Row.model_validate(row) for row in TABLE["rows"]]
TIERS: dict[str, tuple[pytest.MarkDecorator, ...]] = {
    "python-parts": (),
    "javascript-writes": (pytest.mark.exhaustive,),
    "javascript-contains": (pytest.mark.exhaustive,),
    "javascript-parts": (pytest.mark.exhaustive,),
}  # all take minutes
BY_LANGUAGE = [
    pytest.param(name, row, id=key, marks=TIERS.get(key, pytest.mark.nightly))
    for name in ADAPTERS
    for row in ROWS
    for key in [f"{name}-{row.kind}"]
]


@pytest.mark.docker
@pytest.mark.parametrize(("name", "row"), BY_LANGUAGE)
async def test_claims_hold_on_a_right_code_by_a_valid_program_and_fail_on_wrong_ones(
    name: str, row: Row
) -> None:
    language, codes = language_named(name), getattr(row, name)
    assert language is not None
    claims = claims_in(row.claims, 9)
    assert len(claims) == len(row.claims.strip().splitlines())
    names = ", ".join(part.split()[0] for part in row.takes.split(",") if part)
    adapter = ADAPTERS[name].format(names=names, takes=row.takes, gives=row.gives)
    code = language.with_support_code(codes.code, "", scaffolding=True)
    assert EXECUTED[name].calls.adapter_fault(adapter, code) == ""
    program = EXECUTED[name].calls.claims_program(claims, adapter, code, ())
    async with real_sandbox(ROOMY) as sandbox, sandbox.box(code, language=name) as box:
        result = await box.run(program)
        assert {run.outcome for run in claim_runs(claims, result)} == {"held"}, result
        pair = Pair(query=Query.of(row.kind), code=Code.of(codes.code, language=name))
        validator = OracleValidator(GateSettings(), language, EXECUTED[language.name].rules)
        report = await validator.validate(pair, Draft(reading="r", program=program), result, box)
        assert report.faults == {}
        assert report.protection == "separate"
        for right, wrong in codes.wrong:
            other = language.with_support_code(
                codes.code.replace(right, wrong), "", scaffolding=True
            )
            ended = claim_runs(claims, await box.run(program, code=other))
            assert "failed" in {run.outcome for run in ended}, (wrong, ended)


PROGRAM = """const { own } = require('target');
const given = own || require('target');
function test_it() {
  assert.deepStrictEqual(given(2, [3, 4, 5]), [3, 4]);
  assert.deepStrictEqual(given(0, [3]), []);
}"""


@pytest.mark.docker
@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("exports.own = (n, x) => x.slice(0, n);", ["exports.own", "module.exports.own"]),
        *(
            pytest.param(*row, marks=pytest.mark.exhaustive)
            for row in (
                (
                    "exports = module.exports = (n, x) => x.slice(0, n);",
                    ["module.exports", "exports"],
                ),
                ("export default function (n, x) { return x.slice(0, n); }", ["module.exports"]),
            )
        ),
        *(
            pytest.param(*row, marks=pytest.mark.nightly)
            for row in (
                ("module.exports = function (n, x) { return x.slice(0, n); };", ["module.exports"]),
                (
                    "module.exports = function own(n, x) { return x.slice(0, n); };",
                    ["own", "exports"],
                ),
                ("export default (n, x) => x.slice(0, n);", ["exports"]),
            )
        ),
    ],
)
async def test_what_a_module_exports_is_called_by_its_names(code: str, names: list[str]) -> None:
    language, wrapper = language_named("javascript"), EXECUTED["javascript"].calls
    assert language is not None
    claims = claims_in("[1, 2], 1 => [1]\n[3, 4, 5], 2 => [3, 4]\n[], 1 => []", 9)
    right, wrong = (
        language.with_support_code(text, "", scaffolding=True)
        for text in (code, code.replace("0, n", "1, n"))
    )
    adapters = [f"function answer(items, n) {{ return {name}(n, items); }}" for name in names]
    assert {wrapper.adapter_fault(adapter, code) for adapter in adapters} == {""}
    programs = [wrapper.claims_program(claims, adapter, code, ()) for adapter in adapters]
    pair = Pair(query=Query.of("first"), code=Code.of(code, language="javascript"))
    validator = OracleValidator(GateSettings(), language, EXECUTED[language.name].rules)
    async with real_sandbox(ROOMY) as sandbox, sandbox.box(right, language="javascript") as box:
        results = [await box.run(program) for program in (*programs, PROGRAM)]
        assert {result.outcome for result in results} == {"passed"}
        for program in (*programs, PROGRAM):
            assert (await box.run(program, code=wrong)).outcome == "assertion_failed"
        draft = Draft(reading="r", program=programs[0])
        assert (await validator.validate(pair, draft, results[0], box)).faults == {}
