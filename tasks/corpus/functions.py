"""Functions of a set of Python files."""

import logging
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from infra.languages.python.functions import Function, functions_of
from infra.links import LINK_OUTSIDE
from infra.records import Code
from tasks.corpus.python_files import PythonFiles, module_of, read_python
from tasks.files.text import printable
from tasks.filters import CorpusFunction

FILE_NOT_PARSED = "file does not parse"
FILE_NAME = "file whose name is not UTF-8"

_logger = logging.getLogger(__name__)


def find_functions(python: PythonFiles, dropped: Counter[str]) -> Iterator[CorpusFunction]:
    """Yield the functions of all files, by file and line.

    A link that leads outside of the folder is left out with a warning and counted in ``dropped``.
    A file that cannot be decoded or parsed is left out so too:
    corpora hold templates, test data and code for other versions of Python.
    """
    for link in python.outside:
        dropped[LINK_OUTSIDE] += 1
        _logger.warning(
            "%s is left out: the link leads outside of %s, or nowhere: put the files themselves "
            "there", printable(link), printable(python.root),
        )  # fmt: skip
    for file in python.files:
        relative = file.relative_to(python.root)
        if printable(relative) != str(relative):
            dropped[FILE_NAME] += 1
            _logger.warning("%s is left out: its name is not UTF-8", printable(file))
            continue
        try:
            functions = [
                _corpus_function(function, relative) for function in functions_of(read_python(file))
            ]
        except (OSError, SyntaxError, UnicodeError, LookupError, tokenize.TokenError) as error:
            dropped[FILE_NOT_PARSED] += 1
            _logger.warning("%s is left out: %s", _place(file, error), error)
            continue
        yield from functions


def _corpus_function(function: Function, file: Path) -> CorpusFunction:
    code = Code.of(
        function.text,
        name=function.name,
        module=module_of(file),
        first_line=function.first_line,
        last_line=function.last_line,
        documentation=function.documentation,
        parameters=function.parameters,
        origin=f"{file.as_posix()}:{function.first_line}",
    )
    return CorpusFunction(code, function)


def _place(file: Path, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
    else:
        line = getattr(error, "lineno", None) or 1
    return f"{file}:{line}"
