"""One table of codes and programs that notice nothing, which the gates of each language refuse.

Right programs on right codes pass. Covers `agents.gates.validator` and
`agents.gates.program_trees`.
"""

import tomllib
from collections.abc import Collection
from pathlib import Path

import pytest

from agents.claims.executed import EXECUTED
from agents.evidence import Draft
from agents.gates import Gate
from agents.gates.validator import OracleValidator, ProgramRun
from infra.languages import language_named
from infra.records import Record
from infra.settings import GateSettings
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS

ROOMY = LIMITS.model_copy(update={"memory_mb": 512, "timeout_s": 30.0, "ready": 0})
HEADS = {
    "python": "from target import f\ndef test_it():\n    items = [1, 2, 4]\n    ",
    "javascript": "const assert = require('assert');\nconst { f } = require('target');\n"
    "function test_it() {\n  const items = [1, 2, 4];\n  ",
    "go": "func TestIt(t *testing.T) {\n\titems := []int{1, 2, 4}\n\t",
}
ENDS = {"python": "\n", "javascript": "\n}\n", "go": "\n}\n"}


class Row(Record):
    """A code and bodies of programs in one language, and the gate that refuses them."""

    language: str
    gate: str
    code: str
    bodies: tuple[str, ...]


TABLE = tomllib.loads(Path(__file__).with_name("three_languages.toml").read_text("utf-8"))
ROWS = [Row.model_validate(row) for row in TABLE["rows"]]


async def faults_of(row: Row) -> list[tuple[str, Collection[str]]]:
    """Return the faults of each program by a row's gate: by both where it shall have none."""
    language = language_named(row.language)
    assert language is not None
    validator = OracleValidator(GateSettings(), language, EXECUTED[language.name].rules)
    found: list[tuple[str, Collection[str]]] = []
    module = language.with_support_code(row.code, "", scaffolding=True)
    async with (
        real_sandbox(ROOMY) as sandbox,
        sandbox.box(module, language=row.language) as box,
    ):
        for body in row.bodies:
            program = f"{HEADS[row.language]}{body}{ENDS[row.language]}"
            result = await box.run(program)
            assert result.outcome == "passed", (body, result)
            draft = Draft(reading="r", program=program)
            run = ProgramRun(row.code, draft, result, box, 30.0)
            faults: list[str] = []
            if row.gate != Gate.PASSES_APART:
                faults += await validator._faults_of_emptiness(run)
            if row.gate != Gate.KILLS_MUTANTS and "faults" in await validator._run_apart(run):
                faults.append(Gate.PASSES_APART)
            found.append((body, faults))
    return found


# By tier: Python's, of each gate the first in JavaScript, which takes a minute, and all others.
TIERS: dict[str, tuple[pytest.MarkDecorator, ...]] = {
    "python": (), "javascript": (pytest.mark.exhaustive,),
}  # fmt: skip
FIRST = {(row.language, row.gate): row for row in reversed(ROWS) if row.language in TIERS}.values()


@pytest.mark.docker
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, marks=TIERS[row.language] if row in FIRST else pytest.mark.nightly)
        for row in ROWS
    ],
)
async def test_a_program_that_notices_nothing_is_refused_in_each_language(row: Row) -> None:
    found = await faults_of(row)
    assert [(body, faults) for body, faults in found if row.gate not in (faults or [""])] == []
