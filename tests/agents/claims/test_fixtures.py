"""Laws of what claims make beside values: it stays in its place, and is what the code meets.

Covers `agents.claims.fixtures`, `agents.claims.literals`.
"""

import pytest

from agents.claims.adapter import adapter_fault
from agents.claims.claim import Claim, claims_in, same_value
from agents.claims.program import ClaimRun, claim_runs, claims_program
from agents.gates.static_checks import faults_of
from infra.languages.python import Python
from sandbox.base import Box, Sandbox


@pytest.mark.parametrize(
    "line",
    [
        "file('a\\n') => 'a'", "file(b'\\x00', name='x.bin'), 2 => 1",
        "folder({'a.txt': 'x', 'sub': {'b': b'', 'empty': {}}}, name='top') => ['a.txt']",
        "environ(HOME='/x', A='') => '/x'", "argv('prog', '-x'), 1 => '-x'",
        "'bob' => prints 'hello bob\\n'", "['a'] => writes {'out.txt': 'a\\n', 'sub/b': None}",
        "2 => prints lines '1\\n2\\n'", "stream('a') => leaves {'closed': True, 'flushed': True}",
        "file('a', name='b.txt', time=86400.5) => 86400.5",
    ],
)  # fmt: skip
def test_a_claim_may_make_what_surrounds_a_call_and_demand_what_it_leaves(line: str) -> None:
    (claim,) = claims_in(line, 9)
    assert f"{claim.arguments} => {claim.value}" == line
    assert claim.needs_work


def test_what_would_leave_its_place_or_is_not_known_is_made_by_no_claim() -> None:
    for arguments in [
        "file('a', name='../../etc/passwd')", "file('a', name='/etc/passwd')",
        "file('a', name='sub/a')", "file('a', name='..')", "file('a', name='a\\0b')",
        "file('a', name='')", f"file('a', name='{'a' * 200}')", "file('a' * 10**6)",
        "file('a' * 10**9)", "file('a', 'b.txt')", "file('a', mode='w')", "file(open('/x').read())",
        "file(name='a')", "file({'a': 'b'})", "list(map(file, ['/etc/x']))", "(lambda f=file: f)()",
        "folder({'../a': 'x'})", "folder({'a': {'/b': 'x'}})", "folder({'a': 1})", "folder('a')",
        "folder({str(n): '' for n in range(9)})", "folder({**{'a': 'b'}})", "[argv('a')]",
        "environ(**{'A': 'b'})", "environ(A=1)", "environ(A='\\0')", "environ('A')", "argv()",
        "argv(1)", "argv(*['a'])", "file('a', time='now')", "folder({}, time=1)",
        "list(map(stream, ['a']))",
    ]:  # fmt: skip
        assert claims_in(f"{arguments} => 1", 9) == ()


@pytest.mark.parametrize(
    "value",
    [
        "prints 5", "prints text", "writes 'a'", "writes {}", "writes {'../a': ''}",
        "writes {'/a': ''}", "writes {'a': 1}", "argv('a')", "environ(A='b')", "prints lines 5",
        "leaves 'a'", "leaves {'__class__': int}", "leaves {'__doc__': ''}", "leaves {'a b': 1}",
    ],
)  # fmt: skip
def test_what_cannot_be_printed_or_written_is_not_demanded(value: str) -> None:
    assert claims_in(f"1 => {value}", 9) == ()


@pytest.mark.parametrize(
    ("claim", "needs_work"),
    [
        ("file('b\\na\\n') => writes {'file.txt': 'b\\na'}", False),
        ("file('b\\na\\n') => writes {'file.txt': 'a\\nb\\n'}", True),
        ("folder({'a': 'x'}) => writes {'folder/a': 'x', 'b': None}", False),
        ("folder({'a': 'x'}) => writes {'folder/a': None}", True),
        ("file('a', name='b.txt') => '/tmp/claim/b.txt'", False),
        ("np.array([[0]], dtype=np.uint8) => [[0]]", False),
    ],
)
def test_a_file_that_is_left_as_it_was_shows_no_work(claim: str, needs_work: bool) -> None:
    (read,) = claims_in(claim, 1)
    assert read.needs_work is needs_work


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("prints 'a\\n'", "prints 'a'", True), ("prints 'a'", "prints 'b'", False),
        ("prints 'a'", "'a'", False), ("prints ' a'", "prints 'a'", True),
        ("prints 'a\\nb'", "prints 'a b'", True), ("prints 'ab'", "prints 'a b'", False),
        ("prints 'a\\nb'", "prints lines 'a b'", False),
        ("prints 'a \\nb'", "prints lines 'a\\nb'", True),
        ("leaves {'closed': 1}", "leaves {'closed': True}", True),
        ("leaves {'a': 'x'}", "writes {'a': 'x'}", False),
        ("writes {'a': 'x\\n'}", "writes {'a': 'x'}", True),
        ("writes {'a': None}", "writes {'a': ''}", False),
        ("writes {'a': 'b'}", "prints 'b'", False),
    ],
)  # fmt: skip
def test_what_is_printed_is_equal_by_its_words_and_what_is_written_but_for_blanks_at_ends(
    one: str, other: str, equal: bool
) -> None:
    assert same_value(one, other) is equal


RUNS = {  # code, adapter, claims that hold, claims that fail
    "a file that is read": (
        "def head(path):\n    with open(path) as lines: return next(lines).strip()",
        "def answer(path):\n    return head(path)",
        "file('a\\nb\\n') => 'a'\n'file.txt' => raises FileNotFoundError",
        "file('x', name='y.csv') => 'y'",
    ),
    "an open file": (
        "def head(lines):\n    return next(lines).strip()",
        "def answer(path):\n    return head(open(path))",
        "file('a\\nb\\n') => 'a'",
        "file('a\\nb\\n') => 'b'",
    ),
    "a folder": (
        "import os\ndef names(path):\n    return sorted(os.listdir(path))",
        "def answer(path):\n    return names(path)",
        "folder({'b': '', 'a': b'x', 'c': {'d': ''}}) => ['a', 'b', 'c']\nfolder({}) => []",
        "folder({'a': ''}, name='one') => ['one']",
    ),
    "printed output": (
        "def hello(name, file=None):\n    print('hello', name, file=file)\n    return 1",
        "def answer(name):\n    return hello(name)",
        "'bob' => prints 'hello bob\\n'\n'al' => prints 'hello al'",
        "'bob' => prints 'hello al'\n'' => prints ''",
    ),
    "printed lines": (
        "def count(n):\n    for i in range(n): print(i, ' ')",
        "def answer(n):\n    return count(n)",
        "2 => prints '0 1'\n2 => prints lines '0\\n1'",
        "2 => prints lines '0 1'\n2 => prints '01'",
    ),
    "what is left of an argument": (
        "def done(file):\n    file.write('x')\n    file.flush()\n    file.close()",
        "def answer(file):\n    return done(file)",
        "stream() => leaves {'flushed': True}\nstream('x') => leaves {'closed': True}",
        "stream() => leaves {'closed': 'x'}\nstream() => leaves {'no': 1}",
    ),
    "the time of a file": (
        "import os\ndef when(path):\n    return os.path.getmtime(path)",
        "def answer(path):\n    return when(path)",
        "file('x', time=86400) => 86400.0\nfile('', name='y', time=1.5) => 1.5",
        "file('x', time=86400) => 0",
    ),
    "written files": (
        "def save(rows, path):\n    with open(path, 'w') as file: print(*rows, file=file)",
        "def answer(rows):\n    return save(rows, 'out.txt')",
        "['a', 'b'] => writes {'out.txt': 'a b'}\n[] => writes {'out.txt': b'\\n', 'old': None}",
        "['a'] => writes {'out.txt': 'b'}\n['a'] => writes {'out.txt': None}",
    ),
    "a file that goes": (
        "import os\ndef gone(path):\n    os.remove(path)",
        "def answer(path):\n    return gone(path)",
        "file('a') => writes {'file.txt': None}",
        "file('a') => writes {'file.txt': 'a'}",
    ),
    "surroundings": (
        "import os, sys\ndef seen():\n    return os.environ.get('A', '') + ''.join(sys.argv[1:])",
        "def answer():\n    return seen()",
        "environ(A='1') => '1'\nargv('p', '-x') => '-x'\n => ''",
        "environ(A='1') => ''\n => '-x'",
    ),
    "a picture": (
        "from PIL import ImageOps\ndef inverted(image):\n    return ImageOps.invert(image)",
        "from PIL import Image\ndef answer(rows):\n    return inverted(Image.fromarray(rows))",
        "np.array([[0, 255], [1, 2]], dtype=np.uint8) => [[255, 0], [254, 253]]",
        "np.array([[0, 255], [1, 2]], dtype=np.uint8) => [[255, 0], [253, 254]]",
    ),
}


async def ran(
    box: Box, code: str, adapter: str, examples: str, *, apart: bool = False
) -> tuple[ClaimRun, ...]:
    """Return what a code gives for claims, whose program has no fault."""
    scaffolded = Python().scaffolded(code)
    claims: tuple[Claim, ...] = claims_in(examples, 9)
    assert adapter_fault(adapter, scaffolded) == ""
    program = claims_program(claims, adapter, scaffolded)
    assert faults_of(program, scaffolded) == {}
    return claim_runs(claims, await box.run(program, code=scaffolded, isolated=apart))


@pytest.mark.docker
async def test_a_code_meets_what_a_claim_makes_and_is_judged_by_what_it_leaves(
    sandbox: Sandbox,
) -> None:
    async with sandbox.box("") as box:
        for what, (code, adapter, holding, failing) in RUNS.items():
            found = await ran(box, code, adapter, holding)
            assert {run.outcome for run in found} == {"held"}, found
            if what not in (
                "a picture",
                "an open file",
                "what is left of an argument",
            ):  # these go to no other process
                assert await ran(box, code, adapter, holding, apart=True) == found
            found = await ran(box, code, adapter, failing)
            assert {run.outcome for run in found} == {"failed"}, found
        code = "def name(path):\n    return [path], {1: 2}"
        adapter = "def answer(path):\n    return name(path)"
        paths = "file('') => (['file.txt'], [1])\nfile('') => (['x.txt'], [1])"
        found = await ran(box, code, adapter, paths)
        assert [run.is_formed for run in found] == [True, False]
        (before,) = await ran(box, code, adapter, "stream() => leaves {'closed': False}")
        assert before.outcome == "not_run"
        assert "so before the call" in before.gave
