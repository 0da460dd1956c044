"""What the agents' tests share: a pair, settings for the scripted server, a committee on fakes."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

import pytest

from agents import Committee, build_committee, build_model
from agents.committee.trace import TracedModel
from agents.llm.client import LanguageModel
from agents.llm.ledger import JournalLedger, journal_ledger
from agents.roles.read import Screener
from infra.records import Code, LanguageModelCall, Pair, Query
from infra.settings import (
    AnnotationSettings,
    Configuration,
    Evidence,
    LanguageModelSettings,
    SandboxSettings,
    Settings,
    StoreSettings,
)
from sandbox.base import Sandbox
from tests.fakes.llm_server import KEY, ScriptedServer
from tests.fakes.specified import SCREENING, SPECIFICATION
from tests.real_sandbox import real_sandbox

QUICK: dict[str, Any] = {"model": "openai/scripted", "max_backoff_s": 0.05, "max_retries": 2}

Screen = Callable[[LanguageModel, list[LanguageModelCall]], Awaitable[str]]

CLEAR = {"reply": {"reason": "it reverses", "verdict": "clear_match"}}


def rule(role: str, *steps: dict[str, Any], **where: str) -> dict[str, Any]:
    """Return a rule of the scripted server."""
    return {"role": role, "steps": list(steps), **where}


SPECIFIED = rule("specifier", {"reply": SPECIFICATION})
# No code with one parameter takes the arguments of its examples.
UNFIT_EXAMPLES = "'abc', 1 => 'cba'\n'ab', 1 => 'ba'\n'a', 1 => 'a'"
UNFIT = rule("specifier", {"reply": SPECIFICATION | {"examples": UNFIT_EXAMPLES}})
# No claim is run, and reading does not decide: a test program is written.
IN_DOUBT = (
    UNFIT,
    rule("screener", {"reply": SCREENING | {"verdict": "unclear_behaviour", "adapter": ""}}),
)


# Libraries are imported, which takes long where the machine is busy.
BOXES = SandboxSettings(slots=2, ready=1, memory_mb=512, timeout_s=90.0, tmp_mb=16, output_kb=8)


@pytest.fixture(scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    """One sandbox on the real engine for all tests of agents."""
    async with real_sandbox(BOXES) as made:
        yield made


@pytest.fixture
def pair() -> Pair:
    """A query with a function that answers it."""
    return Pair(
        query=Query.of("python reverse a string"),
        code=Code.of("def backwards(text):\n    return text[::-1]", name="backwards"),
    )


class Bench:
    """A scripted server with models and committees on it, all closed at the end."""

    def __init__(self, stack: AsyncExitStack, folder: Path) -> None:
        self.folder = folder
        self._stack = stack
        self._ledgers: dict[str, JournalLedger] = {}
        self.server: ScriptedServer
        self.sandbox: Sandbox

    def serve(
        self,
        script: Sequence[dict[str, Any]],
        kind: type[ScriptedServer] = ScriptedServer,
        **options: Any,
    ) -> ScriptedServer:
        """Start the server."""
        self.server = self._stack.enter_context(kind(script, **options))
        self.server.answers_probes = False
        return self.server

    def settings(self, **given: Any) -> LanguageModelSettings:
        """Return the settings of a client of the server, or of the one at ``base_url``."""
        address = given.pop("base_url", None) or self.server.base_url
        return LanguageModelSettings(**{**QUICK, "base_url": address, "api_key": KEY, **given})

    def model(self, labelling_round: int = 1, **settings: Any) -> LanguageModel:
        """Return a client of the server, or of another; those of like settings share a ledger."""
        given = self.settings(**settings)
        key = given.model_dump_json()
        if key not in self._ledgers:
            self._ledgers[key] = journal_ledger(StoreSettings(folder=self.folder), given)
        model = LanguageModel(given, self._ledgers[key], labelling_round)
        self._stack.push_async_callback(model.close)
        return model

    def spent(self, model: LanguageModel) -> tuple[int, float]:
        """Return the tokens and US dollars that a client's ledger tells."""
        assert isinstance(model._ledger, JournalLedger)
        return model._ledger.spent()

    def committee(
        self,
        sandbox: Sandbox,
        rounds: int = 3,
        configuration: Configuration = "paper",
        evidence: Evidence | Literal["auto"] = "auto",
        **settings: Any,
    ) -> Committee:
        """Return a committee on the server."""
        everything = Settings(
            llm=self.settings(**settings),
            store=StoreSettings(folder=self.folder),
            annotation=AnnotationSettings(
                max_try_time=rounds, configuration=configuration, evidence=evidence
            ),
        )
        model = build_model(everything.llm, journal_ledger(everything.store, everything.llm))
        committee = build_committee(model, everything.committee, "recipe", sandbox)
        self._stack.push_async_callback(committee.close)
        return committee


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with AsyncExitStack() as stack:
        yield Bench(stack, tmp_path)


@pytest.fixture
def screen(pair: Pair) -> Screen:
    """Ask as the screener, add the calls to a list, and return the verdict."""

    async def ask(model: LanguageModel, calls: list[LanguageModelCall]) -> str:
        return (await Screener(TracedModel(model, calls)).screen(pair)).verdict

    return ask
