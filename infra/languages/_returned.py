"""Code whose functions return something else: nothing for something, something for nothing.

A language has them by one text that changes what leaves the code, `returned.js` and `returned.go`;
Python's are in `infra.languages.python.emptying`, where what stands in place of nothing can agree
with all that is asked. A call of the code by itself is left alone, and so are errors.
"""

from collections.abc import Sequence
from importlib.resources import files

from infra.languages import Mutant
from infra.languages._syntax_tree import SyntaxTreeLanguage


class ReturningLanguage(SyntaxTreeLanguage):
    """A language whose functions can be made to return something else.

    The ways: ``empty`` containers in place of full ones, or ``empty inside`` in theirs, ``full``
    ones in place of empty ones, and ``nothing`` or ``nonsense`` whatever is returned.
    """

    def returning(self, code: str, way: str, *, tells: bool) -> str:
        """Return code with functions that return otherwise, "" where none can.

        Args:
            code: The code under test.
            way: One of those above.
            tells: Whether the process ends where what is returned would be another value.
        """
        raise NotImplementedError

    def emptied_of(self, code: str) -> Sequence[tuple[Mutant, Mutant]]:
        """Return mutants that return nothing, each with one that ends where that differs."""
        ways = ("empty", "empty inside")
        emptied, telling = (self._mutants(code, ways, tells=tells) for tells in (False, True))
        return tuple(zip(emptied, telling, strict=True))

    def unseen_of(self, code: str) -> Sequence[Mutant]:
        """Return mutants on which all programs pass that do not look at what is returned."""
        return self._mutants(code, ("nothing", "nonsense"), tells=False)

    def filled_of(self, code: str) -> Sequence[Mutant]:
        """Return a mutant that ends where something empty is returned, and one that fills it."""
        made = (self._mutants(code, ("full",), tells=tells) for tells in (True, False))
        return tuple(mutant for mutants in made for mutant in mutants)

    def _mutants(self, code: str, ways: Sequence[str], *, tells: bool) -> tuple[Mutant, ...]:
        try:
            made = [(way, self.returning(code, way, tells=tells)) for way in ways]
        except SyntaxError:
            return ()
        return tuple(
            Mutant(kind="empty", line=0, change=f"return x → return {way}", code=text)
            for way, text in made
            if text
        )


def helper(suffix: str) -> str:
    """Return the text that changes what a language's functions return."""
    return files("infra.languages").joinpath(f"returned.{suffix}").read_text("utf-8")
