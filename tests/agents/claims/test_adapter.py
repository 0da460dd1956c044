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
        "def answer(items, n=1):\n    return first(items, n)",
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
