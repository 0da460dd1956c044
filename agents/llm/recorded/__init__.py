"""Models called ``recorded/NAME``: replies that were given once, in ``NAME.jsonl`` beside it.

The first line says whose they are (``by``). Each further one has a request's ``role``, its ``key``
and the ``reply``. The key is made of what the request is about, not of the prompt's words: so a
prompt may change and the reply is found all the same.
"""

import json
import re
from functools import cache
from importlib.resources import files

from agents.llm.client import OnCall, ignore_call
from agents.llm.ledger import Ledger
from agents.llm.prompt import Prompt
from agents.llm.structured_output import ReplyType, read
from infra.errors import ModelRefusedError
from infra.identity import digest_of, mark_of
from infra.records import LanguageModelCall
from infra.settings import RECORDED_PREFIX, LanguageModelSettings

# Parts of a prompt that tell requests of one role apart, and that no report of a run is in.
_ABOUT = re.compile(
    r"^<<<((?:query|code|signature|arguments|program|faulty adapter)\b[^\n]*) (\w{3,})"
    r"\n(.*?)\n\2>>>$",
    re.DOTALL | re.MULTILINE,
)


def key_of(role: str, prompt: str) -> str:
    """Return the key of a request: its role, with query, code, arguments and programs in it."""
    return digest_of([role, [[name, text] for name, _, text in _ABOUT.findall(prompt)]])


@cache
def recording(model: str) -> tuple[str, dict[str, str]]:
    """Return whose the replies of a recorded model are, and key → reply.

    Raises:
        ModelRefusedError: There are no replies of that name.
    """
    name = model.removeprefix(RECORDED_PREFIX)
    file = files(__name__) / f"{name}.jsonl"
    if not re.fullmatch(r"[\w-]+", name) or not file.is_file():
        raise ModelRefusedError(f"llm.model {model}: no replies of that name are recorded")
    head, *lines = map(json.loads, file.read_text("utf-8").splitlines())
    replies = {line["key"]: json.dumps(line["reply"], ensure_ascii=False) for line in lines}
    return head["by"], replies


def recipe_of_replies(model: str) -> dict[str, str]:
    """Return what a recipe keeps of a recorded model's replies; errors as above."""
    by, replies = recording(model)
    return {"by": by, "mark": mark_of(replies)}


class RecordedReplies:
    """A model that gives recorded replies, which cost nothing; of its ledger it asks nothing."""

    def __init__(self, settings: LanguageModelSettings, ledger: Ledger) -> None:
        self.code_limit = settings.max_code_characters
        self._model = settings.model
        self._ledger = ledger

    async def ask(
        self,
        role: str,
        prompt: Prompt,
        reply_type: type[ReplyType],
        on_call: OnCall = ignore_call,
    ) -> ReplyType:
        """Return the recorded reply.

        Raises:
            ModelRefusedError: There is none: the request is about other queries or codes.
        """
        key = key_of(role, prompt.user)
        text = recording(self._model)[1].get(key)
        if text is None:
            raise ModelRefusedError(
                f"{self._model} has no reply of the {role} to this: it knows the packaged sample, "
                "by its top 5 and configuration, and nothing else. To have other pairs judged set "
                "COSQA_LLM__MODEL (or --model) and COSQA_LLM__API_KEY"
            )
        call = LanguageModelCall(
            role=role, attempt=1, model=self._model, prompt_digest=key, status="ok",
            reply=text, cost_usd=0.0, cached=True,
        )  # fmt: skip
        on_call(call)
        return read(text, reply_type)

    async def close(self) -> None:
        """Close the ledger."""
        await self._ledger.close()
