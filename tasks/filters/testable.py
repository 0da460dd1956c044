"""CoSQA+'s filter of functions that a test program can judge.

Source: Gong et al., "CoSQA+: Pioneering the Multi-Choice Code Search Benchmark with Test-Driven
Agents", the section on collecting the code base: a function is kept when it has at least one input
parameter and a ``return`` statement with a value, for only then can a test give it something and
look at what comes back. The paper says 653,994 of the 1,156,085 Python functions of CodeSearchNet,
and not whether ``self`` is a parameter where a method stands alone; ``testable-without-self`` is
the other reading. Special methods are no exception; ``special-methods`` drops them.
"""

from collections import Counter
from typing import ClassVar

from tasks.filters import NOT_FOR_LANGUAGE, CorpusFunction, filters

NO_PARAMETER = "no input parameter"
NO_RESULT = "no return with a value"
ONLY_SELF = "no input parameter but self"


@filters.register("testable")
class HasInputAndResult:
    """Keeps functions with an input parameter, ``self`` counted, and a returned value.

    It counts functions for both readings.

    Attributes:
        counts_self: Whether ``self`` or ``cls``, as the first parameter of a function whose class
            is not there, is an input.
    """

    counts_self: ClassVar[bool] = True

    def __init__(self) -> None:
        self._judged: Counter[str | None] = Counter()

    @property
    def notes(self) -> list[str]:
        """The numbers of functions that the rule keeps and drops, by both readings."""
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
        return None if reason == ONLY_SELF and self.counts_self else reason


def _reason(function: CorpusFunction) -> str | None:
    if function.syntax is None:
        return function.parse_error or NOT_FOR_LANGUAGE
    parameters = function.syntax.parameters
    if not parameters:
        return NO_PARAMETER
    if not function.syntax.returns_value:
        return NO_RESULT
    receivers = function.language.receivers if function.language else ()
    is_bound = parameters[0] in receivers and not function.syntax.in_class
    return ONLY_SELF if is_bound and len(parameters) == 1 else None
