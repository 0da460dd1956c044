"""The filter of constructors and special methods, which Python itself calls."""

from tasks.filters import NOT_FOR_LANGUAGE, SPECIAL, CorpusFunction, filters, is_special


@filters.register("special-methods")
class SpecialMethods:
    """Drops constructors and special methods such as ``__str__``."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return `SPECIAL` for such a method, None for all else of Python."""
        if not function.is_python:
            return NOT_FOR_LANGUAGE
        is_one = function.syntax is not None and is_special(function.syntax.node.name)
        return SPECIAL if is_one else None
