"""Laws of the fixer: what it installs, what it takes over, what it does not try again."""

import pytest

from agents.evidence import Draft
from agents.roles.fix import Fixer, install, run_commands
from agents.roles.read import Simulator
from infra.records import ExecutionResult
from sandbox.base import InstallResult, ShellResult
from tests.agents.conftest import Bench, repair, rule
from tests.fakes.sandbox import PASSED, FakeBox, lacks, raised

DRAFT = Draft(reading="r", program="import yaml")


def box(*installable: str) -> FakeBox:
    return FakeBox(lambda program, installed: PASSED, frozenset(installable))


async def fixed(
    bench: Bench, draft: Draft, result: ExecutionResult, place: FakeBox
) -> Draft | None:
    return await Fixer(bench.model()).fix(bench.pair, draft, result, place)


async def mend(bench: Bench, draft: Draft, result: ExecutionResult, place: FakeBox) -> Draft:
    mended = await fixed(bench, draft, result, place)
    assert mended is not None
    return mended


async def test_a_failed_installation_is_told_to_the_model_and_not_tried_again(bench: Bench) -> None:
    server = bench.serve([rule("fixer", repair("replace_program", "import target"))])
    mended = await mend(bench, DRAFT, lacks("yaml"), box())
    assert mended.program == "import target"
    failed = mended.repairs[0]
    assert (failed.command, failed.output) == ("install PyYAML", "no such distribution")
    told = f"{failed.command}: {failed.output}"
    assert told in server.calls[0]["messages"][1]["content"]
    again = await mend(bench, mended, lacks("yaml"), box("PyYAML"))
    assert again.requirements == ()


async def test_the_target_is_never_installed(bench: Bench) -> None:
    bench.serve([rule("fixer", repair("give_up"))])
    place = box("target")
    assert await fixed(bench, DRAFT, lacks("target"), place) is None
    assert place.installed == frozenset()


@pytest.mark.parametrize("name", ["numpy", "PyYAML==6.0.1", "a.b_c-d"])
async def test_a_proposed_distribution_is_installed(bench: Bench, name: str) -> None:
    bench.serve([rule("fixer", repair("install", f" {name}\n"))])
    mended = await mend(bench, DRAFT, raised(), box(name))
    assert mended.requirements == (name,)


@pytest.mark.parametrize(
    "name", ["--index-url=http://evil", "-r /etc/passwd", "git+https://x/y", "a b", "../x", "", "."]
)
async def test_only_names_of_distributions_reach_the_installer(bench: Bench, name: str) -> None:
    bench.serve([rule("fixer", repair("install", name))])
    place = box(name, name.strip())
    mended = await mend(bench, DRAFT, raised(), place)
    assert mended.runs_like(DRAFT)
    assert "not the name of a distribution" in mended.repairs[0].output
    assert place.installed == frozenset()


@pytest.mark.parametrize(
    "lines", ["import os\nos.remove('x')", "def f(): ...", "", "import", "x = 1", "\x00"]
)
async def test_only_imports_are_added_as_imports(bench: Bench, lines: str) -> None:
    bench.serve([rule("fixer", repair("add_import", lines))])
    mended = await mend(bench, DRAFT, raised(), box())
    assert mended.program == DRAFT.program
    assert "not import statements alone" in mended.repairs[0].output


async def test_an_import_stands_behind_those_from_the_future(bench: Bench) -> None:
    later = "from __future__ import annotations"
    bench.serve([rule("fixer", repair("add_import", "import os\nimport re"))])
    draft = DRAFT.model_copy(update={"program": f"{later}\n{SOUND.program}"})
    mended = await mend(bench, draft, raised(), box())
    assert mended.program == f"{later}; import os; import re\n{SOUND.program}"


SOUND = Draft(reading="r", program="from target import backwards\nassert backwards('ab') == 'ba'")


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        (SOUND.program.replace("'ba'", "'ab'"), "changes what the assertions demand"),
        ("from target import backwards", "changes what the assertions demand"),
        (f"{SOUND.program}\nassert True", "changes what the assertions demand"),
        (f"def backwards(text): return 'ba'\n{SOUND.program}", "defines backwards"),
        ("assert backwards('ab') == 'ba'", "does not import the code"),
        ("from target import (", "no Python"),
    ],
)
async def test_a_repair_touches_neither_the_target_nor_the_demands(
    bench: Bench, program: str, problem: str
) -> None:
    bench.serve([rule("fixer", repair("replace_program", program))])
    mended = await mend(bench, SOUND, raised(), box())
    assert mended.program == SOUND.program
    assert problem in mended.repairs[0].output


RAISES = "import pytest\nfrom target import backwards\nassert backwards('a') == 'a'\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("with pytest.raises(ValueError):\n    backwards(1)", "backwards(1)"),
        ("with pytest.raises(ValueError):\n    backwards(1)", ""),
        (
            "with pytest.raises(ValueError):\n    backwards(1)",
            "with pytest.raises(ValueError):\n    raise ValueError",
        ),
        (
            "with pytest.raises(ValueError):\n    backwards(1)",
            "with pytest.raises(Exception):\n    backwards(1)",
        ),
        ("pytest.raises(ValueError, backwards, 1)", ""),
        ("with raises(ValueError):\n    backwards(1)", "backwards(1)"),
        ("with self.assertRaises(ValueError):\n    backwards(1)", "backwards(1)"),
        (
            "with self.assertRaises(ValueError):\n    backwards(1)",
            "with self.assertRaises(ValueError):\n    raise ValueError",
        ),
        ("assert_equal(backwards('ab'), 'ba')", ""),
        ("if backwards('ab') != 'ba':\n    pytest.fail('other')", ""),
    ],
)
async def test_no_repair_drops_or_loosens_a_demand_for_an_exception(
    bench: Bench, before: str, after: str
) -> None:
    draft = Draft(reading="r", program=RAISES + before)
    bench.serve([rule("fixer", repair("replace_program", RAISES + after))])
    mended = await mend(bench, draft, raised("Failed"), box())
    assert mended.program == draft.program
    assert "changes what the assertions demand" in mended.repairs[0].output


async def test_a_demand_for_an_exception_may_stand_elsewhere(bench: Bench) -> None:
    demand = "with pytest.raises(ValueError):\n    backwards(1)"
    better = f"{RAISES}if True:\n    " + demand.replace("\n", "\n    ")
    bench.serve([rule("fixer", repair("replace_program", better))])
    draft = Draft(reading="r", program=RAISES + demand)
    mended = await mend(bench, draft, raised(), box())
    assert mended.program == better


async def test_the_surroundings_of_the_assertions_may_be_repaired(bench: Bench) -> None:
    better = f"import sys\nif sys:\n    {SOUND.program.replace(chr(10), chr(10) + '    ')}"
    bench.serve([rule("fixer", repair("replace_program", better))])
    mended = await mend(bench, SOUND, raised(), box())
    assert mended.program == better


async def test_a_program_that_is_no_python_may_be_replaced_by_any(bench: Bench) -> None:
    broken = Draft(reading="r", program="assert backwards('ab' == 'ba'")
    bench.serve([rule("fixer", repair("replace_program", SOUND.program))])
    mended = await mend(bench, broken, raised("SyntaxError"), box())
    assert mended.program == SOUND.program


@pytest.mark.parametrize(
    "earlier",
    [
        ("install PyYAML-extras", "no such distribution"),
        ("install types-PyYAML", "no such distribution"),
        ("install x", "conflicts with PyYAML 6"),
        ("install PyYAML==99", "no such version"),
        ("add_import 'import PyYAML'", "no such thing"),
        ("replace_program", "it imports PyYAML"),
    ],
)
async def test_a_name_in_an_earlier_message_does_not_skip_its_installation(
    bench: Bench, earlier: tuple[str, str]
) -> None:
    server = bench.serve([rule("fixer", repair("give_up"))])
    draft = DRAFT.with_repair(*earlier, ok=False)
    mended = await mend(bench, draft, lacks("yaml"), box("PyYAML"))
    assert mended.requirements == ("PyYAML",)
    assert server.calls == []


@pytest.mark.parametrize("installed", [True, False])
async def test_what_was_installed_or_could_not_be_is_not_tried_again(
    bench: Bench, installed: bool
) -> None:
    tried = DRAFT.with_repair("install PyYAML", "no wheel", ok=False)
    if installed:
        tried = DRAFT.model_copy(update={"requirements": ("PyYAML",)})
    bench.serve([rule("fixer", repair("give_up"))])
    place = box("PyYAML")
    assert await fixed(bench, tried, lacks("yaml"), place) is None
    assert place.installed == frozenset()


async def test_each_repair_in_vain_is_told_in_a_short_line(bench: Bench) -> None:
    server = bench.serve([rule("fixer", repair("give_up"))])
    draft = DRAFT.with_repair("install a", "x" * 999, ok=False).with_repair("install b")
    await fixed(bench, draft, raised("KeyError"), box())
    told = server.calls[0]["messages"][1]["content"]
    assert f"\ninstall a: {'x' * 289}\ninstall b: done, but it ended by KeyError" in told


LENGTHS = (0, 3_999, 4_000, 4_001, 10_001, 60_000)


class TalkativeBox(FakeBox):
    """A box whose commands and installations print so many characters, and their end."""

    def __init__(self, length: int) -> None:
        super().__init__(lambda program, installed: PASSED, frozenset())
        self._printed = "x" * length + "END"

    async def install(self, requirements: object) -> InstallResult:
        return InstallResult(ok=False, message=self._printed)

    async def shell(self, line: str) -> ShellResult:
        return ShellResult(status=1, output=self._printed)


@pytest.mark.parametrize("length", LENGTHS)
async def test_a_prediction_of_any_length_is_a_result(bench: Bench, length: int) -> None:
    bench.serve([rule("simulator", {"reply": {"outcome": "raised", "message": "m" * length}})])
    result = await Simulator(bench.model()).run(bench.pair, DRAFT)
    assert result.message == "m" * min(length, 10_000)


@pytest.mark.parametrize("length", LENGTHS)
async def test_an_output_of_any_length_is_a_step_that_keeps_its_end(length: int) -> None:
    box = TalkativeBox(length)
    draft = await run_commands(DRAFT, ("true", "c" * length), box)
    failed = await install("PyYAML", draft, box)
    assert len(failed.repairs) == 3
    for step in failed.repairs:
        assert step.output.endswith("END")
        assert len(step.output) == min(length + 3, 4_000)
