"""The making of pairs with proved labels from cases, in a sandbox.

    python -m tests.bench.provable_pairs.made --to pairs.jsonl

A code answers where it gives the demanded value for each call of its case; else it does not. Lists,
tuples and iterators of the same are equal, as are 2 and 2.0: no query tells them apart. Broken
versions are graded by the share of calls that show it: grade 1 by most, grade 4 by few.
"""

import argparse
import ast
import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.languages.python.mutation import mutants_of
from infra.languages.python.scaffolding import scaffolded
from infra.languages.python.translation import translated
from infra.settings import SandboxSettings
from sandbox.backends import make_sandbox
from sandbox.base import Box, Sandbox
from tests.bench.provable_pairs.case import Case, load_cases, names_bound_by

GRADES = (0.75, 0.5, 0.25, 0.0)  # above which share of the calls a mistake shows
_MUTANTS = 40
_MUTANT_S = 3.0

PLAIN = """
def plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__next__"):
        return list(value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return set(value) if isinstance(value, frozenset) else value
"""
# What makes the files of a call, and what it does: as claims name them.
HELPERS = f"""{PLAIN}
import contextlib, datetime, io, os, tempfile
class Setting(dict):
    pass
environ = Setting
def fill(place, files):
    for name, content in files.items():
        inner = os.path.join(place, name)
        if isinstance(content, dict):
            os.mkdir(inner)
            fill(inner, content)
        else:
            with open(inner, "w", encoding="utf-8") as stream:
                stream.write(content)
def folder(files):
    return os.path.join(placed({{"folder": files}}), "folder")
def file(text, name):
    return os.path.join(placed({{name: text}}), name)
def placed(files):
    global root
    root = tempfile.mkdtemp()
    fill(root, files)
    return root
def gives(function, *arguments):
    before = dict(os.environ)
    for one in arguments:
        os.environ.update(one if isinstance(one, Setting) else {{}})
    try:
        return plain(function(*[one for one in arguments if not isinstance(one, Setting)]))
    finally:
        os.environ.clear()
        os.environ.update(before)
def prints_lines(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        gives(function, *arguments)
    return out.getvalue()
def prints(function, *arguments):
    return " ".join(prints_lines(function, *arguments).split())
def writes(function, *arguments):
    gives(function, *arguments)
    files = [os.path.join(at, name) for at, _, names in os.walk(root) for name in names]
    return {{os.path.relpath(name, root): open(name, encoding="utf-8").read() for name in files}}
"""
_CALLS = """
import target
globals().update((name, one) for name, one in vars(target).items() if name not in globals())
{adapter}
for call in {calls!r}:
    space = {{"target": target}}
    exec({helpers!r}, space)
    try:
        way = space[{effect!r}.replace(" ", "_") or "gives"]
        value = repr(way(answer, *eval(f"({{call}},)", space)))
        value = f"{effect} {{value}}".strip()
    except Exception as error:
        value = f"raises {{type(error).__name__}}"
    print(repr(value[:2_000]))
"""


class ProvedPair(NamedTuple):
    """A query, a code and its proved label.

    Attributes:
        query: The query.
        code: The code.
        label: 1 where it gives each demanded value, else 0.
        kind: What the code is: "answer", "wider", "narrower", "another's", or "broken 1" to
            "broken 4", by how few calls show it.
        wrong: The share of calls that show that it does not answer.
        demands: Arguments of a call → the value that the query demands of it, both as source, or
            ``prints``, ``writes`` or ``raises`` with a text, files or an exception.
        shown_by: The arguments of the calls that show that it does not answer.
        beside: Source of what the code uses and does not bind.
        adapter: A function ``answer`` that takes the arguments of a call, "" where the code does.
        program: Tests of what the query demands, right for this code; "" where there are none.
    """

    query: str
    code: str
    label: int
    kind: str
    wrong: float
    demands: Mapping[str, str]
    shown_by: tuple[str, ...] = ()
    beside: str = ""
    adapter: str = ""
    program: str = ""

    @property
    def is_near_miss(self) -> bool:
        """Whether the code is wrong in a way that a reader easily overlooks."""
        return self.kind == "narrower" or (self.label == 0 and 0 < self.wrong <= GRADES[0])


async def proved_pairs(
    sandbox: Sandbox, cases: Sequence[Case], candidates: int = 0
) -> list[ProvedPair]:
    """Return the pairs of all cases, each label proved by running its code beside what it lacks.

    Args:
        sandbox: Where the codes run.
        cases: The cases.
        candidates: Functions of other cases are added up to so many codes a query, if there are
            so many, as among the candidates that a search finds.
    """
    pairs: list[ProvedPair] = []
    for place, case in enumerate(cases):
        async with sandbox.box(case.answer) as box:
            values = await _values(box, case, case.answer, case)
            raised = [value[7:] for value in values if value.startswith("raises")]
            assert set(raised) <= set(names_bound_by(case.beside)), (case.query, values)
            demands = dict(zip(case.arguments, values, strict=True))
            of_it = [
                await _pair(box, case, demands, kind, code)
                for kind in ("answer", "wider", "narrower")
                if (code := getattr(case, kind))
            ]
            of_it += await _broken(box, case, demands)
            others = [cases[other] for other in range(place - 1, place - len(cases), -1)]
            for other in others[: max(candidates - len(of_it), 1)]:
                of_it.append(await _pair(box, case, demands, "another's", other.answer, other))
            pairs += of_it
    return pairs


async def _broken(box: Box, case: Case, demands: Mapping[str, str]) -> list[ProvedPair]:
    """Return at most one broken version of each grade, the first that there is."""
    graded: dict[int, ProvedPair] = {}
    for mutant in mutants_of(translated(case.answer), _MUTANTS):
        pair = await _pair(box, case, demands, "", mutant.code)
        if pair.label == 0:
            grade = next(number for number, share in enumerate(GRADES, 1) if pair.wrong > share)
            graded.setdefault(grade, pair._replace(kind=f"broken {grade}"))
    return [graded[grade] for grade in sorted(graded)]


async def _pair(
    box: Box,
    case: Case,
    demands: Mapping[str, str],
    kind: str,
    code: str,
    owner: Case | None = None,
) -> ProvedPair:
    """Return a code's pair with its label; ``owner`` is the case whose code it is."""
    of_it = owner or case
    shown_by = _shown_by(demands, await _values(box, case, code, of_it))
    return ProvedPair(
        query=case.query,
        code=code,
        label=int(not shown_by),
        kind=kind,
        wrong=len(shown_by) / len(demands),
        demands=demands,
        shown_by=shown_by,
        beside=of_it.beside_of(code),
        adapter=of_it.adapter_of(code) if of_it.program else "",
        program="" if owner else case.program,
    )


async def _values(box: Box, case: Case, code: str, owner: Case) -> list[str]:
    """Return what the code gives for each call; nothing where it did not get to the end."""
    program = _CALLS.format(
        helpers=HELPERS, calls=case.arguments, adapter=owner.adapter_of(code), effect=case.effect
    )
    whole = scaffolded(f"{owner.beside_of(code)}\n{translated(code)}")
    result = await box.run(program, code=whole, timeout_s=_MUTANT_S)
    if result.outcome != "passed":
        return []
    return [ast.literal_eval(line) for line in result.stdout.splitlines()]


def _shown_by(demands: Mapping[str, str], found: Sequence[str]) -> tuple[str, ...]:
    """Return the calls for which a code gives another value; all where it gave none."""
    if len(demands) != len(found):
        return tuple(demands)
    both = zip(demands.items(), found, strict=True)
    return tuple(call for (call, value), other in both if not _equal(value, other))


def _equal(one: str, other: str) -> bool:
    """Return whether two values are equal, as 2 and 2.0 are."""
    try:
        return bool(ast.literal_eval(one) == ast.literal_eval(other))
    except (SyntaxError, ValueError):  # of an exception, or of a number that is none
        return one == other


async def _made(cases: Sequence[Case]) -> list[ProvedPair]:
    sandbox = make_sandbox(SandboxSettings())
    try:
        return await proved_pairs(sandbox, cases)
    finally:
        await sandbox.close()


def main(file: Path) -> None:
    """Write the pairs of all cases to a file, and print how many there are of each kind."""
    cases = load_cases("made", "real")
    pairs = asyncio.run(_made(cases))
    file.write_text("".join(json.dumps(pair._asdict()) + "\n" for pair in pairs))
    for (kind, label), number in sorted(Counter((one.kind, one.label) for one in pairs).items()):
        print(f"{kind:12} label {label}: {number}")
    print(f"{len(pairs)} pairs of {len(cases)} queries in {file}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, required=True, help="file to write, one pair a line")
    main(parser.parse_args().to)
