"""CodeSearchNet's filter of functions whose documentation can stand as a query.

Source: Husain et al., "CodeSearchNet Challenge: Evaluating the State of Semantic Code Search"
(2019), section 2: documentation is cut to its first paragraph; a pair is dropped when that has
fewer than three tokens, when the function has fewer than three lines, when its name contains
"test", and when it is a constructor or a special method such as ``__str__``, of which each language
has its own (`infra.languages.Language.is_special`).
"""

import re

from infra.languages import language_named
from infra.records import Code
from tasks.filters import NOT_FOR_LANGUAGE, SPECIAL, CorpusFunction, filters

UNDOCUMENTED = "no documentation"
SHORT_DOCUMENTATION = "documentation of fewer than 3 tokens"
SHORT_FUNCTION = "function of fewer than 3 lines"
TEST = 'name contains "test"'

_FEWEST_TOKENS = 3
_FEWEST_LINES = 3
# An empty line, or the first field: a line such as "@see", or "@param x" and ":param x:" anywhere.
_END = re.compile(
    r"\n\s*\n|^[^\S\n]*@[a-z]"
    r"|(?<!\S)[@:](?:param|arg|type|rtype|return|yield|raise|throw|exception)\w*\b(?!:`)",
    re.MULTILINE,
)


@filters.register("documentation")
class Documentation:
    """Keeps functions that pair with the first paragraph of their documentation."""

    def reason_to_drop(self, function: CorpusFunction) -> str | None:
        """Return the rule that drops a function, or None when its documentation is a query."""
        if function.language is None:
            return NOT_FOR_LANGUAGE
        paragraph = first_paragraph(function.code.documentation)
        return unpaired_reason(function.code, paragraph, function.text_without_documentation)


def first_paragraph(documentation: str) -> str:
    """Return the documentation up to the first empty line or field, on one line."""
    return " ".join(_END.split(documentation.strip(), maxsplit=1)[0].split())


def unpaired_reason(code: Code, paragraph: str, text: str) -> str | None:
    """Return the rule that drops a pair, or None when the paragraph can stand as a query.

    Args:
        code: The function; its name and its language decide whether it is special.
        paragraph: The first paragraph of its documentation.
        text: Its source without documentation, which is what is searched.
    """
    if not paragraph:
        return UNDOCUMENTED
    language = language_named(code.language)
    if language is not None and language.is_special(code.name):
        return SPECIAL
    if "test" in code.name.rpartition(".")[2].lower():
        return TEST
    if len(re.findall(r"\w+", paragraph)) < _FEWEST_TOKENS:
        return SHORT_DOCUMENTATION
    if sum(1 for line in text.splitlines() if line.strip()) < _FEWEST_LINES:
        return SHORT_FUNCTION
    return None
