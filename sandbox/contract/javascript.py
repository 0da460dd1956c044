"""The behaviours that every box for JavaScript must show, beside those of all boxes.

Code under test always has a process of its own there, so most attacks are codes: whatever they do,
a program that demands another value than they return must fail.
"""

from functools import partial

from sandbox.contract.behaviour import Behaviour

_CODE = "function double(number) {\n  return number + number;\n}\nreturn { double };\n"
_DEMANDS = (
    "const assert = require('assert');\nconst { double } = require('target');\n"
    "function test_it() {\n  assert.deepStrictEqual(double(2), 4);\n}\n"
)
_JS = partial(Behaviour, code=_CODE, language="javascript")


def _ends(name: str, program: str, outcome: str, **fields: object) -> Behaviour:
    return _JS(f"JavaScript: {name}", program, {"outcome": outcome, **fields})


def _attack(name: str, lines: str) -> Behaviour:
    """Return the behaviour that code which does this fails where it returns a wrong value."""
    code = f"function double(number) {{\n{lines}\n  return 5;\n}}\nreturn {{ double }};\n"
    expects = {"outcome": frozenset({"assertion_failed", "raised"})}
    return _JS(f"JavaScript: {name}", _DEMANDS, expects, code=code)


def _refused(name: str, lines: str) -> Behaviour:
    """Return the behaviour that code which does this gets an error of the system."""
    code = f"function double(number) {{\n{lines}\n}}\nreturn {{ double }};\n"
    expects = {"outcome": "raised", "error_type": "Error", "message": _REFUSALS}
    program = (
        "const { double } = require('target');\n"
        "async function test_it() {\n  try {\n    await double(2);\n  } catch (error) {\n"
        "    throw new Error(error.code);\n  }\n}\n"
    )
    return _JS(f"JavaScript: {name}", program, expects, code=code)


_REFUSALS = frozenset({"EACCES", "EPERM", "EROFS", "ENETUNREACH", "EAI_AGAIN", "ENOTFOUND"})
_FS = "  const fs = require('fs');\n"

_OUTCOMES = (
    _ends("a program whose asserts hold has passed", _DEMANDS, "passed", target_calls=1),
    _ends(
        "a false assert has failed, and the tests after it are run",
        _DEMANDS.replace("4", "5") + "function test_two() {\n  assert(double(1) === 2);\n}\n",
        "assertion_failed",
        tests_run=2,
        asserts_executed=2,
        target_calls=2,
    ),
    _ends(
        "an error of the code has been raised",
        "require('target').double(null, Symbol.iterator === 1, undefined.missing);",
        "raised",
        error_type="TypeError",
    ),
    _ends(
        "asynchronous tests are awaited",
        "async function test_it() {\n  await null;\n  assert(false);\n}",
        "assertion_failed",
        tests_run=1,
    ),
    _ends(
        "an assertion that fails and is caught has failed",
        "function test_it() {\n  try {\n    assert(false);\n  } catch {}\n}",
        "raised",
    ),
    _ends(
        "a missing module is named",
        "require('no_such');",
        "import_error",
        missing_module="no_such",
    ),
    _ends("a program that does not parse has raised", "f(", "raised", error_type="SyntaxError"),
    _ends("an endless loop is cut at the time limit", "for (;;);", "timeout"),
    _ends(
        "memory is limited",
        "const all = [];\nfor (;;) all.push(Buffer.alloc(1e6, 1), [...Array(1e4).keys()]);",
        "memory",
    ),
    _ends("output is limited", "for (;;) console.log('x'.repeat(1000));", "output_limit"),
    _ends("ending the process is no pass", "process.abort();", "killed"),
    _ends("exit(0) is no pass", "process.exit(0);", "raised"),
    _ends(
        "writing to every open file is no pass",
        "const fs = require('fs');\nfor (let n = 3; n < 64; n += 1) {\n  try {\n"
        "    fs.writeSync(n, '8\\n0 1 1 =\\n');\n  } catch {}\n}\nprocess.kill(process.pid, 9);",
        "killed",
    ),
    _ends(
        "a replaced writer is not told what marks a report",
        "const fs = require('fs');\nconst write = fs.writeSync;\n"
        "fs.writeSync = Buffer.from = Buffer.concat = (...all) => console.log('told', all);\n"
        "Array.prototype.map = () => [];\nfunction test_it() {\n  assert(false);\n}",
        "assertion_failed",
        stdout="",
    ),
)  # fmt: skip
_ATTACKS = (
    _attack(
        "code that replaces asserts, JSON and the console fails",
        "  const assert = require('assert');\n"
        "  assert.deepStrictEqual = assert.equal = () => {};\n"
        "  JSON.stringify = () => '4';\n  console.log('PASSED');",
    ),
    _attack(
        "code that changes prototypes fails",
        "  Object.prototype.valueOf = () => 4;\n  Number.prototype.toString = () => '4';\n"
        "  Object.prototype.toJSON = () => 4;\n  Object.is = () => true;",
    ),
    _attack(
        "code that looks into the program's process fails",
        _FS + "  for (const name of fs.readdirSync('/proc')) {\n"
        "    if (!(Number(name) > 1) || Number(name) === process.pid) continue;\n"
        "    for (const file of ['mem', 'fd/3', 'fd/4', 'fd/0']) {\n      try {\n"
        "        fs.openSync(`/proc/${name}/${file}`, 'r+');\n        return 4;\n"
        "      } catch {}\n    }\n  }",
    ),
    _JS(
        "JavaScript: a signal opens no debugger in the program's process",
        "const { double } = require('target');\ndouble(1);\n"
        "const until = Date.now() + 300;\nwhile (Date.now() < until);\n"
        "assert.strictEqual(double(2), 1);",
        {"outcome": "passed"},
        code="function double(number) {\n" + _FS
        + "  for (const name of number === 1 ? fs.readdirSync('/proc') : []) {\n"
        "    if (!(Number(name) > 1) || Number(name) === process.pid) continue;\n"
        "    process.kill(Number(name), 'SIGUSR1');\n  }\n"
        "  return fs.readFileSync('/proc/net/tcp', 'utf8').trim().split('\\n').length;\n"
        "}\nreturn { double };",
    ),
    _JS(
        "JavaScript: an own field that is named as a prototype sets none",
        "const { made } = require('target');\nfunction test_it() {\n"
        "  made();\n  assert.strictEqual({}.polluted, undefined);\n"
        "  assert.strictEqual(made().polluted, undefined);\n}",
        {"outcome": "passed", "asserts_executed": 2},
        code="return { made: () => JSON.parse('{\"__proto__\": {\"polluted\": 1}}') };",
    ),
    _JS(
        "JavaScript: code that ends its process is no pass",
        _DEMANDS,
        {"outcome": "killed"},
        code="return { double: () => process.reallyExit(0) };",
    ),
    _JS(
        "JavaScript: code that writes frames of its own is no pass",
        _DEMANDS,
        {"outcome": frozenset({"raised", "killed", "assertion_failed"})},
        code="const fs = require('fs');\nconst frame = JSON.stringify({ nodes: [], value: 5 });\n"
        "return { double: () => fs.writeSync(3, '\\0\\0\\0' + String.fromCharCode(frame.length)"
        " + frame) };",
    ),
)  # fmt: skip
_WALLS = (
    _refused(
        "no address can be reached",
        "  return new Promise((_, fail) =>\n"
        "    require('net').connect(9, '1.1.1.1').on('error', fail));",
    ),
    _refused("the system cannot be written to", _FS + "  fs.writeFileSync('/usr/written', '');"),
    _refused("secrets of the system cannot be read", _FS + "  fs.readFileSync('/etc/shadow');"),
    _refused("the runner's environment is hidden", _FS + "  fs.readFileSync('/proc/1/environ');"),
    _refused("the harness's executable is hidden", _FS + "  fs.readFileSync('/usr/bin/node');"),
    _refused("a process cannot become root", "  process.setuid(0);"),
)
_REPEATS = (
    _JS(
        "JavaScript: one seed gives one row of random numbers",
        "console.log(Math.random());",
        {"outcome": "passed"},
        again="same",
    ),
    _JS(
        "JavaScript: another seed and clock give others",
        "console.log(Math.random(), new Date().getFullYear());",
        {"outcome": "passed"},
        again="other",
    ),
    _ends("the clock begins where the caller said", "console.log(new Date().getFullYear());",
          "passed", stdout="2026\n"),
    _JS(
        "JavaScript: the box is whole after a fork bomb",
        _DEMANDS,
        {"outcome": "passed"},
        before="require('target').double(1);",
        before_code="const { spawn } = require('child_process');\n"
        "for (;;) {\n  try {\n    spawn('sh', ['-c', ':(){ :|:& };:']);\n  } catch {}\n}",
    ),
    _JS(
        "JavaScript: files are gone before the next run",
        "const fs = require('fs');\nassert.deepStrictEqual(fs.readdirSync('/tmp'), []);",
        {"outcome": "passed"},
        before="require('fs').writeFileSync('/tmp/left', '');",
    ),
)  # fmt: skip

JAVASCRIPT = (*_OUTCOMES, *_ATTACKS, *_WALLS, *_REPEATS)
