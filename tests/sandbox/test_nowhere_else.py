"""Code of a corpus or a model runs in boxes and nowhere else: no other module could run it.

The law reads the project's own source: each call that can run a text, a pickle, a module by name or
another program is in the table, with what it runs. A new one is thought about, then listed.
"""

import ast
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from infra.languages.python.scaffolding import DottedNames
from tests.test_layout import MODULES, ROOT

INSIDE = Path("sandbox", "inside")  # what runs in a box, where running texts is the purpose
RUNS = (  # names, and where these end in a star all that begin so
    "exec", "eval", "compile", "__import__", "runpy.*", "importlib.import_module",
    "importlib.util.*", "importlib.machinery.*", "importlib.reload", "pickle.load*",
    "pickle.Unpickler", "marshal.load*", "cloudpickle.load*", "joblib.load", "shelve.*",
    "types.FunctionType", "ctypes.*", "subprocess.*", "pty.*", "timeit.*", "doctest.*",
    "os.system", "os.popen", "os.exec*", "os.spawn*", "os.posix_spawn*", "os.fork*",
    "asyncio.create_subprocess*", "multiprocessing.*", "typing.get_type_hints",
    "concurrent.futures.ProcessPoolExecutor", "yaml.load", "yaml.unsafe_load", "numpy.load",
)  # fmt: skip
HARMLESS = (
    "subprocess.TimeoutExpired",
    "subprocess.PIPE",
    "subprocess.DEVNULL",
    "subprocess.STDOUT",
)
_SERVER = "Prefect's server, with fixed arguments"
_LIBC = "a call of the C library"
ALLOWED = {
    ("agents/claims/literals.py", "importlib.import_module"): "modules of the file's own list",
    ("agents/llm/litellm_transport.py", "importlib.import_module"): "a module of litellm",
    ("agents/llm/price_list.py", "importlib.util.find_spec"): "where litellm's files are",
    ("flows/cli/server.py", "subprocess.Popen"): "Prefect's command line, with fixed arguments",
    ("flows/cli/server.py", "subprocess.run"): "Prefect's command line, with fixed arguments",
    ("flows/runtime/prefect_server.py", "ctypes.CDLL"): _LIBC,
    ("flows/runtime/prefect_server.py", "subprocess.Popen"): _SERVER,
    ("flows/runtime/runs.py", "importlib.import_module"): "a flow of the project's list",
    ("infra/syntax/syntax_tree.py", "importlib.import_module"): "a grammar that a file names",
    ("infra/languages/python/mutation.py", "compile"): "compared, and never executed",
    ("infra/identity.py", "importlib.import_module"): "the project's modules, for their digest",
    ("infra/registry.py", "importlib.import_module"): "the project's plug-ins, by their files",
    (
        "sandbox/backends/docker/wheels.py",
        "asyncio.create_subprocess_exec",
    ): "this pip, under guard",
    ("tasks/corpus/git_history.py", "subprocess.Popen"): "git on objects, with our settings alone",
    ("tasks/sources/commits.py", "subprocess.run"): "git, to write an example of a history",
    ("tasks/stages/annotate/shard.py", "pickle.loads"): "what this run's own flow has pickled",
}


def found_in(text: str) -> Iterator[str]:
    """Yield the dotted names in a module that run what they are given, called or passed on.

    Names that a module only mentions as types of values (``subprocess.Popen[bytes]``) are none.
    """
    tree = ast.parse(text)
    names = DottedNames(tree)
    types = {id(part) for node in ast.walk(tree) for one in _types(node) for part in ast.walk(one)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in types:
            name = names.of(node).removeprefix("builtins.")
            if name not in HARMLESS and any(fnmatch(name, known) for known in RUNS):
                yield name


def _types(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
        yield node.returns
    elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
        yield node.annotation
    elif isinstance(node, ast.ExceptHandler) and node.type:
        yield node.type


def test_no_module_outside_a_box_runs_what_it_is_given_but_those_of_the_list() -> None:
    found = {
        (module.as_posix(), name)
        for module in MODULES
        if INSIDE not in module.parents
        for name in found_in((ROOT / module).read_text("utf-8"))
    }
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("exec(code)", "exec"),
        ("run = eval\nrun(code)", "eval"),
        ("import builtins as b\nb.exec(code)", "exec"),
        ("from importlib import import_module as get\nget(name)", "importlib.import_module"),
        ("import importlib.util as u\nu.spec_from_file_location(a, b)",
         "importlib.util.spec_from_file_location"),
        ("map(compile, texts)", "compile"),
        ("import runpy\nrunpy.run_path(a)", "runpy.run_path"),
        ("from subprocess import check_output\ncheck_output(a)", "subprocess.check_output"),
        ("import os\nos.execv(a, b)", "os.execv"),
        ("import pickle\npickle.loads(a)", "pickle.loads"),
        ("from asyncio import create_subprocess_exec as go\ngo(a)",
         "asyncio.create_subprocess_exec"),
    ],
)  # fmt: skip
def test_a_call_that_runs_what_it_is_given_is_seen(text: str, name: str) -> None:
    assert name in set(found_in(text))


@pytest.mark.parametrize(
    "text", ["import ast\nast.parse(a)", "re.compile(a)", "model.eval()", "x: 'exec'"]
)
def test_a_call_that_only_reads_is_none(text: str) -> None:
    assert set(found_in(text)) == set()
