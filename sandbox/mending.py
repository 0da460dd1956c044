"""Finds the imports that a function taken out of its module lacks, with no model at all.

Nothing of the code is run: its names are read from its symbol table and its syntax tree, and looked
up in Python's own library and in a table of the abbreviations that people use.
"""

import ast
import builtins
import importlib
import symtable
import sys
from collections.abc import Iterator
from functools import cache

from sandbox.inside.python2 import MODULES as PYTHON_2_MODULES

_ABBREVIATIONS = {
    "PIL": "import PIL",
    "BeautifulSoup": "from bs4 import BeautifulSoup",
    "click": "import click",
    "colorama": "import colorama",
    "cv2": "import cv2",
    "DataFrame": "from pandas import DataFrame",
    "etree": "from lxml import etree",
    "flask": "import flask",
    "h5py": "import h5py",
    "Image": "from PIL import Image",
    "jsonify": "from flask import jsonify",
    "K": "from keras import backend as K",
    "lxml": "import lxml.etree",
    "mpl": "import matplotlib as mpl",
    "nx": "import networkx as nx",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "pandas": "import pandas",
    "pd": "import pandas as pd",
    "plt": "import matplotlib.pyplot as plt",
    "psutil": "import psutil",
    "pytz": "import pytz",
    "requests": "import requests",
    "scipy": "import scipy",
    "six": "import six",
    "sns": "import seaborn as sns",
    "sp": "import scipy as sp",
    "stats": "from scipy import stats",
    "tf": "import tensorflow as tf",
    "torch": "import torch",
    "tqdm": "from tqdm import tqdm",
    "yaml": "import yaml",
}
_SEARCHED = (
    "bisect", "collections", "collections.abc", "contextlib", "copy", "datetime", "decimal",
    "functools", "glob", "heapq", "html", "inspect", "io", "itertools", "json", "math", "operator",
    "os", "os.path", "pathlib", "pprint", "random", "re", "shutil", "string", "struct",
    "subprocess", "tempfile", "textwrap", "threading", "time", "timeit", "types", "typing",
    "urllib.parse", "urllib.request", "uuid", "warnings",
)  # fmt: skip
_ALWAYS_THERE = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__"}


def free_names(code: str) -> set[str]:
    """Return the names that code uses and nobody gives it.

    Raises:
        SyntaxError: It is no Python 3.
    """
    table = symtable.symtable(code, "target.py", "exec")
    given = {name.get_name() for name in table.get_symbols() if _is_bound(name)}
    return {name for name in _referenced(table) if name not in given | _ALWAYS_THERE}


def _is_bound(name: symtable.Symbol) -> bool:
    return name.is_assigned() or name.is_imported() or name.is_namespace()


def _referenced(table: symtable.SymbolTable) -> Iterator[str]:
    at_top = table.get_type() == "module"
    for name in table.get_symbols():
        if name.is_referenced() and (name.is_global() or at_top):
            yield name.get_name()
    for child in table.get_children():
        yield from _referenced(child)


def imports_for(code: str) -> dict[str, str]:
    """Return name → import statement for the free names that have an obvious one.

    ``datetime`` is the module or its class, as the attributes that are used of it tell.
    """
    tree = ast.parse(code)
    found = {name: _import_of(name, _attributes(tree, name)) for name in free_names(code)}
    return {name: line for name, line in sorted(found.items()) if line}


def imported_modules(code: str) -> set[str]:
    """Return the top-level modules that code imports anywhere, its functions included."""
    modules = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    return modules


def is_method(code: str) -> bool:
    """Return whether code is a function that belongs to a class."""
    first = ast.parse(code).body[0]
    if not isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    parameters = [*first.args.posonlyargs, *first.args.args]
    return bool(parameters) and parameters[0].arg in ("self", "cls")


def _attributes(tree: ast.AST, name: str) -> set[str]:
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


def _import_of(name: str, attributes: set[str]) -> str:
    if name in _ABBREVIATIONS:
        return _ABBREVIATIONS[name]
    is_module = name in sys.stdlib_module_names and name not in PYTHON_2_MODULES
    if is_module and attributes and attributes <= _content(name):
        return f"import {name}"
    for module in _SEARCHED:
        if name in _content(module):
            return f"from {module} import {name}"
    return ""


@cache
def _content(module: str) -> frozenset[str]:
    """Return the public names of a module of Python's own library that is safe to import."""
    try:
        return frozenset(n for n in dir(importlib.import_module(module)) if not n.startswith("_"))
    except ImportError:
        return frozenset()
