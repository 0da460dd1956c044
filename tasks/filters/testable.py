"""CoSQA+'s filter of functions that a test program can judge.

Source: Gong et al., "CoSQA+: Pioneering the Multi-Choice Code Search Benchmark with Test-Driven
Agents", the section on collecting the code base: a function is kept when it has at least one input
parameter and a ``return`` statement with a value, for only then can a test give it something and
look at what comes back.
"""

from tasks.filters import CorpusFunction, filters
from tasks.filters._special import SPECIAL, is_special

NO_PARAMETER = "no input parameter"
NO_RESULT = "no return with a value"


@filters.register("testable")
class HasInputAndResult:
    """Keeps functions with an input parameter and a returned value, special methods aside."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return why no test program could judge a function, or None when one can."""
        if function.syntax is None:
            return function.parse_error
        if is_special(function.syntax.node.name):
            return SPECIAL
        if not function.syntax.parameters:
            return NO_PARAMETER
        if not function.syntax.returns_value:
            return NO_RESULT
        return None
