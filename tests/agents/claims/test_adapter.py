"""Laws of adapters: they lead into the code and out of it, and answer nothing themselves."""

import pytest

from agents.claims.adapter import adapter_fault
from infra.languages.python.scaffolding import scaffolded

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


@pytest.mark.parametrize(
    "adapter",
    [
        "def answer(items, n):\n    return items[:n]",
        "def answer(items, n):\n    return [1, 3]",
        "def answer(items, n):\n    first(items, n)\n    return sorted(items)",
        "def answer(items, n):\n    return first(items, n) + [1]",
        "def answer(items, n):\n    return first(items, n) or []",
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
        "def answer(items, n=[1]):\n    return first(items, n)",
        "def answer(items, **more):\n    return first(items, 1)",
        "async def answer(items, n):\n    return first(items, n)",
        "@first\ndef answer(items, n):\n    return first(items, n)",
        "def reply(items, n):\n    return first(items, n)",
        "def answer(items, n):\n    return first(items, n)\ndef first(items, n):\n    return [1]",
        "first = list\ndef answer(items, n):\n    return first(items)",
        "def answer(items, n):\n    return __import__('os').system('ls') or first(items, n)",
        "def answer(items, n):\n    return eval('1')",
        "def answer(items, n)",
        "",
        f"def answer(items, n):\n    return {'(' * 300}first(items, n){')' * 300}",
        f"def answer(items, n):\n    return first(items, n){'.real' * 900}",
        "from builtins import sorted as list\ndef answer(items, n):\n    return list(first(items))",
        "from builtins import sorted as first\ndef answer(items, n):\n    return first(items)",
        "import builtins as first\ndef answer(items, n):\n    return first.sorted(items)",
        "from heapq import *\ndef answer(items, n):\n    return first(items, n)",
        "def answer(items, n):\n    first = sorted\n    return first(items)",
        "def answer(items, n):\n    list = sorted\n    return list(first(items, n))",
        "def answer(first, items):\n    return first(items)",
        "def answer(items, n):\n    return DummySelf(f=sorted).f(items)",
        "def answer(items, n):\n    return DummySelf(method=sorted).method(items)",
        "def answer(items, n):\n    return DummySelf(**{'method': sorted}).method(items)",
        "def answer(items, n):\n    return DummySelf(word=items).word",
        "def answer(items, n):\n    return first.__globals__['__builtins__']['sorted'](items)",
        "def answer(items, n):\n    return first(items, n).__add__([1])",
        "def answer(items, n):\n    return first(items, n).upper()",
        "def answer(items, n):\n    found = first(items, n)\n    found.sort()\n    return found",
    ],
)
def test_what_computes_replaces_or_never_calls_the_code_is_no_adapter(adapter: str) -> None:
    assert adapter_fault(adapter, CODE)


def test_code_may_have_the_name_of_the_adapter() -> None:
    adapter = "def answer(items):\n    return answer(items)"
    assert adapter_fault(adapter, "def answer(items): ...") == ""
    assert adapter_fault(adapter, "def first(items): ...") == "line 2 computes: answer"
