"""Models called ``recorded/NAME``: replies that were given once, in ``NAME.jsonl`` beside it.

The first line says whose they are (``by``). Each further one has a request's ``role``, its ``key``
and the ``reply``. The key is made of what the request is about, not of the prompt's words: so a
prompt may change and the reply is found all the same.
"""

import json
import re
from functools import cache
from importlib.resources import files

from agents.llm.client import LanguageModel, OnCall
from agents.llm.reply import Request
from infra.errors import ModelRefusedError
from infra.identity import digest_of
from infra.records import LanguageModelCall
from infra.settings import RECORDED_PREFIX

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
    """Return whose the replies of a recorded model are, and key → reply."""
    name = model.removeprefix(RECORDED_PREFIX)
    file = files(__name__) / f"{name}.jsonl"
    if not re.fullmatch(r"[\w-]+", name) or not file.is_file():
        raise ModelRefusedError(f"llm.model {model}: no replies of that name are recorded")
    head, *lines = map(json.loads, file.read_text("utf-8").splitlines())
    replies = {line["key"]: json.dumps(line["reply"], ensure_ascii=False) for line in lines}
    return head["by"], replies


class RecordedReplies(LanguageModel):
    """A model that gives recorded replies, which cost nothing; of its ledger it asks nothing."""

    async def call(self, request: Request, on_call: OnCall) -> LanguageModelCall:  # noqa: ARG002 - of calls that fail
        """Return a call with the recorded reply."""
        model, prompt = self._model, request.messages[1]["content"]
        key = key_of(request.role, prompt)
        text = recording(model)[1].get(key)
        if text is None:
            raise ModelRefusedError(
                f"{model} has no reply of the {request.role} to this: it knows the packaged "
                "sample, by its top 5 and configuration, and nothing else. To have other pairs "
                "judged set COSQA_LLM__MODEL (or --model) and COSQA_LLM__API_KEY"
            )
        return LanguageModelCall(
            role=request.role, attempt=request.attempt, model=model, prompt_digest=key,
            status="ok", reply=text, cost_usd=0.0, cached=True,
        )  # fmt: skip
