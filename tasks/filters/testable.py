"""CoSQA+'s filter of functions that a test program can judge.

Source: Gong et al., "CoSQA+: Pioneering the Multi-Choice Code Search Benchmark with Test-Driven
Agents", the section on collecting the code base: a function is kept when it has at least one input
parameter and a ``return`` statement with a value, for only then can a test give it something and
look at what comes back. The paper says 653,994 of the 1,156,085 Python functions of CodeSearchNet,
and not whether ``self`` is a parameter where a method stands alone; ``testable-without-self`` is
the other reading. Special methods are no exception; ``special-methods`` drops them.
"""

from tasks.filters import filters
from tasks.filters._testable import NO_PARAMETER, NO_RESULT, InputAndResultRule

__all__ = ["NO_PARAMETER", "NO_RESULT", "HasInputAndResult"]


@filters.register("testable")
class HasInputAndResult(InputAndResultRule):
    """Keeps functions with an input parameter, ``self`` counted, and a returned value."""

    def __init__(self) -> None:
        super().__init__(counts_self=True)
