"""Functions that come as texts, without a file around them."""

from infra.languages.python.functions import Function, functions_of
from infra.records import Code


def parsed_code(text: str, origin: str, name: str = "") -> Code:
    """Return a function's text as a record with its name, parameters and documentation.

    Args:
        text: A text that holds a function; what is told of it is told of its first.
        origin: Where it comes from.
        name: What to call it; the function's own name when empty.

    Raises:
        SyntaxError: The text is not Python as this interpreter reads it, or defines no function.
    """
    function = _first(text)
    return Code.of(
        text,
        name=name or function.name,
        documentation=function.documentation,
        parameters=function.parameters,
        origin=origin,
    )


def _first(text: str) -> Function:
    functions = functions_of(text)
    if not functions:
        raise SyntaxError("it defines no function")
    return functions[0]
