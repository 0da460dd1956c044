"""Answers to queries without a match: a model writes one, the committee verifies it."""

from collections.abc import Sequence
from typing import Literal

from agents.committee.algorithm import Committee
from agents.committee.trace import TracedModel
from agents.llm.client import LanguageModel
from agents.roles.write import CodeWriter, RefusedCode
from infra.errors import ModelUnavailableError
from infra.languages import languages
from infra.records import Annotation, Code, LanguageModelCall, Pair, Query, Record
from infra.text import is_blank


class WrittenAnswer(Record):
    """An answer that a model wrote, and the committee's decision."""

    code: Code
    status: Literal["verified", "refused"]  # whether the committee labels the pair 1
    reason: str
    calls: tuple[LanguageModelCall, ...]  # those that wrote it
    annotation: Annotation | None = None  # None where the code was rejected before


async def written_answer(
    query: Query,
    refused: Sequence[RefusedCode],
    model: LanguageModel,
    committee: Committee,
    *,
    snippets: bool = False,
) -> WrittenAnswer | None:
    """Return one verified or refused answer to a query, None where the model wrote nothing.

    The code is parsed here and runs in the committee's boxes alone. With ``snippets`` it needs no
    function, as in StaQC (CoSQA+, first version).

    Raises:
        LanguageModelError: The model failed.
        ModelUnavailableError: The committee could not judge the pair.
    """
    calls: list[LanguageModelCall] = []
    text = await CodeWriter(TracedModel(model, calls)).write(query, refused, snippets=snippets)
    if is_blank(text):
        return None
    code = Code.of(text)
    if problem := _problem_of(code.text, snippets=snippets):
        return WrittenAnswer(code=code, status="refused", reason=problem, calls=tuple(calls))
    annotation = await committee.judge(Pair(query=query, code=code))
    if annotation.status == "failed":
        raise ModelUnavailableError(f"a written answer was not verified: {annotation.reason}")
    return WrittenAnswer(
        code=code,
        status="verified" if annotation.label == 1 else "refused",
        reason=annotation.reason,
        calls=tuple(calls),
        annotation=annotation,
    )


def _problem_of(text: str, *, snippets: bool = False) -> str:
    """Return why a text cannot be an answer, "" where it may be one."""
    language = languages.get("python")()
    if not language.is_valid(text):
        return "It is not Python 3: it does not parse."
    if snippets:
        return "" if language.tokens(text) else "It holds no statement."
    return "" if language.functions_of(text) else "It defines no function."
