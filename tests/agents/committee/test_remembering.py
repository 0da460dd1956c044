"""Laws of kept runs: each program runs once, unless what was kept cannot be read."""

import zlib
from pathlib import Path

import pytest

from agents.committee.remembering import RememberingSandbox
from infra.journal import Journal
from infra.records import ExecutionResult
from sandbox.base import Sandbox
from tests.agents.judging import made_up_sandbox


def journal_in(folder: Path) -> Journal:
    return Journal(folder / "journal.sqlite")


async def run(sandbox: Sandbox, folder: Path) -> ExecutionResult:
    async with RememberingSandbox(sandbox, journal_in(folder), "recipe").box("code") as box:
        return await box.run("assert f(0)")


@pytest.mark.parametrize("content", [b"{}", b"\xff", b'{"outcome": "passed", "of_later": 1}'])
async def test_a_program_is_run_again_only_where_its_result_cannot_be_read(
    tmp_path: Path, content: bytes
) -> None:
    sandbox = made_up_sandbox()
    first = await run(sandbox, tmp_path)
    assert await run(sandbox, tmp_path) == first
    assert sandbox.made == 1  # type: ignore[attr-defined]
    change = "UPDATE runs SET content = ?", [zlib.compress(content)]
    journal_in(tmp_path).write(lambda tx: tx.execute(*change)).result()
    assert await run(sandbox, tmp_path) == first
    assert sandbox.made == 2  # type: ignore[attr-defined]
