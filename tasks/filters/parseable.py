"""The filter of functions that Python 3 can parse."""

from tasks.filters import CorpusFunction, filters


@filters.register("parseable")
class Parseable:
    """Keeps functions that this interpreter parses; the reason says what stopped the parser."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return why a function does not parse, or None when it does."""
        return function.parse_error or None
