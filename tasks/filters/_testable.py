"""CoSQA+'s rule of functions that a test program can judge, for both readings of ``self``."""

from collections import Counter

from tasks.filters import CorpusFunction

NO_PARAMETER = "no input parameter"
NO_RESULT = "no return with a value"
ONLY_SELF = "no input parameter but self"
NO_SYNTAX = "code of a language that the rule is not for"

_BOUND = frozenset({"self", "cls"})


class InputAndResultRule:
    """Judges functions, and counts them for both readings.

    Args:
        counts_self: Whether ``self`` or ``cls``, as the first parameter of a function whose class
            is not there, is an input.
    """

    def __init__(self, *, counts_self: bool) -> None:
        self._counts_self = counts_self
        self._judged: Counter[str | None] = Counter()

    @property
    def notes(self) -> list[str]:
        """How many functions the rule keeps and drops, by both readings."""
        total, kept = self._judged.total(), self._judged[None]
        with_self = kept + self._judged[ONLY_SELF]
        note = (
            f"testable functions of {total:,}: self counted {with_self:,} kept, "
            f"{total - with_self:,} dropped; self not counted {kept:,} kept, "
            f"{total - kept:,} dropped"
        )
        return [note]

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return why no test program could judge a function, or None when one can."""
        reason = _reason(function)
        self._judged[reason] += 1
        return None if reason == ONLY_SELF and self._counts_self else reason


def _reason(function: CorpusFunction) -> str | None:
    if function.syntax is None:
        return function.parse_error or NO_SYNTAX
    parameters = function.syntax.parameters
    if not parameters:
        return NO_PARAMETER
    if not function.syntax.returns_value:
        return NO_RESULT
    is_bound = parameters[0] in _BOUND and not function.syntax.in_class
    return ONLY_SELF if is_bound and len(parameters) == 1 else None
