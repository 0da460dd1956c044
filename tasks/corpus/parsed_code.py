"""Functions that come as texts, without a file around them."""

from infra.languages import language_named
from infra.records import Code
from tasks.filters import CorpusFunction

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
