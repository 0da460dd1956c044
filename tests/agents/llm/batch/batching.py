"""Pairs judged by batches on a scripted server, also as a process that can be killed.

python -m tests.agents.llm.batch.batching SERVER FOLDER PAIRS
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from agents import build_committee
from agents.llm.batch.runner import BatchRunner
from infra.journal import Journal
from infra.records import Annotation
from infra.settings import AnnotationSettings, LanguageModelSettings, Settings, StoreSettings
from sandbox.base import Sandbox
from tests.agents.judging import made_up_sandbox, pairs
from tests.fakes.llm_server import KEY


def batch_settings(base_url: str, folder: Path, requests: int = 50_000, **llm: Any) -> Settings:
    """Return settings for batches on a server."""
    quick: dict[str, Any] = {"model": "openai/scripted", "max_backoff_s": 0.05, "max_retries": 2}
    return Settings(
        llm=LanguageModelSettings(**{**quick, **llm}, base_url=base_url, api_key=SecretStr(KEY)),
        annotation=AnnotationSettings(
            configuration="paper", batch=True, batch_poll_s=0.02, batch_requests=requests
        ),
        store=StoreSettings(folder=folder),
    )


async def one_pass(settings: Settings, number: int, sandbox: Sandbox) -> list[Annotation]:
    """Return the annotations of so many pairs, as far as the kept replies go."""
    committee = build_committee(settings, "recipe", sandbox, by_batch=settings.annotation.batch)
    try:
        return list(await asyncio.gather(*map(committee.judge, pairs(number))))
    finally:
        await committee.close()


async def answer(settings: Settings) -> bool:
    """Answer what waits by batches; return whether anything did."""
    journal = Journal(settings.store.journal)
    runner = BatchRunner(settings.llm, settings.annotation, journal, lambda *_: None)
    return await runner.answer_all()


async def judged(
    settings: Settings, number: int, sandbox: Sandbox | None = None
) -> list[Annotation]:
    """Return the annotations of so many pairs, after as many batches as it takes."""
    sandbox = sandbox or made_up_sandbox()
    while True:
        annotations = await one_pass(settings, number, sandbox)
        if not (settings.annotation.batch and await answer(settings)):
            return annotations


if __name__ == "__main__":
    made = asyncio.run(judged(batch_settings(sys.argv[1], Path(sys.argv[2])), int(sys.argv[3])))
    for item in made:
        print(item.query_id, item.label, item.path)
