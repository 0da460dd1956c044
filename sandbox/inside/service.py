"""The process of the code under test: it answers the calls of a program in another process.

Nothing here is protected from the code, which may say what it likes: it can do no more than return
it. This process is a new interpreter, which has never held the program.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import resource
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CoroutineType, FunctionType, ModuleType

from sandbox.inside.clock import set_clock
from sandbox.inside.frames import Channel
from sandbox.inside.run_tests import Importer, NumpySeeder, imports_numpy, load_numpy, loader
from sandbox.inside.seccomp import hide_process, restrict_system_calls
from sandbox.inside.values import Graph, NotPlainError, Reader

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any

    from sandbox.inside import Frame, Job, Node

CHANNEL = 3
_COROUTINE = 0x80  # CO_COROUTINE, without importing inspect
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, range)
_LAZY = ("builtins", "itertools")  # modules of iterators that can do no more than go on


def prepare(job: Job) -> Callable[[], None]:
    """Return the call that answers a program's calls; it ends with the program's process."""
    hide_process()
    random.seed(job["hash_seed"])
    sys.path.extend(job["packages"])
    sys.argv = ["program.py"]
    source = Importer(job["text"], loader(job["code"], {job["called"]: lambda: None}))
    sys.meta_path[:0] = [source, NumpySeeder(job["hash_seed"])]
    if imports_numpy(job["text"]):
        load_numpy()
    set_clock(job["clock"])
    resource.setrlimit(resource.RLIMIT_DATA, (job["memory"], job["memory"]))
    restrict_system_calls()
    channel = Channel(CHANNEL, shares_random="random" in job["text"])
    return Service(channel).serve


class Service:
    """The code under test, as the program's process sees it.

    Args:
        channel: The way to that process.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._module = ModuleType("target")
        self._iterators: list[Iterator[object]] = []

    def serve(self) -> None:
        """Answer requests until the program's process has ended."""
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                self._channel.send(self._answer(self._channel.receive()))

    def _answer(self, request: Frame) -> Frame:
        """Return the answer to a request: a value, what was raised, or why there is none."""
        reader = Reader(request["nodes"], [], self._function)
        known = reader.objects()
        values = [reader.value(place) for place in request["places"]]
        graph = Graph(known, self._foreign)
        answer: Frame = {}
        sys.stdout, sys.stderr = out, err = io.StringIO(), io.StringIO()
        try:
            value = self._perform(request, values)
        except BaseException as error:  # noqa: BLE001 - it is the program's to see
            answer["raised"] = [type(error).__module__, type(error).__qualname__]
            value = error.args
        try:
            if not answer and isinstance(value, Iterator) and type(value).__module__ in _LAZY:
                self._iterators.append(value)
                answer["iterator"] = len(self._iterators) - 1
            else:
                answer["place"] = graph.add(value)
            for item in known:
                graph.add(item)
        except (NotPlainError, RecursionError) as error:
            answer = {"unplain": f"of type {error}"}
        printed = [out.getvalue(), err.getvalue()]
        return {**answer, "nodes": graph.nodes, "printed": printed}

    def _perform(self, request: Frame, values: list[Any]) -> object:
        """Do what is asked: load the code, call a function, or go on with an iterator."""
        if "load" in request:
            self._module = importlib.import_module("target")
            return self._names()
        if "next" in request:
            for item in self._iterators[request["next"]]:
                return False, item
            return True, None
        arguments, keywords = values
        result = getattr(self._module, request["call"])(*arguments, **keywords)
        if isinstance(result, CoroutineType):
            import asyncio  # noqa: PLC0415 - takes longer than a call, and few need it

            return asyncio.run(result)
        return result

    def _names(self) -> dict[str, tuple[object, ...]]:
        """Return the names of the code: kind, and a value or what it is."""
        names: dict[str, tuple[object, ...]] = {}
        for name, value in vars(self._module).items():
            is_method = isinstance(value, FunctionType) and name not in ("__getattr__", "__dir__")
            if name.startswith("__") and not is_method:  # such as `__add__` without its class
                continue
            if isinstance(value, ModuleType):
                names[name] = ("module", value.__name__)
            elif isinstance(value, FunctionType | BuiltinFunctionType):
                is_plain = not set(getattr(value, "__dict__", ())) - {"__wrapped__"}
                flags = value.__code__.co_flags if isinstance(value, FunctionType) else 0
                kind = "coroutine" if flags & _COROUTINE else "function"
                text = (value.__doc__, kind)
                names[name] = ("function", *text) if is_plain else ("a function", "with attributes")
            else:
                names[name] = self._value(value)
        return names

    def _value(self, value: object) -> tuple[object, ...]:
        with contextlib.suppress(NotPlainError, RecursionError):
            if type(value) in _CONSTANTS:
                Graph([], self._foreign).add(value)
                return "value", value
        return "an object of type", type(value).__name__

    def _foreign(self, _value: object) -> None:
        """Return None: functions of the code stay here."""

    def _function(self, node: Node) -> object:
        """Return a function of the program, or one of the code that has come back."""
        kind, which = node
        if kind != "callback":
            return getattr(self._module, which)

        def call(*arguments: object, **keywords: object) -> object:
            graph = Graph([], self._foreign)
            places = [graph.add(arguments), graph.add(keywords)]
            self._channel.send({"callback": which, "nodes": graph.nodes, "places": places})
            answer = self._channel.receive()
            reader = Reader(answer["nodes"], [], self._function)
            value: Any = reader.value(answer["place"])
            if answer["raised"]:
                module, name = answer["raised"]
                kind = getattr(importlib.import_module(module), name, Exception)
                error: BaseException = kind.__new__(kind, *value)
                error.args = tuple(value)
                raise error
            return value

        return call
