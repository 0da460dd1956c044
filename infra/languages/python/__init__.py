"""Python source code by its syntax tree; nothing is imported and nothing runs."""

from collections.abc import Sequence

from infra.languages import Language, Mutant, languages
from infra.languages.python import (
    canonical,
    control,
    emptying,
    functions,
    mutation,
    scaffolding,
    signature,
)
from infra.languages.python.scaffolding import with_beside


@languages.register("python")
class Python(Language):
    """Python 3, as this interpreter reads it."""

    name = "python"

    def functions_of(self, text: str) -> Sequence[functions.Function]:
        """Return a file's top-level functions and the methods of its classes."""
        return functions.functions_of(text)

    def signature_of(self, code: str) -> str:
        """Return the headers of functions and classes."""
        return signature.signature_of(code)

    def scaffolded(self, code: str) -> str:
        """Return code with the imports and stubs that it lacks."""
        return scaffolding.scaffolded(code)

    def with_beside(self, code: str, beside: str, *, scaffolding: bool) -> str:
        """Return the module of a code and what stands beside it."""
        return with_beside(code, beside, scaffolding=scaffolding)

    def receiver_attributes(self, code: str) -> Sequence[str]:
        """Return what methods without their class read of ``self``."""
        return scaffolding.receiver_attributes(code)

    def mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:
        """Return mutants with one small mistake each."""
        return mutation.mutants_of(code, limit)

    def strong_mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:
        """Return mutants with one gross mistake each."""
        return mutation.strong_mutants_of(code, limit)

    def emptied_of(self, code: str) -> Sequence[tuple[Mutant, Mutant]]:
        """Return mutants that return empty containers, each with one that tells whether it does."""
        return emptying.emptied_of(code)

    def control_of(self, code: str) -> str:
        """Return the code with other local names."""
        return control.control_of(code)

    def canonical_of(self, code: str) -> str:
        """Return the syntax tree without comments, docstrings and names of variables."""
        return canonical.canonical_of(code)
