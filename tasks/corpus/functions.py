"""Functions of a set of source files, and those that come as texts, without a file around them."""

import logging
from collections import Counter
from collections.abc import Iterator
from errno import EINVAL
from pathlib import Path, PurePath

from infra.files import LINK_OUTSIDE
from infra.languages import Function, Language, language_named
from infra.records import Code
from tasks.corpus.source_files import SourceFiles, module_of
from tasks.filters import CorpusFunction
from tasks.inputs.text import printable

FILE_NOT_PARSED = "file does not parse"
FILE_NAME = "file whose name is not UTF-8"
FILE_LARGE = "file of more than 1 MB"
FILE_MINIFIED = "file with a line of more than 5,000 characters"
FILE_GENERATED = "generated file"
OF_FILES = frozenset({FILE_NOT_PARSED, FILE_NAME, FILE_LARGE, FILE_MINIFIED, FILE_GENERATED})

_LARGEST, _LONGEST = 1_000_000, 5_000

_logger = logging.getLogger(__name__)


class _LeftOut(Exception):  # noqa: N818 - no error of the program
    """A file that is left out, and the rule that says so."""


def find_functions(source: SourceFiles, dropped: Counter[str]) -> Iterator[CorpusFunction]:
    """Yield the functions of all files, by file and line.

    A link that leads outside of the folder is left out with a warning and counted in ``dropped``.
    A file that is too large, minified or generated, or that cannot be decoded or parsed, is left
    out so too, and so is a damaged function: corpora hold templates, test data, bundles and code
    for other versions of a language.
    """
    for link in source.outside:
        dropped[LINK_OUTSIDE] += 1
        _logger.warning(
            "%s is left out: the link leads outside of %s, or nowhere: put the files themselves "
            "there", printable(link), printable(source.root),
        )  # fmt: skip
    for file in source.files:
        relative = file.relative_to(source.root)
        if printable(relative) != str(relative):
            dropped[FILE_NAME] += 1
            _logger.warning("%s is left out: its name is not UTF-8", printable(file))
            continue
        language = source.languages[file.suffix]
        try:
            found = language.functions_of(read_source(file, language))
            whole = [function for function in found if not function.has_error]
            licence = source.licence_of(file)
            functions = [
                corpus_function(function, relative, language, licence) for function in whole
            ]
        except _LeftOut as rule:
            dropped[str(rule)] += 1
            _logger.warning("%s is left out: %s", file, rule)
            continue
        except (OSError, SyntaxError, UnicodeError, LookupError) as error:
            dropped[FILE_NOT_PARSED] += 1
            line = getattr(error, "lineno", None) or 1
            if isinstance(error, UnicodeDecodeError):
                line += error.object.count(b"\n", 0, error.start)
            _logger.warning("%s:%s is left out: %s", file, line, error)
            continue
        if damaged := len(found) - len(whole):
            dropped[NOT_PARSED] += damaged
        yield from functions


def read_source(file: Path, language: Language) -> str:
    """Return a file's text in its encoding, without reading one that is larger than any module.

    Raises:
        OSError: The file cannot be read.
        SyntaxError: It declares no known encoding.
        UnicodeDecodeError: It is not in its encoding.
    """
    if not file.is_file():  # a named pipe would be waited for
        raise OSError(EINVAL, "no file", str(file))
    if file.stat().st_size > _LARGEST:
        raise _LeftOut(FILE_LARGE)
    text = language.decoded(file.read_bytes())
    if max(map(len, text.split("\n"))) > _LONGEST:
        raise _LeftOut(FILE_MINIFIED)
    if language.is_generated(text):
        raise _LeftOut(FILE_GENERATED)
    return text


def corpus_function(
    function: Function, file: PurePath, language: Language, licence: str = ""
) -> CorpusFunction:
    """Return a function of a file, whose path is relative to the root of its corpus."""
    code = Code.of(
        function.text,
        name=function.name,
        module=module_of(file),
        first_line=function.first_line,
        last_line=function.last_line,
        documentation=function.documentation,
        parameters=function.parameters,
        origin=f"{file.as_posix()}:{function.first_line}",
        language=language.name,
        licence=licence,
    )
    return CorpusFunction(code, function)


NOT_PARSED = "function does not parse"
NO_FUNCTION = "text without a function"

_PYTHON_2 = ("in call to 'print'", "in call to 'exec'", "multiple exception types")
_TOO_DEEP = ("nested", "recursion")


def parse_function(text: str, origin: str, name: str = "", language: str = "") -> CorpusFunction:
    """Return a text as a function with its name, parameters and documentation.

    A text that does not parse, or that defines no function, is one without syntax; its record has
    no name but the given one.

    Args:
        text: A text that holds a function; its first one is described where it holds several.
        origin: Where it comes from.
        name: What to call it; the function's own name when empty.
        language: A known language; Python when empty.

    Raises:
        ValueError: The text is empty.
    """
    reader = language_named(language)
    try:
        functions = reader.functions_of(text) if reader else ()
    except SyntaxError as error:
        return _without_syntax(text, origin, name, f"{NOT_PARSED}: {_problem(error)}")
    if functions and functions[0].has_error:
        return _without_syntax(text, origin, name, f"{NOT_PARSED}: {_problem(SyntaxError())}")
    if not functions:
        return _without_syntax(text, origin, name, NO_FUNCTION)
    code = Code.of(
        text,
        name=name or functions[0].name,
        documentation=functions[0].documentation,
        parameters=functions[0].parameters,
        origin=origin,
    )
    return CorpusFunction(code, functions[0])


def text_of_language(code: Code) -> CorpusFunction:
    """Return a record with its syntax, parameters and documentation.

    Code of an unknown language is not parsed; what it lacks of name or documentation stays lacking.
    """
    if language_named(code.language) is None:
        return CorpusFunction(code, None)
    parsed = parse_function(code.text, code.origin, code.name, code.language)
    known = code.model_dump(exclude={"text", "name", "parameters", "documentation"})
    documentation = code.documentation or parsed.code.documentation
    return parsed.with_fields(**known, documentation=documentation)


def _without_syntax(text: str, origin: str, name: str, problem: str) -> CorpusFunction:
    return CorpusFunction(Code.of(text, origin=origin, name=name), None, problem)


def _problem(error: SyntaxError) -> str:
    """Return the parser's error, as one of few phrases that functions can be counted by."""
    message = error.msg or ""
    if isinstance(error, TabError):
        return "tabs and spaces mixed"
    if isinstance(error, IndentationError):
        return "wrong indentation"
    if "null bytes" in message:
        return "null byte"
    if any(words in message for words in _PYTHON_2):
        return "Python 2 statement"
    if any(words in message for words in _TOO_DEEP):
        return "nested too deeply"
    return "invalid syntax"
