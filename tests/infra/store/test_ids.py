"""Ids have types of their own in the store's functions, so that mypy tells them from strings.

Covers `infra.ids`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Sequence
from typing import Any, get_type_hints

from infra import store
from infra.ids import BenchmarkId, CodeId, QueryId, RecipeId, SearchId

KINDS = {
    "query_id": QueryId, "code_id": CodeId, "search_id": SearchId, "recipe_id": RecipeId,
    "benchmark_id": BenchmarkId,
}  # fmt: skip


def functions() -> Iterator[Any]:
    for info in pkgutil.iter_modules(store.__path__, f"{store.__name__}."):
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if inspect.isfunction(value) and value.__module__ == info.name:
                yield value


def test_an_id_is_no_plain_string() -> None:
    for function in tuple(functions()):
        for name, hint in get_type_hints(function).items():
            if name in KINDS:
                assert hint is KINDS[name], name
            if name.removesuffix("s") in KINDS and name.endswith("s"):
                assert hint == Sequence[KINDS[name.removesuffix("s")]], name  # type: ignore[misc]
