"""Laws of accepted programs among the behaviours of a store: each is run once on each code.

Covers, in part, `tasks.stages.annotate.behaviours`.
"""

from infra.records import Annotation, Execution, ExecutionResult, MutantRun, OracleReport
from infra.store import annotations
from tasks.runtime.references import RecipeReference
from tests.tasks.stages.annotate.test_behaviours import World, annotation, sandbox, world
from tests.tasks.stages.generate.world import CODES

__all__ = ["sandbox", "world"]  # fixtures

PROGRAM = "from target import plus\n\ndef test_plus():\n    assert plus(1) == 1\n"


def accepted(recipe: RecipeReference, query: int, code: int) -> Annotation:
    """Return an annotation by a program that passed the gates."""
    trials = (MutantRun(change="1 → 2", outcome="assertion_failed"),)
    run = Execution(
        round=1, program=PROGRAM, result=ExecutionResult(outcome="passed"),
        oracle=OracleReport(trials=trials, protection="separate"),
    )  # fmt: skip
    own = annotation(recipe, query, code, 1, is_specified=True)
    changed = {"executions": (*own.executions, run), "decided_by": "arbiter"}
    return own.model_copy(update=changed)


def test_an_accepted_program_is_run_once_on_each_other_code(world: World) -> None:
    world.judge(0, [1, 0])
    annotations.add_annotations(world.database, [accepted(world.recipe, 0, 0)])
    assert world.compare() == 0
    assert world.sandbox.programs.count(PROGRAM) == 1, "not on its own code"
    stored = "SELECT label, list_last(outcomes) FROM code_behaviours ORDER BY label"
    [(_, other), own] = first = world.rows(stored)
    assert own == (1, "passes")
    assert other.startswith("not run: "), "it asserted nothing here"
    [(claims,)] = world.rows("SELECT claims FROM query_behaviours")
    assert claims[-1].startswith(f"program of {CODES[0].code_id}, ")
    annotations.add_annotations(world.database, [accepted(world.recipe, 0, 0)])
    runs = world.sandbox.runs
    assert world.compare() == 0
    assert world.sandbox.runs > runs, "the query is compared anew"
    assert world.sandbox.programs.count(PROGRAM) == 1
    assert world.rows(stored) == first
