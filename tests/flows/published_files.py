"""Small folders in exactly the formats that CodeSearchNet and CoSQA were published in."""

import gzip
import json
import os
import pickle
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.languages.python.functions import functions_of

_MODULES = (
    "textwrap", "statistics", "bisect", "heapq", "fnmatch", "shlex", "base64", "colorsys",
    "difflib", "posixpath", "random", "calendar", "fractions", "ipaddress", "zipfile", "copy",
    "string", "glob", "shutil", "datetime",
)  # fmt: skip
_SPLITS = {"train": 8, "valid": 1, "test": 1}  # of ten functions


class PublishedFunction(NamedTuple):
    """A function as CodeSearchNet has it."""

    module: str
    name: str
    text: str
    documentation: str
    lines: tuple[int, int]

    @property
    def url(self) -> str:
        """Where it stands, with commit and lines, as CodeSearchNet writes it."""
        first, last = self.lines
        return (
            f"https://github.com/example/{self.module}/blob/{'0' * 40}/{self.module}.py"
            f"#L{first}-L{last}"
        )


def standard_library(number: int) -> list[PublishedFunction]:
    """Return that many short functions of Python's standard library, module after module."""
    found = list(_functions())
    assert len(found) >= number
    return found[:number]


def _functions() -> Iterator[PublishedFunction]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    for module in _MODULES:
        for function in functions_of((folder / f"{module}.py").read_text("utf-8")):
            lines = (function.first_line, function.last_line)
            if lines[1] - lines[0] < 8:  # what encoders take their time for is text
                yield PublishedFunction(
                    module, function.name, function.text, function.documentation, lines
                )


def write_codesearchnet(
    folder: Path, functions: Sequence[PublishedFunction], unlicensed: Sequence[str] = ()
) -> Path:
    """Write CodeSearchNet's Python folder: definitions, licences, and documented pairs in splits.

    Args:
        folder: Where ``python`` is made.
        functions: All functions.
        unlicensed: Modules without a licence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    definitions = [_definition(function) for function in functions]
    (folder / "python_dedupe_definitions_v2.pkl").write_bytes(pickle.dumps(definitions, 4))
    modules = {function.module for function in functions}.difference(unlicensed)
    text = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining"
    licences = {f"example/{module}": ("LICENSE", text) for module in sorted(modules)}
    (folder / "python_licenses.pkl").write_bytes(pickle.dumps(licences, 4))
    documented = [function for function in functions if function.documentation]
    start = 0
    for split, tenths in _SPLITS.items():
        end = len(documented) if split == "test" else start + len(documented) * tenths // 10
        part = folder / "python" / "final" / "jsonl" / split
        part.mkdir(parents=True)
        lines = (json.dumps(_documented(function, split)) for function in documented[start:end])
        with gzip.open(part / f"python_{split}_0.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        start = end
    return folder


def _definition(function: PublishedFunction) -> dict[str, object]:
    return {
        "nwo": f"example/{function.module}",
        "sha": "0" * 40,
        "path": f"{function.module}.py",
        "language": "python",
        "identifier": function.name,
        "parameters": "",
        "argument_list": "",
        "return_statement": "",
        "docstring": function.documentation,
        "docstring_summary": function.documentation.partition("\n")[0],
        "docstring_tokens": function.documentation.split(),
        "function": function.text,
        "function_tokens": function.text.split(),
        "url": function.url,
        "score": 0,
    }


def _documented(function: PublishedFunction, split: str) -> Mapping[str, object]:
    return {
        "repo": f"example/{function.module}",
        "path": f"{function.module}.py",
        "func_name": function.name,
        "original_string": function.text,
        "language": "python",
        "code": function.text,
        "code_tokens": function.text.split(),
        "docstring": function.documentation,
        "docstring_tokens": function.documentation.split(),
        "sha": "0" * 40,
        "url": function.url,
        "partition": split,
    }


def cosqa_queries(number: int) -> list[str]:
    """Return CoSQA's own queries where COSQA_DATA names its files, else ours, repeated in part."""
    if folder := os.environ.get("COSQA_DATA"):
        rows = json.loads((Path(folder) / "cosqa-dev.json").read_text("utf-8"))
        texts = list(dict.fromkeys(row["doc"] for row in rows))
    else:
        import tasks.sources  # noqa: PLC0415 - its folder holds the file

        file = Path(tasks.sources.__file__).with_name("stdlib_queries.jsonl")
        own = [json.loads(line)["query"] for line in file.read_text("utf-8").splitlines()]
        texts = own + [f"{text} in python 3" for text in own]
    return texts[:number]


def write_cosqa(folder: Path, queries: Sequence[str]) -> Path:
    """Write ``cosqa-all.json``: a row for each query, each with a function that nobody searches."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "idx": f"cosqa-train-{number}",
            "doc": query,
            "code": f"def answer_{number}(x):\n    return x\n",
            "code_tokens": "",
            "docstring_tokens": "",
            "label": 0,
        }
        for number, query in enumerate(queries)
    ]
    (folder / "cosqa-all.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder
