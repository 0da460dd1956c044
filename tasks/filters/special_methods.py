"""The filter of constructors and special methods, which a language itself calls."""

from tasks.filters import NOT_FOR_LANGUAGE, SPECIAL, CorpusFunction, filters


@filters.register("special-methods")
class SpecialMethods:
    """Drops constructors and special methods such as ``__str__``."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return `SPECIAL` for such a method, None for all else."""
        if function.language is None:
            return NOT_FOR_LANGUAGE
        syntax = function.syntax
        return SPECIAL if syntax and function.language.is_special(syntax.name) else None
