"""All functions of a set of Python files, with what the rules need to know of each."""

import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from infra.languages.python.functions import Function, functions_of
from infra.records import Code
from tasks.corpus.python_files import PythonFiles, module_of, read_python
from tasks.filters.testable import why_untestable

UNREADABLE = "file does not parse"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A function of a corpus.

    Attributes:
        code: Its record, documentation included.
        stripped: Its source without documentation.
        untestable: The rule by which no test program could judge it, or None.
    """

    code: Code
    stripped: str
    untestable: str | None

    @property
    def name(self) -> str:
        """The function's own name, without those of the classes around it."""
        return self.code.name.rpartition(".")[2]


def find_functions(python: PythonFiles, dropped: Counter[str]) -> list[Found]:
    """Return the functions of all files, by file and line.

    A file that does not parse is passed over with a warning and counted in ``dropped``: corpora
    hold templates and code for other versions of Python.
    """
    found: list[Found] = []
    for file in python.files:
        try:
            functions = functions_of(read_python(file))
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            dropped[UNREADABLE] += 1
            _logger.warning("%s is left out: %s", _place(file, error), error)
            continue
        relative = file.relative_to(python.root)
        found.extend(_found(function, relative) for function in functions)
    return found


def _found(function: Function, file: Path) -> Found:
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
    untestable = why_untestable(function.node, function.parameters)
    return Found(code, function.text_without_documentation, untestable)


def _place(file: Path, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
    else:
        line = getattr(error, "lineno", None) or 1
    return f"{file}:{line}"
