"""Programming languages: parsing, signatures, scaffolding, mutants and controls of their code.

To add a language, add one file here (or a folder, named like the language) with a subclass of
``Language`` that is decorated with ``@languages.register("name")``; where a grammar of tree-sitter
can be installed, a subclass of `infra.syntax.syntax_tree.SyntaxTreeLanguage` is a table of the
grammar's names. A conformance test checks it as soon as it exists. What a language takes whose code
boxes run, `sandbox.executed` says.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import ClassVar

from pydantic import BaseModel

from infra.registry import Registry

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Function:
    """A function or method of a file.

    Attributes:
        name: Its name, qualified by those of the classes around it.
        first_line: Number of its first line, decorators or annotations included, counted from 1.
        last_line: Number of its last line.
        in_class: Whether it is a method, and its class is there.
        parameters: The names, without the object or class that a method is bound to.
        returns_value: Whether a ``return`` of its own has a value.
        documentation: What documents it, without marks of comments; "" where there is nothing.
        text: The source, moved to the left margin.
        text_without_documentation: The source without its documentation.
        has_error: Whether a part of it could not be parsed.
    """

    name: str
    first_line: int
    last_line: int
    in_class: bool
    parameters: tuple[str, ...]
    returns_value: bool
    documentation: str
    text: str = field(repr=False)
    text_without_documentation: str = field(repr=False)
    has_error: bool = False


class Mutant(BaseModel, frozen=True):
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

    A language whose programs are only searched, not executed, needs the two abstract methods alone,
    and `suffixes` where its files are to be found.

    Attributes:
        name: Its registered name.
        title: What prompts call it.
        suffixes: How the names of its files end, such as ".py".
        keywords: The words of its tokens that are no identifiers.
        left_out_folders: Names of folders whose files are no part of a project's own code. By
            default those that CodeSearchNet leaves out (arXiv 1909.09436).
        receivers: What the object or class of a method is called among its parameters.
        is_executed: Whether a box runs its functions here; agents judge other code by reading.
        unseen: Ways of `returning` whatever is returned, on which programs pass that do not look.
        filled: Ways of `returning` something in place of nothing.
    """

    name: ClassVar[str]
    title: ClassVar[str] = "program"
    suffixes: ClassVar[tuple[str, ...]] = ()
    keywords: ClassVar[frozenset[str]] = frozenset()
    left_out_folders: ClassVar[frozenset[str]] = frozenset(
        {"test", "tests", "vendor", "node_modules"}
    )
    receivers: ClassVar[frozenset[str]] = frozenset()
    is_executed: ClassVar[bool] = False
    unseen: ClassVar[tuple[str, ...]] = ("nothing", "nonsense")
    filled: ClassVar[tuple[str, ...]] = ("full",)

    @abstractmethod
    def functions_of(self, text: str) -> Sequence[Function]:
        """Return the functions and methods of a file, in their order.

        Raises:
            SyntaxError: The text cannot be parsed.
        """

    @abstractmethod
    def signature_of(self, code: str) -> str:
        """Return the headers of a piece of code's functions and classes, "" where there is none."""

    def is_valid(self, code: str) -> bool:
        """Return True if a piece of code can be parsed."""
        try:
            self.functions_of(code)
        except SyntaxError:
            return False
        return True

    def decoded(self, content: bytes) -> str:
        """Return a file's text, which is UTF-8 where the language has no rule of its own.

        Raises:
            UnicodeDecodeError: It is not in its encoding.
            SyntaxError: It declares an unknown encoding.
        """
        return content.decode("utf-8-sig")

    def is_generated(self, text: str) -> bool:  # noqa: ARG002 - by default
        """Return True if a file says that a program wrote it.

        Modules of Python never do: those of which a part is generated have functions by hand, too.

        Raises:
            SyntaxError: The text cannot be parsed.
        """
        return False

    def is_special(self, name: str) -> bool:  # noqa: ARG002 - by default
        """Return True if CodeSearchNet leaves a function out by its name, qualified or not.

        It does so with constructors and with methods that the language itself calls.
        """
        return False

    def normalised(self, code: str) -> str:
        """Return code as records hold it: without what means nothing to any reader.

        That is a byte order mark, line ends of other systems, and empty lines around it; a language
        adds its own blanks. Equal codes are told by this text, and it is a fixed point.
        """
        return plain_lines(code)

    def canonical(self, code: str) -> str:
        """Return the digest that equal functions share, whatever their layout and comments."""
        return self.normalised(code)

    def tokens(self, code: str) -> Sequence[str]:
        """Return names, literals and operators of a code, whether it can be parsed or not."""
        return _TOKEN.findall(code)

    def identifiers(self, code: str) -> Sequence[str]:
        """Return a code's identifiers as often as they occur; in literals and comments are none."""
        return [
            token
            for token in self.tokens(code)
            if token.isidentifier() and token not in self.keywords
        ]

    def calls(self, code: str) -> Sequence[str]:  # noqa: ARG002 - by default
        """Return the last parts of the names that code calls, inner calls first."""
        return ()

    def translated(self, code: str) -> str:
        """Return code of a former release in today's language; any other as it is."""
        return code

    def scaffolded(self, code: str) -> str:
        """Return code with the imports and stubs that it lacks to be run on its own."""
        return code

    def with_support_code(self, code: str, support_code: str, *, scaffolding: bool) -> str:
        """Return the module of a code and what stands beside it, scaffolded where that is asked.

        Raises:
            SyntaxError: Something stands beside code that cannot be parsed.
        """
        module = f"{support_code}\n{code}" if support_code else code
        return self.scaffolded(module) if scaffolding else module

    def undefined_names(self, code: str) -> frozenset[str]:  # noqa: ARG002 - by default
        """Return the names that code looks up outside itself and that nothing there binds."""
        return frozenset()

    def self_attributes(self, code: str) -> Sequence[str]:  # noqa: ARG002 - by default
        """Return the attributes that an object needs on which methods of the code are called."""
        return ()

    def mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:  # noqa: ARG002 - by default
        """Return at most ``limit`` mutants, each with one small mistake."""
        return ()

    def strong_mutants_of(self, code: str, limit: int) -> Sequence[Mutant]:  # noqa: ARG002
        """Return at most ``limit`` further mutants, which nearly any test would notice."""
        return ()

    def in_layout(self, code: str, mutant: Mutant) -> str:  # noqa: ARG002 - by default
        """Return a mutant's source in the layout of the code, as far as that can be had."""
        return mutant.code

    def stopping_at(self, code: str, line: int) -> str:  # noqa: ARG002 - by default
        """Return code that ends its process where a line is reached, "" where none can."""
        return ""

    def returning(self, code: str, way: str, *, tells: bool) -> str:  # noqa: ARG002 - by default
        """Return code whose functions return something else, "" where none can.

        Errors are left alone, and so is a call of the code by itself.

        Args:
            code: The code under test.
            way: ``empty`` containers in place of full ones, or ``empty inside`` in theirs, or one
                of `unseen` and `filled`.
            tells: Whether the code stops where what is returned would be another value.

        Raises:
            SyntaxError: The code cannot be parsed.
        """
        return ""

    def renamed_equivalent(self, code: str) -> str:
        """Return code that does the same in another text, to tell who reads it from who runs it."""
        return code


def plain_lines(text: str) -> str:
    """Return a text with Unix line ends, without a byte order mark and empty lines around it."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip("\n")


languages: Registry[Callable[[], Language]] = Registry("language", "infra.languages")


@cache
def language_named(name: str) -> Language | None:
    """Return a code's language, None where it is unknown here; Python where nothing is said."""
    name = name.lower() or "python"
    return languages.get(name)() if name in languages.names() else None


@lru_cache(maxsize=1 << 16)
def language_of(code: str) -> Language | None:
    """Return the language of code that comes without one: that which reads it, else None.

    It is the first that finds functions and no error, Python before others, and PHP before
    JavaScript, which takes its variables for names of its own. Otherwise two languages that read
    one text read the same tokens in it.
    """
    for name in ("python", *sorted(languages.names(), reverse=True)):
        language = languages.get(name)()
        try:
            found = language.functions_of(code)
        except SyntaxError:
            continue
        if found and not any(function.has_error for function in found):
            return language
    return None
