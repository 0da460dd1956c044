"""Laws of adapters: they lead into the code and out of it, and answer nothing themselves."""

import pytest

from agents.claims.adapter import adapter_fault, works_on_arguments
from infra.languages.python.scaffolding import scaffolded
from sandbox.base import Sandbox
from tests.agents.claims.test_fixtures import ran

CODE = scaffolded("""
class Counter:
    def total(self, values): return sum(values)

def first(items, n): return items[:n]

def method(self, text): return self.word + text
""")


@pytest.mark.parametrize(
    "body",
    [
        "return first(items, n)",
        "return first(n=n, items=items)",
        "return list(first(tuple(items), -1))",
        "found = first(items, n)\n    return found[0]",
        "first(items, 1)\n    return items",
        "items = first(items, n)\n    return items.tolist()",
        "return first(items, n)(1)",
        "counter = Counter()\n    return counter.total(items)",
        "return DummySelf(word='a').method(n)",
        "return first({'a': items}, n).items()",
        "stream = StringIO(items)\n    first(stream, n)\n    return stream.getvalue()",
    ],
)
def test_calls_and_containers_are_handed_on(body: str) -> None:
    assert adapter_fault(f"from target import first\ndef answer(items, n):\n    {body}", CODE) == ""


@pytest.mark.parametrize(
    "adapter",
    [
        "def answer(items):\n    return first(items)[-1]",
        "def answer(items, n=2):\n    return first(items, n)",
        "def answer(items, n=-2, *more):\n    return first(items, n)",
        "def answer(items):\n    one, other = first(items)\n    return other",
        "def answer(items):\n    [one, other] = first(items)\n    return one, other",
        "def answer(items):\n    from target import first\n    return first(items)",
        "def answer(items):\n    import io\n    return first(io.StringIO(items))",
        "def answer(items):\n    result: list[int] = first(items)\n    return result",
        "def answer(items):\n    return list(first(set(items)))",
        "def answer(items):\n    items = list(items)\n    first(items)\n    return items",
        "def answer(n):\n    text = str(n)\n    return tuple(first(text, n=-1))",
        "def answer(items):\n    found = first(items)\n    return {'a': found[0], 'b': found[-1]}",
    ],
)
def test_everyday_ways_of_handing_over_are_adapters(adapter: str) -> None:
    assert adapter_fault(adapter, CODE) == ""


@pytest.mark.parametrize(
    "body",
    [
        "return str(first(items))",
        "return list(set(first(items)))",
        "return dict(first(items))",
        "return first(items).decode()",
        "return list(first(items).values())",
        "found = first(items)\n    return frozenset(found)",
        "one, other = first(items)\n    return str(other)",
        "found = [first(items), 1]\n    found = found[0]\n    return set(found)",
        "first(items)\n    return list(set(items))",
        "first(n=items)\n    return str(items)",
        "found = str(first(items))\n    return first(found)",
        "return array(first(items))",
        "return {*first(items)}",
    ],
)
def test_what_the_code_gave_is_left_as_it_is(body: str) -> None:
    fault = adapter_fault(f"def answer(items):\n    {body}", CODE)
    assert fault.endswith("of what the code gave")


def test_an_object_of_the_code_may_show_itself_as_text() -> None:
    code = "class Point:\n    def __str__(self): return 'p'"
    assert adapter_fault("def answer():\n    return str(Point())", code) == ""
    assert adapter_fault("def answer():\n    return str(Point())", code.replace("str", "len"))


@pytest.mark.parametrize(
    "adapter",
    [
        "def answer(items):\n    result: list\n    return first(items)",
        "def answer(items):\n    one, *others = first(items)\n    return others",
        "def answer(items):\n    items[0], one = first(items)\n    return one",
        "def answer(items):\n    from heapq import merge as list\n    return list(first(items))",
        "def answer(items):\n    from target import first as given\n    return given(items)",
        "def answer(items):\n    return first(items)[1:]",
        "def answer(items):\n    return first(items)[-n]",
    ],
)
def test_other_ways_of_assigning_importing_and_taking_apart_are_none(adapter: str) -> None:
    assert adapter_fault(adapter, CODE)


def test_an_object_for_a_method_is_there_for_methods_alone() -> None:
    adapter = "def answer(items, n):\n    return DummySelf().first(items, n)"
    assert adapter_fault(adapter, CODE) == ""
    assert (
        adapter_fault(adapter, "def first(items, n): ...") == "line 2 computes: DummySelf().first"
    )


def test_what_computes_replaces_or_never_calls_the_code_is_no_adapter() -> None:
    for adapter in [
        "def answer(items, n):\n    return items[:n]",
        "def answer(items, n):\n    first(items, n)\n    return sorted(items)",
        "def answer(items, n):\n    return first(items, n) + [1]",
        "def answer(items, n):\n    return [item for item in first(items, n)]",
        "def answer(items, n):\n    return first(items, n) if n else []",
        "def answer(items, n):\n    return first(items, n)[n]",
        "def answer(items, n):\n    return max(first(items, n))",
        "def answer(items, n):\n    items.sort()\n    return first(items, n)",
        "def answer(items, n):\n    return (lambda: first(items, n))()",
        "def answer(items, n):\n    for item in items:\n        return first(items, n)",
        "def answer(items, n):\n    with items:\n        return first(items, n)",
        "def answer(items, n):\n    first.x = 1\n    return first(items, n)",
        "def answer(items, n=len):\n    return first(items, n)",
        "def answer(items, **more):\n    return first(items, 1)",
        "async def answer(items, n):\n    return first(items, n)",
        "@first\ndef answer(items, n):\n    return first(items, n)",
        "def reply(items, n):\n    return first(items, n)",
        "def answer(items, n):\n    return first(items, n)\ndef first(items, n):\n    return [1]",
        "first = list\ndef answer(items, n):\n    return first(items)",
        "def answer(items, n):\n    return __import__('os').system('ls') or first(items, n)",
        "def answer(items, n)",
        "",
        f"def answer(items, n):\n    return {'(' * 300}first(items, n){')' * 300}",
        f"def answer(items, n):\n    return first(items, n){'.real' * 900}",
        "from builtins import sorted as list\ndef answer(items, n):\n    return list(first(items))",
        "import builtins as first\ndef answer(items, n):\n    return first.sorted(items)",
        "from heapq import *\ndef answer(items, n):\n    return first(items, n)",
        "def answer(items, n):\n    first = sorted\n    return first(items)",
        "def answer(first, items):\n    return first(items)",
        "def answer(items, n):\n    return DummySelf(method=sorted).method(items)",
        "def answer(items, n):\n    return DummySelf(word=items).word",
        "def answer(items, n):\n    return first.__globals__['__builtins__']['sorted'](items)",
        "def answer(items, n):\n    return first(items, n).__add__([1])",
        "def answer(items, n):\n    found = first(items, n)\n    found.sort()\n    return found",
    ]:
        assert adapter_fault(adapter, CODE)


def test_an_object_that_the_code_never_saw_gives_no_result() -> None:
    for given in ("DummySelf(word=True)", "DummySelf(word=n)", "[DummySelf(word=n)][0]"):
        adapter = f"def answer(items, n):\n    first(items, 1)\n    return {given}.word"
        assert adapter_fault(adapter, CODE).endswith("returns what the code has not seen")


def test_code_may_have_the_name_of_the_adapter() -> None:
    adapter = "def answer(items):\n    return answer(items)"
    assert adapter_fault(adapter, "def answer(items): ...") == ""
    assert adapter_fault(adapter, "def first(items): ...") == "line 2 computes: answer"


@pytest.mark.parametrize(
    "body",
    [
        "return first(text.split(','), n)",
        "return first(', '.join(text), n - 1)",
        "import re\n    return first(re.compile(text), -n)",
        "return first(dict.fromkeys(text), 100 * n)",
        "import os\n    return first(os.path.join(text, 'a.txt'), float(n))",
        "import datetime\n    return first(datetime.datetime.strptime(text, '%Y'), n)",
        "from datetime import date\n    return first(date(2020, 1, n), text)",
        "found = first(text)\n    return first(found, n.split())",
        "return first(open(text), None)",
    ],
)
def test_what_the_code_has_not_seen_may_be_brought_into_the_form_that_it_takes(body: str) -> None:
    adapter = f"def answer(text, n):\n    {body}"
    assert adapter_fault(adapter, CODE) == ""
    assert works_on_arguments(adapter) == ("date(2020" not in body)


def test_nothing_is_worked_out_of_results_and_nothing_by_other_operations() -> None:
    for body in [
        "return first(text).split(',')",
        "return ','.join(first(text))",
        "return first(text) * 2",
        "return -first(text)",
        "return int(first(text))",
        "first(text, n)\n    return first(text.split())",
        "first([text], n)\n    return first(','.join(text))",
        "other = text\n    first(other)\n    return first(text.split())",
        "first(n)\n    return text.split(',')",
        "first(n)\n    return text",
        "return first(text * n)",
        "return first(text % 2)",
        "return first(text ** 2)",
        "return first(n < 2)",
        "return first(text.upper())",
        "return first(text.replace('a', ''))",
        "return first(compile(text))",
        "import builtins\n    return first(builtins.compile(text))",
        "return first(round(n))",
        "return first(text or n)",
        "return first([part for part in text.split()])",
        "return first(f'{text}')",
        "from heapq import merge as int\n    return first(int(text))",
        "from heapq import merge as Fraction\n    return first(Fraction(text))",
        "made_by_adapter = str\n    return first(text.split())",
        "from heapq import merge as made_by_adapter\n    return first(text.split())",
        "int = sorted\n    return first(int(text))",
    ]:
        assert adapter_fault(f"def answer(text, n):\n    {body}", CODE)


# Codes that do not do what is asked, and adapters that would do it in their place.
CHEATS = {
    "hands over the answer": ("return same(text.split(','))", "'a,b' => ['a', 'b']"),
    "in two steps": ("one = text.split(',')\n    return same(one)", "'a,b' => ['a', 'b']"),
    "takes it out of the argument": ("return same([text.split(',')])[0]", "'a,b' => ['a', 'b']"),
    "takes it out of a part": ("return same(text.split(','))[0]", "'a,b' => 'a'"),
    "in an object": ("return DummySelf(x=text.split(',')).own().x", "'a,b' => ['a', 'b']"),
    "in another container": ("return listed(dict.fromkeys(text))", "[1, 2, 1] => [1, 2]"),
    "in a set": ("return listed(set(text))", "[1, 2, 1] => [2, 1]"),
    "of parts": ("return same([text[1], text[0]])", "['a', 'b'] => ['b', 'a']"),
    "as a number": ("return same(text * 60)", "2 => 120"),
    "as a text to print": ("return shows(', '.join(text))", "['a', 'b'] => prints 'a, b'"),
    "as text of a file": ("return saves(', '.join(text))", "['a', 'b'] => writes {'o': 'a, b'}"),
    "has a function called": ("return calls(sorted, text)", "[2, 1] => [1, 2]"),
    "by another name": ("done = sorted\n    return calls(done, text)", "[2, 1] => [1, 2]"),
    "by its class": ("return calls(set, text)", "[2, 2] => {2}"),
    "of a module": ("import heapq\n    return calls(heapq.heapify, text)", "[2, 1] => None"),
    "of an object": ("return calls(text.split, ',')", "'a,b' => ['a', 'b']"),
    "by a call of a call": ("return later(text.split(','))()", "'a,b' => ['a', 'b']"),
    "of what it makes first": ("return same(dict.fromkeys(text).keys())", "[1, 1] => [1]"),
    "of its own": (
        "import types\n    return same(types.SimpleNamespace(join=sorted).join(text))",
        "[2, 1] => [1, 2]",
    ),
}  # fmt: skip
IDLE = """
def same(value): return value
def listed(value): return list(value)
def shows(value): print(value)
def saves(value):
    with open('o', 'w') as file: file.write(value)
def calls(function, value): return function(value)
def later(value): return lambda: value
def own(self): return self
"""


@pytest.mark.docker
async def test_an_adapter_that_answers_in_the_codes_place_is_not_run(sandbox: Sandbox) -> None:
    async with sandbox.box("") as box:
        for what, (body, example) in CHEATS.items():
            adapter = f"def answer(text):\n    {body}"
            (run,) = await ran(box, IDLE, adapter, example)
            assert (what, run.outcome) == (what, "not_run")
            assert "the adapter " in run.gave


CALLING_BACK = {  # code → how its claim of 3 => 6 ends
    "self.done(x)\n    return x * 2": "held",
    "self.done(x)\n    return x + 2": "failed",
    "self.done(x)\n    raise ValueError(x)": "failed",
    "self.gone(x)\n    return x * 2": "not_run",
    "return self.done(x)": "not_run",
    "return 6 if self.done(x) else 0": "not_run",
    "return self.done(x) or 6": "not_run",
}


@pytest.mark.docker
async def test_a_callback_takes_any_call_and_gives_no_evidence(sandbox: Sandbox) -> None:
    adapter = "def answer(x):\n    me = DummySelf(done=DummySelf())\n    return on(me, x)"
    async with sandbox.box("") as box:
        for body, outcome in CALLING_BACK.items():
            (run,) = await ran(box, f"def on(self, x):\n    {body}", adapter, "3 => 6")
            assert (body, run.outcome) == (body, outcome), run


@pytest.mark.docker
async def test_a_code_that_works_holds_claims_by_what_is_made_for_it(sandbox: Sandbox) -> None:
    code = "def done(words, *more):\n    return ' '.join(sorted(words))"
    given = {
        "text.split()": "'b a'", "list(text)": "['b', 'a']", "set(text)": "['b', 'a']",
        "text, 'x', int": "['b', 'a']", "text, True, None": "['b', 'a']",
    }  # fmt: skip
    async with sandbox.box("") as box:
        for body, example in given.items():
            adapter = f"def answer(text):\n    return done({body})"
            (run,) = await ran(box, code, adapter, f"{example} => 'a b'")
            assert run.outcome == "held", run
