"""The module ``target`` of a program whose code under test runs in a process of its own.

That process sees the arguments of calls and answers with plain values. It does not see the program,
its asserts, or what becomes of an answer, and none of its code runs in their process. Where that
changes the meaning, the program is given up: such code needs the asserts' interpreter.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from _thread import RLock
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType

from sandbox.inside.frames import Channel
from sandbox.inside.values import Graph, NotPlainError, Reader

TYPE_CHECKING = False  # see `sandbox.inside`
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sandbox.inside import Frame, Node, Space

CHANNEL = 4  # the socket to the code, and after it the executable where there is one
GIVEN_UP, ALONE = 77, 78  # exit codes: see `runner`
NOT_SEPARABLE = "NotSeparableError"  # the error's type where a program was given up
_BUILT_IN = frozenset(
    name for name in dir(importlib.import_module("builtins")) if not name.startswith("__")
)
_STAR = re.compile(r"\bimport[\s\\(]*\*")
# Words of a program that reads the process's state, which the code may have changed. State that it
# does not read stays as it is, so that nothing in this process obeys it.
_READ = {
    "cwd": re.compile(r"\b(cwd|getcwd|chdir|open|os|pathlib|Path|glob|shutil|tempfile)\b"),
    "environ": re.compile(r"\b(environ|environb|getenv|expandvars|expanduser)\b"),
    "argv": re.compile(r"\bargv\b"),
}


def give_up(reason: str) -> NoReturn:
    """End the process: what follows cannot run with the code in another process."""
    os.write(2, f"\n{reason}\n".encode(errors="backslashreplace"))
    os._exit(GIVEN_UP)


def proxy_loader(
    program: str, code: str, count_call: Callable[[], object], shared: str, *, on_copies: bool
) -> Callable[[Space], None]:
    """Return a function that fills the name space of ``target`` with the other process's names.

    Args:
        program: The program's text.
        code: The text of the code under test.
        count_call: Called for each call of a function of it.
        shared: What in the program reaches into the code's interpreter; "" for nothing.
        on_copies: Whether the program's arguments stay as they were before a call.
    """

    def load(space: Space) -> None:
        if shared:
            give_up(f"the program uses {shared}")
        accepts = {name for name, words in _READ.items() if words.search(program)}
        channel = Channel(CHANNEL, shares_random="random" in code, accepts=accepts)
        texts = (program, code) if _STAR.search(program) else None
        OtherProcess(channel, count_call, texts, on_copies=on_copies).load(space)

    return load


def names_bound_in(text: str) -> set[str]:
    """Return the names that a module's text binds at its top level, also from its functions."""
    symtable = importlib.import_module("symtable")  # rarely needed
    top = symtable.symtable(text, "text", "exec")
    inner, found = [*top.get_children()], top.get_symbols()
    for table in inner:
        inner += table.get_children()
        found += (one for one in table.get_symbols() if one.is_declared_global())
    return {one.get_name() for one in found if one.is_assigned() or one.is_imported()}


def ambiguous_name(names: Space, program: str, code: str) -> str | None:
    """Return a name that a star import may take from the code for another's, None for none.

    Such a name is one of Python, one that the program has elsewhere, or one that the code's text
    does not show. A module is the same for both if the program imports it by that name.

    Args:
        names: Name → what the code's process says that it is.
        program: The program's text.
        code: The code's text.
    """
    shown, own = names_bound_in(code), names_bound_in(program)
    for name, (kind, *details) in names.items():
        if name in _BUILT_IN:
            return name
        if name.startswith("_") or (name in shown and name not in own):
            continue
        if kind != "module":
            return name
        module = re.escape(str(details[0]))
        renamed = "" if name == details[0] else rf"\s+as\s+{re.escape(name)}"
        importing = rf"(\bimport|,)\s*{module}{renamed}\s*($|[,;#])"
        if not re.search(importing, program, re.MULTILINE):
            return name
    return None


class OtherProcess:
    """The process of the code under test, as the program's process sees it.

    Args:
        channel: The way to it.
        count_call: Called for each call of a function of it.
        texts: The program's and the code's, where the program has ``from target import *``.
        on_copies: As of `proxy_loader`.
    """

    def __init__(
        self,
        channel: Channel,
        count_call: Callable[[], object],
        texts: tuple[str, str] | None = None,
        *,
        on_copies: bool = False,
    ) -> None:
        self._on_copies = on_copies
        self._channel = channel
        self._texts = texts
        self._count_call = count_call
        self._callbacks: list[Callable[..., object]] = []
        self._proxies: dict[int, str] = {}
        self._lock = RLock()

    def load(self, space: Space) -> None:
        """Load the code there, and its names into a name space; raises what loading raised."""
        names, unplain = self._ask({"load": True}), {}
        if self._texts and (name := ambiguous_name(names, *self._texts)):
            give_up(f"the program takes {name} from the code under test, perhaps for another's")
        for name, (kind, *details) in names.items():
            if kind == "function":
                space[name] = self._function(name, *details)
            elif kind == "value":
                space[name] = details[0]
            elif kind == "module" and details[0] in sys.modules:  # nothing is loaded by its name
                space[name] = sys.modules[details[0]]
            else:
                unplain[name] = f"{name} of the code under test is {kind} {details[0]}"

        def missing(name: str) -> NoReturn:
            if name in unplain:
                give_up(unplain[name])
            raise AttributeError(f"module 'target' has no attribute {name!r}")

        space["__getattr__"] = missing
        space["__all__"] = [name for name in names if not name.startswith("_")]

    def _function(self, name: str, documentation: str | None, kind: str) -> FunctionType:
        def function(*arguments: object, **keywords: object) -> object:
            return self._call(name, arguments, keywords)

        async def coroutine(*arguments: object, **keywords: object) -> object:
            return self._call(name, arguments, keywords)

        proxy: Any = coroutine if kind == "coroutine" else function
        proxy.__name__ = proxy.__qualname__ = name
        proxy.__doc__, proxy.__module__ = documentation, "target"
        self._proxies[id(proxy)] = name
        return proxy  # type: ignore[no-any-return]

    def _call(
        self, name: str, arguments: tuple[object, ...], keywords: dict[str, object]
    ) -> object:
        self._count_call()
        return self._ask({"call": name}, arguments, keywords)

    def _ask(self, request: Frame, *values: object) -> Any:  # noqa: ANN401 - what the code returns
        """Return the other process's answer, or raise its code's exception."""
        with self._lock:  # a program may call from several threads
            graph, first = Graph([], self._foreign), len(self._callbacks)
            try:
                places = [graph.add(value) for value in values]
            except (NotPlainError, RecursionError) as error:
                give_up(f"a value that goes to the code under test is of type {error}")
            try:
                self._channel.send({**request, "nodes": graph.nodes, "places": places})
                answer = self._channel.receive()
                while "callback" in answer:
                    self._channel.send(self._answer(answer))
                    answer = self._channel.receive()
                return self._result(answer, graph)
            except (EOFError, ConnectionError):
                os._exit(ALONE)
            finally:
                del self._callbacks[first:]

    def _result(self, answer: Frame, graph: Graph) -> Any:  # noqa: ANN401 - what the code returns
        for stream, text in zip((sys.stdout, sys.stderr), answer["printed"], strict=True):
            if text:
                stream.write(text)
        if "unplain" in answer:
            give_up(f"a value that comes from the code under test is {answer['unplain']}")
        if "iterator" in answer:
            return self._items(answer["iterator"])
        try:
            known = graph.objects
            if self._on_copies:  # an empty object in place of one whose contents may change
                contents = (list, dict, set, bytearray)
                known = [type(one)() if type(one) in contents else one for one in known]
            reader = Reader(answer["nodes"], known, self._foreign_value)
            reader.objects()  # what has become of the arguments
            value = reader.value(answer["place"])
        except Exception as error:  # noqa: BLE001 - of whatever the code's process makes up
            give_up(f"a value that comes from the code under test cannot be read: {error!r}")
        if "raised" in answer:
            module, name = answer["raised"]
            raise exception(module, name, value)
        return value

    def _items(self, number: int) -> Iterator[object]:
        while True:
            is_over, item = self._ask({"next": number})
            if is_over:
                return
            yield item

    def _foreign(self, value: object) -> Node | None:
        """Return the node of a function, which the code under test may call."""
        if id(value) in self._proxies:
            return ["target", self._proxies[id(value)]]
        if isinstance(value, FunctionType | MethodType) or (
            isinstance(value, BuiltinFunctionType) and value.__name__ not in _BUILT_IN
        ):
            self._callbacks.append(value)
            return ["callback", len(self._callbacks) - 1]
        return None

    def _foreign_value(self, node: Node) -> object:
        raise ValueError(f"no value: {node[0]!r}")

    def _answer(self, request: Frame) -> Frame:
        """Return the frame that answers the code's call of one of the program's functions."""
        try:
            reader = Reader(request["nodes"], [], self._foreign_value)
            arguments, keywords = map(reader.value, request["places"])
            function = self._callbacks[request["callback"]]
        except Exception as error:  # noqa: BLE001 - of whatever the code's process makes up
            give_up(f"a call by the code under test cannot be read: {error!r}")
        graph = Graph([], self._foreign)
        try:
            value, raised = function(*arguments, **keywords), None
        except Exception as error:  # noqa: BLE001 - it is the code's to see
            value, raised = error.args, [type(error).__module__, type(error).__qualname__]
        try:
            place = graph.add(value)
        except (NotPlainError, RecursionError) as error:
            give_up(f"a value that goes to the code under test is of type {error}")
        return {"nodes": graph.nodes, "place": place, "raised": raised}


def exception(module: str, name: str, arguments: tuple[object, ...]) -> BaseException:
    """Return an exception of Python's own whose module is loaded; give up on others."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and issubclass(kind, BaseException):
            try:
                error = kind.__new__(kind, *arguments)
                error.args = tuple(arguments)
            except Exception as fault:  # noqa: BLE001 - of whatever the code's process makes up
                give_up(f"the code under test raised {name}, which cannot be made: {fault!r}")
            return error
    give_up(f"the code under test raised {name}")
