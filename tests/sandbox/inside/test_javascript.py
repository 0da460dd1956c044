"""Values go between a JavaScript program and its code as they are, and timers run while it waits.

Covers `sandbox.backends.docker.images` and the harness; ``javascript.toml`` has the attacks, and
``javascript_waiting.toml`` right functions and wrong ones.
"""

import tomllib
from pathlib import Path

import pytest

from sandbox.base import NOT_SEPARABLE, Sandbox
from sandbox.executed import EXECUTED
from tests.rows import first_rows

CODE = """
function same(value) { return value; }
function sorts(items) { items.sort((a, b) => a - b); items.more = undefined; return items; }
function fails(kind) { throw kind === "plain" ? "a text" : new RangeError("too far"); }
function maps(items, change) { return items.map((item) => change(item)); }
function* counts(most) { for (let n = 0; n < most; n += 1) yield n; }
function adder(n) { return (m) => n + m; }
async function later(n) { await null; if (n < 0) throw new TypeError("below"); return n; }
function prints(text) { console.log(text); }
function pair() { const one = { name: "a" }; one.self = one; return [one, one]; }
class Box {}
function fill(one, key) {
  if (Array.isArray(one)) (Array.isArray(one[0]) ? one[0] : one).push(key);
  else if (one instanceof Map) one.set(key, 1);
  else if (one instanceof Set) one.add(key);
  else if (Buffer.isBuffer(one)) one.write(key);
  else one[key] = 1;
  return one;
}
function* refills(make) {
  const one = make();
  for (const key of "ab") yield fill(one, key);
}
async function* refillsLater(make) { yield* refills(make); }
function* parts() { yield [1, 2]; yield [3, 4]; }
const LIMIT = 12;
const generators = { refills, refillsLater, parts };
return { same, sorts, fails, maps, counts, adder, later, prints, pair, Box, LIMIT, ...generators };
"""
PROGRAM = """
const { same, sorts, fails, maps, counts, adder, later, prints, pair, LIMIT } = require("target");
const { refills, refillsLater, parts } = require("target");
const REFILLED = [
  [() => [], ["a", "b"]], [() => ({}), { a: 1, b: 1 }], [() => [[]], [["a", "b"]]],
  [() => new Set(), new Set("ab")], [() => Buffer.alloc(1), Buffer.from("b")],
  [() => new Map(), new Map([["a", 1], ["b", 1]])],
];
const VALUES = [
  null, undefined, true, 0, -0, 1.5, NaN, Infinity, -Infinity, 12345678901234567890n, "",
  "é\\u0000😀", [], [[1], [2, [3]]], {}, { a: { b: 1 }, "": 2 }, new Map([[1, { a: 2 }], ["k", 3]]),
  new Set([1, "2"]), new Date(86400000), /a+b/gi, Buffer.from("bytes"), new Float64Array([1, NaN]),
];
function test_values_come_back() {
  for (const value of VALUES) assert.deepStrictEqual(same(value), value);
}
function test_an_argument_is_changed() {
  const items = [3, 1, 2];
  assert.strictEqual(sorts(items), items);
  assert.deepStrictEqual([...items], [1, 2, 3]);
}
function test_errors() {
  assert.throws(() => fails(), { name: "RangeError", message: "too far" });
  assert.throws(() => fails(), RangeError);
  assert.throws(() => fails("plain"), (error) => error === "a text");
}
function test_functions_go_both_ways() {
  assert.deepStrictEqual(maps([1, 2], (n) => n * 10), [10, 20]);
  assert.throws(() => maps([1], () => { throw new TypeError("ours"); }), TypeError);
  assert.strictEqual(adder(2)(3), 5);
  assert.deepStrictEqual(maps([1, 2], adder(1)), [2, 3]);
}
function test_generators() {
  assert.deepStrictEqual([...counts(3)], [0, 1, 2]);
}
async function test_what_a_generator_refills_is_what_it_was_last() {
  for (const [make, last] of REFILLED) {
    assert.deepStrictEqual([...refills(make)], [last, last]);
    const given = [];
    for await (const one of refillsLater(make)) given.push(one);
    assert.deepStrictEqual(given, [last, last]);
  }
  const [first] = refills(() => []);
  assert.deepStrictEqual(first, ["a"]);
}
function test_what_is_done_to_a_part_stays() {
  const given = [];
  for (const part of parts()) given.push(part.reverse());
  assert.deepStrictEqual(given, [[2, 1], [4, 3]]);
}
async function test_promises() {
  assert.strictEqual(await later(3), 3);
  await assert.rejects(() => later(-1), TypeError);
}
function test_cycles_and_constants() {
  const [one, other] = pair();
  assert.strictEqual(one, other);
  assert.strictEqual(one.self, one);
  assert.strictEqual(LIMIT, 12);
}
function test_prints() {
  prints("printed");
}
"""
TESTS = 10


def test_a_language_has_the_command_line_of_its_harness() -> None:
    assert EXECUTED["python"].command(0, 512) == []
    assert "--random-seed=1" in EXECUTED["javascript"].command(0, 512)


@pytest.mark.docker
async def test_values_go_to_and_fro(sandbox: Sandbox) -> None:
    async with sandbox.box(CODE, language="javascript") as box:
        result = await box.run(PROGRAM)
        assert (result.outcome, result.message) == ("passed", "")
        assert (result.tests_run, len(result.tests), result.stdout) == (TESTS, TESTS, "printed\n")
        kept = await box.run(PROGRAM, isolated="on_copies")
        failed = [case.name for case in kept.tests if case.outcome != "passed"]
        assert failed == ["test_an_argument_is_changed"]
        used = await box.run("new (require('target').Box)();")
        assert (used.outcome, used.error_type) == ("raised", "TypeError")
        used = await box.run("require('target').Box();")
        assert (used.outcome, used.error_type) == ("raised", NOT_SEPARABLE)


FORGED = """
const fs = require("fs");
const frame = (...parts) => {
  const data = Buffer.from(JSON.stringify(parts));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(data.length);
  fs.writeSync(3, Buffer.concat([header, data]));
};
return { double: () => frame("answer", 2, 0, 0, [[0], ""], [NODE], 0) };
"""


NODES = (
    '["__proto__"]',
    '["function", 0, "f", -1, []]',
    '["constructor", 1]',
    '["own", 99]',
    '["own", "push"]',
    '["typed", "Map", []]',
    '["object", [["a", [7]]]]',
    '["object", [["a", ["number", "constructor"]]]]',
    '["promise", 1.5]',
    "[]",
    "null",
)


@pytest.mark.docker
@pytest.mark.parametrize("node", first_rows(2, NODES))
async def test_a_node_of_no_kind_is_no_evidence(sandbox: Sandbox, node: str) -> None:
    code = FORGED.replace("NODE", node)
    async with sandbox.box("", language="javascript") as box:
        result = await box.run('assert.equal(require("target").double(), 4);', code=code)
    assert (result.outcome, result.error_type) == ("raised", NOT_SEPARABLE)


TABLE = tomllib.loads(Path(__file__).with_name("javascript_waiting.toml").read_text("utf-8"))
FUNCTIONS: list[dict[str, str]] = TABLE["functions"]
IMPORTS = "const {{ {name} }} = require('target');\n{program}"


@pytest.mark.docker
@pytest.mark.parametrize(
    "row", first_rows(4, FUNCTIONS), ids=lambda row: row["program"].split("(")[0].split()[-1]
)
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
