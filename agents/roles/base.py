"""The base of the agents: a role with its system text, a type of reply, and a model."""

from typing import ClassVar, Generic, Literal

from agents.llm.client import Model
from agents.llm.prompt import Prompt, system_text
from agents.llm.structured_output import Reply, ReplyType


class Agent(Generic[ReplyType]):
    """A role that a language model takes.

    Attributes:
        role: Its name, under which its calls are kept.
        text: The name of the file with its system text, where that is not the role.
        reply_type: What the model must reply.
    """

    role: ClassVar[str]
    text: ClassVar[str] = ""
    reply_type: type[ReplyType]

    def __init__(self, model: Model) -> None:
        self._model = model

    @classmethod
    def text_name(cls) -> str:
        """Return the name of the file with the system text."""
        return cls.text or cls.role

    async def _ask(self, user: str) -> ReplyType:
        """Return the reply to a user message; ``LanguageModelError`` when the model fails."""
        prompt = Prompt(system=system_text(self.text_name()), user=user)
        return await self._model.ask(self.role, prompt, self.reply_type)


class Judgement(Reply):
    """The last word."""

    reason: str
    verdict: Literal["answers", "does_not_answer"]
