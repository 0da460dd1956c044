"""A process that judges pairs with a scripted server and prints each label as it comes.

    python -m tests.agents.judging SERVER FOLDER PAIRS AT_ONCE

Killed and started again on the same folder it goes on where it was.
"""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import SecretStr

from agents import Committee, build_committee, build_model, journal_ledger
from infra.records import Code, Pair, Query
from infra.settings import AnnotationSettings, LanguageModelSettings, Settings, StoreSettings
from sandbox.base import Sandbox
from tests.agents.conftest import rule
from tests.fakes.llm_server import KEY
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox

PROGRAM = "from target import plus\nassert plus(1) == {}"


def pairs(number: int) -> list[Pair]:
    """Return so many different pairs."""
    return [
        Pair(query=Query.of(f"add {place}"), code=Code.of(f"def plus(x):\n    return x + {place}"))
        for place in range(number)
    ]


def script(number: int, delay_s: float) -> Iterator[dict[str, object]]:
    """Yield what is said of them: every third is unclear, and half of those are wrong."""
    for place in range(number):
        query = f"add {place}"
        clear = "unclear" if place % 3 == 0 else ("clear_match", "clear_non_match")[place % 2]
        verdict = "answers" if place % 6 else "does_not_answer"
        said: dict[str, dict[str, str]] = {
            "screener": {"reason": "r", "verdict": clear},
            "writer": {"reading": "r", "program": PROGRAM.format(place + 1 - place % 2)},
            "arbiter": {"reason": "r", "verdict": verdict},
        }
        for role, reply in said.items():
            yield rule(role, {"reply": reply, "delay_s": delay_s}, query=query)


def made_up_sandbox() -> Sandbox:
    """Return a sandbox in which nothing runs."""
    return FakeSandbox(lambda program, installed: PASSED if "0" in program else FAILED)


def committee_for(base_url: str, folder: Path, sandbox: Sandbox) -> Committee:
    """Return a committee on the server, its replies kept in the folder."""
    settings = Settings(
        llm=LanguageModelSettings(
            model="openai/scripted", base_url=base_url, api_key=SecretStr(KEY)
        ),
        annotation=AnnotationSettings(configuration="paper"),
        store=StoreSettings(folder=folder),
    )
    model = build_model(settings.llm, journal_ledger(settings.store, settings.llm))
    return build_committee(model, settings.committee, "recipe", sandbox)


async def judge(base_url: str, folder: Path, number: int, at_once: int) -> None:
    """Judge the pairs and print query, label and path of each."""
    committee = committee_for(base_url, folder, made_up_sandbox())
    limit = asyncio.Semaphore(at_once)

    async def one(pair: Pair) -> None:
        async with limit:
            made = await committee.judge(pair)
        print(pair.query.text, made.label, made.path, sep="\t", flush=True)

    await asyncio.gather(*map(one, pairs(number)))
    await committee.close()


if __name__ == "__main__":
    asyncio.run(judge(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
