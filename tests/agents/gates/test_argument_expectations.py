"""Laws of programs that work out expected values from arguments."""

import pytest

from agents.gates.argument_expectations import expects_by_arguments
from sandbox.base import Sandbox

EXPECTS = (
    "assert f(x) == sorted(x)",
    "got = f(x)\nassert got == sorted(x)",
    "got = f(x)\nwant = sorted(x)\nassert got == want",
    "got = f(x)\nwant = [one for one in x]\nassert list(got) == want and len(got) == 0",
    "got = list(f(x))\ny = x\nassert got == y",
)
ASKS = (
    "f(x)\nassert x == [1, 2]",
    "assert f(x) is x",
    "got = f(x)\nassert got == x\nassert x == [1, 2]",
    "got = f(x)\nassert got == sorted(x) and not x",
    "got = f(x)\ny = list(x)\nassert y == [1, 2] and got == x",
    "data = {1: x}\ninner = data[1]\ngot = f(inner)\nassert got == inner\nassert data == {1: []}",
    "assert f(x) == [1, 2]",
    "want = [1, 2]\nassert f(x) == want",
    "print x",
)


def test_a_program_expects_what_its_arguments_say_or_asks_for_them() -> None:
    head = "from target import f\nx = [2, 1]\n"
    assert [body for body in EXPECTS if not expects_by_arguments(head + body)] == []
    assert [body for body in ASKS if expects_by_arguments(head + body)] == []


CHANGES = {  # code, and how the programs end where arguments stay as they were
    "def f(x):\n    x.clear()\n    return []": ("passed", "assertion_failed"),
    "def f(x):\n    x[:] = [7]\n    return x": ("passed", "assertion_failed"),
    "def f(x):\n    x.sort()\n    return x": ("passed", "passed"),
    "def f(x):\n    return sorted(x)": ("passed", "passed"),
}


@pytest.mark.docker
@pytest.mark.parametrize("code", CHANGES)
async def test_expected_values_of_arguments_fail_where_these_stay(
    code: str, sandbox: Sandbox
) -> None:
    async with sandbox.box(code) as box:
        for body in EXPECTS[:3]:
            test = "\n".join(f"    {line}" for line in body.splitlines())
            program = f"from target import f\ndef test_it():\n    x = [2, 1]\n{test}\n"
            ends = [(await box.run(program, isolated=way)).outcome for way in (True, "on_copies")]
            assert tuple(ends) == CHANGES[code], body
