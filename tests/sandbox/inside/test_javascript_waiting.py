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


ENDS = (
    ("setTimeout(() => { throw new RangeError('late'); }, 10)", "RangeError", "late"),
    ("Promise.reject(new TypeError('lost'))", "TypeError", "lost"),
    ("new Promise(() => {})", "Error", "the program waits for what never comes"),
)


@pytest.mark.docker
async def test_code_that_fails_or_stops_between_calls_has_raised(sandbox: Sandbox) -> None:
    program = """
async function test_it() {
  const made = require('target').starts();
  await Promise.all([made, new Promise(() => {})]);
}
"""
    async with sandbox.box("", language="javascript") as box:
        for started, kind, message in ENDS:
            made = await box.run(program, code=f"return {{ starts() {{ return {started}; }} }};")
            assert (made.outcome, made.error_type, made.message) == ("raised", kind, message)


@pytest.mark.docker
async def test_time_is_what_is_computed_and_waited_for(sandbox: Sandbox) -> None:
    code = """
const sleeps = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const spins = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
const runs = () => new Promise((done) =>
  require('child_process').exec('echo done', (_, text) => done(text.trim())));
const races = () => Promise.race([runs(), require('util').promisify(setTimeout)(60000, 'late')]);
return { sleeps, spins, races };
"""
    program = """
const { sleeps, spins, races } = require('target');
async function test_it() {
  for (const waits of [sleeps, spins]) {
    const start = Date.now();
    waits(50);
    assert(Date.now() - start >= 49);
  }
  assert.strictEqual(await races(), 'done');
}
"""
    async with sandbox.box(code, language="javascript") as box:
        result = await box.run(program)
        assert (result.outcome, result.message, result.asserts_executed) == ("passed", "", 3)
