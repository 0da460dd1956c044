"""Programming languages: parsing, signatures, scaffolding, mutants and controls of their code.

To add a language, add one file here (or a folder, named like the language) with a subclass of
``Language`` that is decorated with ``@languages.register("name")``. A conformance test checks it as
soon as it exists.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from infra.executions import Record
from infra.registry import Registry


class Function(Protocol):
    """A function or method of a file."""

    @property
    def name(self) -> str:
        """Its name, qualified by those of the classes around it."""
        ...

    @property
    def first_line(self) -> int:
        """Number of its first line, decorators or annotations included, counted from 1."""
        ...

    @property
    def last_line(self) -> int:
        """Number of its last line."""
        ...

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, without the object or class that a method is bound to."""
        ...

    @property
    def returns_value(self) -> bool:
        """Whether it has a return statement with a value."""
        ...

    @property
    def documentation(self) -> str:
        """What documents it, without marks of comments; "" where there is nothing."""
        ...

    @property
    def text(self) -> str:
        """The source, moved to the left margin."""
        ...

    @property
    def text_without_documentation(self) -> str:
        """The source without its documentation."""
        ...


class Mutant(Record):
    """The code under test with one mistake.

    Attributes:
        kind: The mutation operator.
        line: Where, counted from 1.
        change: The mistake as ``before → after``, for the evidence and the writer of tests.
        code: The whole mutated source.
    """

    kind: str
    line: int
    change: str
    code: str


class Language(ABC):
    """Source code of one language; nothing is imported and nothing runs.

    A language whose programs are only searched, not executed, needs the two abstract methods alone.

    Attributes:
        name: Its registered name.
    """

    name: ClassVar[str]

    @abstractmethod
    def functions_of(self, text: str) -> Sequence[Function]:
        """Return the functions and methods of a file, in their order.

        Raises:
            SyntaxError: The text cannot be parsed.
        """

    @abstractmethod
    def signature_of(self, code: str) -> str:
        """Return the headers of a piece of code's functions and classes, "" where there is none."""

    def translated(self, code: str) -> str:
        """Return code of a former release in today's language; any other as it is."""
        return code

    def scaffolded(self, code: str) -> str:
        """Return code with the imports and stubs that it lacks to be run on its own."""
        return code

    def with_beside(self, code: str, beside: str, *, scaffolding: bool) -> str:
        """Return the module of a code and what stands beside it, scaffolded where that is asked.

        Raises:
            SyntaxError: Something stands beside code that cannot be parsed.
        """
        module = f"{beside}\n{code}" if beside else code
        return self.scaffolded(module) if scaffolding else module

    def receiver_attributes(self, code: str) -> Sequence[str]:  # noqa: ARG002 - by default
        """Return the attributes that an object needs on which methods of the code are called."""
        return ()

    def mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:  # noqa: ARG002 - by default
        """Return at most ``limit`` mutants, each with one small mistake."""
        return ()

    def strong_mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:  # noqa: ARG002
        """Return at most ``limit`` further mutants, which nearly any test would notice."""
        return ()

    def emptied_of(self, code: str) -> Sequence[tuple[Mutant, Mutant]]:  # noqa: ARG002
        """Return mutants that return nothing, each with one that raises where that differs."""
        return ()

    def unseen_of(self, code: str) -> Sequence[Mutant]:  # noqa: ARG002 - by default
        """Return a mutant on which a program passes that does not look at what is returned."""
        return ()

    def filled_of(self, code: str) -> Sequence[Mutant]:  # noqa: ARG002 - by default
        """Return mutants with something in what is returned empty: see `emptying.filled_of`."""
        return ()

    def control_of(self, code: str) -> str:
        """Return code that does the same in another text, to tell who reads it from who runs it."""
        return code


languages: Registry[Callable[[], Language]] = Registry("language", "infra.languages")
