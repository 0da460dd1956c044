"""Laws of what claims make beside values: it stays in its place, and is what the code meets.

Covers `agents.claims.makers`, `agents.claims.making`.
"""

import pytest

from agents.claims.adapter import adapter_fault
from agents.claims.claim import Claim, claims_in, same_value
from agents.claims.program import ClaimRun, claim_runs, claims_program
from agents.gates.static_checks import faults_of
from infra.languages.python import Python
from sandbox.base import Box
from tests.real_sandbox import real_sandbox
from tests.sandbox.conftest import LIMITS


@pytest.mark.parametrize(
    "line",
    [
        "file('a\\n') => 'a'", "file(b'\\x00', name='x.bin'), 2 => 1",
        "folder({'a.txt': 'x', 'sub': {'b': b'', 'empty': {}}}, name='top') => ['a.txt']",
        "environ(HOME='/x', A='') => '/x'", "argv('prog', '-x'), 1 => '-x'",
        "'bob' => prints 'hello bob\\n'", "['a'] => writes {'out.txt': 'a\\n', 'sub/b': None}",
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
        "argv(1)", "argv(*['a'])",
    ]:  # fmt: skip
        assert claims_in(f"{arguments} => 1", 9) == ()


@pytest.mark.parametrize(
    "value",
    [
        "prints 5", "prints text", "writes 'a'", "writes {}", "writes {'../a': ''}",
        "writes {'/a': ''}", "writes {'a': 1}", "argv('a')", "environ(A='b')",
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
        ("prints 'a'", "'a'", False), ("prints ' a'", "prints 'a'", False),
        ("writes {'a': 'x\\n'}", "writes {'a': 'x'}", True),
        ("writes {'a': None}", "writes {'a': ''}", False),
        ("writes {'a': 'b'}", "prints 'b'", False),
    ],
)  # fmt: skip
def test_what_is_printed_or_written_is_equal_but_for_blanks_at_ends(
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
    return claim_runs(claims, await box.run(program, code=scaffolded, apart=apart))


@pytest.mark.docker
async def test_a_code_meets_what_a_claim_makes_and_is_judged_by_what_it_leaves() -> None:
    async with real_sandbox(LIMITS) as sandbox, sandbox.box("") as box:
        for what, (code, adapter, holding, failing) in RUNS.items():
            found = await ran(box, code, adapter, holding)
            assert {run.outcome for run in found} == {"held"}, found
            if what not in ("a picture", "an open file"):  # these go to no other process
                assert await ran(box, code, adapter, holding, apart=True) == found
            found = await ran(box, code, adapter, failing)
            assert {run.outcome for run in found} == {"failed"}, found
