"""All that a language needs whose code boxes run: a new row is told what it lacks.

Covers `agents.claims.executed` and `sandbox.executed`.
"""

import inspect
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from agents.claims.adapter import CallAdapter
from agents.claims.claim import claims_in
from agents.claims.executed import EXECUTED, is_claims_program, rules_of
from agents.gates import ProgramRules
from flows.cli.maintenance import sandbox_check
from infra.languages import languages
from sandbox import executed as harnesses

SANDBOX = Path(str(files("sandbox")))
RUN = {name for name in languages.names() if languages.get(name)().is_executed}


def test_each_language_that_boxes_run_has_a_row_in_both_tables_and_no_other_has() -> None:
    assert EXECUTED.keys() == harnesses.EXECUTED.keys() == RUN


@pytest.mark.parametrize("name", sorted(RUN | EXECUTED.keys() | harnesses.EXECUTED.keys()))
def test_a_row_lacks_nothing(name: str) -> None:
    needed = {
        "a contract": SANDBOX / "contract" / f"{name}.toml",
        "an image": SANDBOX / "image" / f"{name}.Dockerfile",
        "inserts of prompts": Path(str(files("agents.roles"))) / f"inserts.{name}.toml",
    }
    if name == "python":  # which the others are made from, or differ from
        del needed["an image"], needed["inserts of prompts"]
    lacking = [what for what, file in needed.items() if not file.is_file()]
    assert not lacking, f"{name} lacks {', '.join(lacking)}"
    command = harnesses.EXECUTED[name].command(0, 512)
    assert bool(command) == (name != "python")
    rules, calls = EXECUTED[name]
    assert isinstance(rules, ProgramRules)
    assert isinstance(calls, CallAdapter)
    assert rules is rules_of(name)
    annotation = inspect.signature(sandbox_check).parameters["language"].annotation
    assert name in get_args(get_args(annotation)[0]), "cosqa sandbox check --language"


def test_code_that_no_box_runs_goes_by_the_rules_of_python() -> None:
    assert rules_of("java") is rules_of("") is rules_of("python")


@pytest.mark.parametrize("name", sorted(EXECUTED))
def test_the_mark_of_a_program_of_claims_is_in_each_that_its_adapter_makes(name: str) -> None:
    adapter = {
        "python": "def answer(x):\n    return f(x)",
        "javascript": "function answer(x) { return f(x); }",
        "go": "func answer(x int) int { return f(x) }",
    }[name]
    program = EXECUTED[name].calls.claims_program(claims_in("1 => 2", 1), adapter, "")
    assert is_claims_program(program)
    assert not is_claims_program("def test_claim_1():\n    assert answer(1) == 2")
