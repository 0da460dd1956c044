"""The agents by subject, a system text (``.txt``) for each; here what they have in common.

That is their base, a role with its system text, a type of reply and a model; and parts of prompts.

To add an agent, add a subclass of `Agent` with its ``role`` and ``reply_type``, and the text
``<role>.txt``, and let it take part in `agents.committee.configurations` and ``algorithm``.
"""

from typing import ClassVar, Generic, Literal

from agents.llm.client import Model
from agents.llm.prompt import Prompt, fence, shorten, system_text
from agents.llm.structured_output import Reply, ReplyType
from infra.languages import language_named
from infra.records import Code


class Agent(Generic[ReplyType]):
    """A role that a language model takes; it raises `LanguageModelError` where the model fails."""

    role: ClassVar[str]  # under which its calls are persisted
    text: ClassVar[str] = ""  # the file with its system text, where that is not the role
    reply_type: type[ReplyType]

    def __init__(self, model: Model) -> None:
        self._model = model

    @classmethod
    def text_name(cls) -> str:
        """Return the name of the file with the system text."""
        return cls.text or cls.role

    async def _ask(self, user: str) -> ReplyType:
        """Return the reply to a user message."""
        prompt = Prompt(system=system_text(self.text_name(), self._model.language), user=user)
        return await self._model.ask(self.role, prompt, self.reply_type)


_ON_STUBS = (
    "An agent put this before the code, for names that it lacks: it is not the code's own doing."
)
_STUBS = (
    '"beside": source of these names alone: imports, else stand-ins that do nothing, else left out.'
)


def undefined_section(
    code: Code, limit: int, stubs: str = "", *, scaffolding: bool = True
) -> tuple[str, ...]:
    """Return the part of a prompt that names what code with stubs lacks; none for nothing."""
    language = language_named(code.language)
    if language is None or not (scaffolding or language.name == "python"):
        return ()
    whole = f"{stubs}\n{code.text}" if stubs else code.text
    names = sorted(language.undefined_names(language.scaffolded(whole) if scaffolding else whole))
    return (fence("names that the code lacks", shorten(", ".join(names), limit)),) if names else ()


def undefined_names_section(code: Code, limit: int, stubs: str = "") -> tuple[str, ...]:
    """Return `undefined_section` with what is asked for in the reply's field ``beside``."""
    names = undefined_section(code, limit, stubs)
    return (*names, _STUBS) if names else ()


def stub_section(stubs: str) -> tuple[str, ...]:
    """Return the part of a prompt that shows the code's stubs; none where it has none."""
    return (fence("beside the code", stubs.strip()), _ON_STUBS) if stubs.strip() else ()


class Judgement(Reply):
    """The last word."""

    reason: str
    verdict: Literal["answers", "does_not_answer"]
