"""JavaScript that waits is run as a user of it expects: timers run while the program waits.

Covers the harness of JavaScript. ``javascript_waiting.toml`` has right functions and wrong ones.
"""

import tomllib
from pathlib import Path

import pytest

from sandbox.base import Sandbox

TABLE = tomllib.loads(Path(__file__).with_name("javascript_waiting.toml").read_text("utf-8"))
FUNCTIONS: list[dict[str, str]] = TABLE["functions"]
IMPORTS = "const {{ {name} }} = require('target');\n{program}"


@pytest.mark.docker
@pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row["program"].split("(")[0].split()[-1])
async def test_a_program_tells_right_code_from_wrong(sandbox: Sandbox, row: dict[str, str]) -> None:
    name = row["right"].rpartition("return {")[2].replace(":", " ").split()[0]
    program = IMPORTS.format(name=name, program=row["program"])
    async with sandbox.box(row["right"], language="javascript") as box:
        right = await box.run(program)
        assert (right.outcome, right.message, right.stderr) == ("passed", "", "")
        wrong = await box.run(program, code=row["wrong"])
        assert wrong.outcome in {"assertion_failed", "raised"}, wrong
