"""A command line that logs the sizes of parameters and results of its flows and tasks.

    python -m tests.flows.recording LOG COMMAND [ARGUMENT ...] [-- COMMAND ...]

Each call of a flow or a task adds a line of JSON to LOG: its kind and name, and the bytes of its
parameters and of its result, in this process and on Ray's workers alike. Flows are measured in
JSON, as Prefect's server gets them, tasks pickled, as workers do.
"""

import functools
import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import cloudpickle
from prefect import Flow, Task, tags
from pydantic_core import to_json

import flows
import tasks
from flows.cli.app import app
from tasks.runtime.caching import Stage


def flows_and_tasks() -> Iterator[Flow[Any, Any] | Task[Any, Any]]:
    """Yield every flow and every task of the project, each once."""
    seen: set[int] = set()
    for package in (flows, tasks):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for named in vars(importlib.import_module(info.name)).values():
                value = named.task if isinstance(named, Stage) else named
                if isinstance(value, Flow | Task) and id(value) not in seen:
                    seen.add(id(value))
                    yield value


def described(item: Flow[Any, Any] | Task[Any, Any]) -> str:
    """Return kind and name: a flow and a task may share a name."""
    return f"{'flow' if isinstance(item, Flow) else 'task'} {item.name}"


def bytes_as_json(value: object) -> int:
    """Return the length of a value in JSON."""
    return len(to_json(value, fallback=str))


def bytes_pickled(value: object) -> int:
    """Return the length of a value as a pickle."""
    return len(cloudpickle.dumps(value))


def recorded(
    name: str, log: Path, size: Callable[[object], int], function: Callable[..., object]
) -> Callable[..., object]:
    """Return the function with its calls added to the log."""

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        result = function(*args, **kwargs)
        line = {"name": name, "parameters": size((args, kwargs)), "result": size(result)}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return result

    return call


def main() -> None:
    """Run the commands in turn."""
    log = Path(sys.argv[1])
    for item in flows_and_tasks():
        size = bytes_as_json if isinstance(item, Flow) else bytes_pickled
        item.fn = recorded(described(item), log, size, item.fn)
    with tags(str(log)):  # tells these runs from others at the same server
        for separates, command in groupby(sys.argv[2:], key=lambda word: word == "--"):
            if not separates:
                app(list(command), standalone_mode=False)


if __name__ == "__main__":
    main()
