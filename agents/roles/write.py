"""The writers of test programs, whose runs are evidence, of answers to queries, and of queries."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from agents.claims.executed import rules_of
from agents.evidence import Draft
from agents.llm.client import Model
from agents.llm.prompt import fence, pair_section, shorten
from agents.llm.structured_output import Reply, Sentences
from agents.roles import Agent, stub_section, undefined_names_section, undefined_section
from infra.languages import Language
from infra.languages.python import joined
from infra.records import Pair, Query

_NO_EVIDENCE = "Why no example of the specification is evidence:"
_FENCE = re.compile(r"\A```[\w+-]*\n(.*?)\n?```\Z", re.DOTALL)


class Composition(Reply):
    """One reading of the query, the program that tests it, and what the code lacks for that."""

    reading: str
    beside: str = ""
    program: str

    def draft_for(self, pair: Pair) -> Draft:
        """Return the program as it was written, without what cannot be stubs of the code."""
        program, code = self.program if self.program.strip() else "", pair.code.text
        rules = rules_of(pair.code.language).stubs
        stubs = rules.usable(self.beside, code)
        draft = Draft(reading=self.reading, program=program, support_code=stubs)
        if fault := rules.fault_of(self.beside, code):
            return draft.with_repair(f"add_import_to_code {self.beside!r}", fault, ok=False)
        return draft


class Writer(Agent[Composition]):
    """Writes the test program of an unclear pair, scaffolding included (CoSQA+, Algorithm 1)."""

    role = "writer"
    reply_type = Composition
    once_more: ClassVar[str] = "Write a better program."
    scaffolding: ClassVar[bool] = False

    async def write(self, pair: Pair, stubs: str = "", problem: str = "") -> Draft:
        """Return a first program, for code with stubs of another agent.

        With ``problem``, why examples that were run on the code are no evidence.
        """
        why = (_NO_EVIDENCE, fence("why", shorten(problem, self._model.code_limit)))
        parts = (*self._parts(pair, stubs), *stub_section(stubs), *(why if problem else ()))
        draft = (await self._ask("\n".join(parts))).draft_for(pair)
        return draft.model_copy(update={"support_code": joined(stubs, draft.support_code)})

    def _parts(self, pair: Pair, stubs: str) -> Iterator[str]:
        """Yield the prompt's part that all programs of a pair with stubs share."""
        limit = self._model.code_limit
        yield pair_section(pair, limit)
        lacking = undefined_section(pair.code, limit, scaffolding=False)
        yield from undefined_names_section(pair.code, limit, stubs) if self.scaffolding else lacking

    async def rewrite(self, pair: Pair, draft: Draft, reason: str) -> Draft:
        """Return another program in place of one that proves nothing."""
        limit = self._model.code_limit
        parts = (
            *self._parts(pair, draft.support_code),
            fence("program that proves nothing", shorten(draft.program, limit)),
            *stub_section(draft.support_code),
            fence("why it proves nothing", shorten(reason, limit)),
            self.once_more,
        )
        return (await self._ask("\n".join(parts))).draft_for(pair).inherit_installations(draft)


class GatedWriter(Writer):
    """Writes programs that notice mistakes which break what the query demands, and no others."""

    text = "gated_writer"
    scaffolding = True
    once_more = (
        "Write a better program: one that notices mistakes which break what the query demands. "
        "Mistakes that it does not forbid may pass; test nothing for their sake."
    )


class BlindWriter(Agent[Composition]):
    """Writes a test program by the query and the code's signature alone.

    A writer that has not read the code cannot take its mistakes for what is wanted.
    """

    role = "blind_writer"
    reply_type = Composition

    def __init__(self, model: Model, language: Language) -> None:
        super().__init__(model)
        self._language = language

    async def write(self, pair: Pair, stubs: str = "") -> Draft:
        """Return a program for code with stubs of another agent, which it need not see."""
        limit, code = self._model.code_limit, pair.code
        parts = [
            fence("query", pair.query.text),
            fence("signature", shorten(self._language.signature_of(code.text), limit)),
            *undefined_names_section(code, limit, stubs),
        ]
        if names := self._language.self_attributes(code.text):
            needed = shorten(", ".join(names), limit)
            parts.append(fence("attributes that the code reads of its object", needed))
        return (await self._ask("\n".join(parts))).draft_for(pair)


class QueriesOfFunction(Reply):
    """What a person would type who needs a function."""

    purpose: Sentences
    keywords: Annotated[str, Field(json_schema_extra={"maxLength": 100})]
    question: Annotated[str, Field(json_schema_extra={"maxLength": 160})]


class QueryWriter(Agent[QueriesOfFunction]):
    """Writes the queries of people who need a function and don't know it."""

    role = "query_writer"
    reply_type = QueriesOfFunction

    async def write(self, function: str) -> QueriesOfFunction:
        """Return queries for a function, whose text has its name hidden."""
        return await self._ask(self.section(function))

    def section(self, function: str) -> str:
        """Return the user message."""
        return fence("code", shorten(function, self._model.code_limit))


class WrittenCode(Reply):
    """An answer to the query."""

    code: str


class RefusedCode(NamedTuple):
    """An earlier answer, and what was wrong with it."""

    code: str
    reason: str


class CodeWriter(Agent[WrittenCode]):
    """Writes code that answers a query (arXiv 2406.11589v1, generation of missing code)."""

    role = "code_writer"
    reply_type = WrittenCode

    async def write(
        self, query: Query, refused: Sequence[RefusedCode] = (), *, snippets: bool = False
    ) -> str:
        """Return code that is to answer the query, without marks of Markdown around it.

        After earlier answers, oldest first; with ``snippets`` it need be no function.
        """
        limit = self._model.code_limit
        parts = [fence("query", query.text)]
        for earlier in refused:
            parts.append(fence("answer that was refused", shorten(earlier.code, limit)))
            parts.append(fence("why it was refused", shorten(earlier.reason, limit)))
        if snippets:
            parts.append("A snippet without a function will do too.")
        if refused:
            parts.append("Write a better answer.")
        reply = await self._ask("\n".join(parts))
        return _FENCE.sub(r"\1", reply.code.strip())
