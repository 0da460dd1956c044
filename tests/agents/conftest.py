"""What the agents' tests share: a pair, settings for the scripted server, a committee on fakes."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

import pytest

from agents import Committee, build_committee, build_model
from agents.committee.trace import TracedModel
from agents.llm.client import LanguageModel
from agents.llm.ledger import JournalLedger, journal_ledger
from agents.roles.read import Screener
from infra.records import Annotation, Code, ExecutionResult, LanguageModelCall, Pair, Query
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
from tests.fakes.sandbox import FAILED, PASSED, FakeSandbox
from tests.fakes.specified import SCREENING, SPECIFICATION
from tests.real_sandbox import real_sandbox

Server = TypeVar("Server", bound=ScriptedServer)
QUICK: dict[str, Any] = {"model": "openai/scripted", "max_backoff_s": 0.05, "max_retries": 2}

GOOD = "from target import backwards\ndef test_it():\n    assert backwards('ab') == 'ba'"
BLIND = f"# by the query alone\n{GOOD}"
CLEAR = {"reply": {"reason": "it reverses", "verdict": "clear_match"}}


def rule(role: str, *steps: dict[str, Any], **where: str) -> dict[str, Any]:
    """Return a rule of the scripted server."""
    return {"role": role, "steps": list(steps), **where}


def written(*programs: str) -> dict[str, Any]:
    """Return the rule of a writer of these test programs."""
    return rule("writer", *({"reply": {"reading": "r", "program": text}} for text in programs))


def written_blind(program: str = BLIND) -> dict[str, Any]:
    """Return the rule of a writer who sees no code."""
    return rule("blind_writer", {"reply": {"reading": "r", "program": program}})


def repair(action: str, content: str = "") -> dict[str, Any]:
    """Return a reply of the fixer."""
    return {"reply": {"diagnosis": "d", "action": action, "content": content}}


UNCLEAR = rule("screener", {"reply": {"reason": "hard to say", "verdict": "unclear"}})
ANSWERS = rule("arbiter", {"reply": {"reason": "it does", "verdict": "answers"}})
FALLS_SHORT = rule("arbiter", {"reply": {"reason": "it fails", "verdict": "does_not_answer"}})
GAVE_UP = rule("fixer", repair("give_up"))
IRREPARABLE = rule(
    "command_fixer", {"reply": {"diagnosis": "d", "verdict": "irreparable", "commands": ""}}
)
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


def always(result: ExecutionResult, on_mutant: ExecutionResult = FAILED) -> FakeSandbox:
    """Return boxes in which every program ends alike."""
    return FakeSandbox(lambda program, installed: result, on_mutant=on_mutant)


def roles(annotation: Annotation) -> list[str]:
    """Return who was asked about a pair, in order."""
    return [call.role for call in annotation.calls]


@pytest.fixture(params=["short", "litellm's"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of a request over the wire; an organisation's id is known to litellm's alone."""
    monkeypatch.delenv("OPENAI_ORG_ID", raising=False)
    if request.param != "short":
        monkeypatch.setenv("OPENAI_ORG_ID", "org-1")


class Bench:
    """A scripted server with models and committees on it, all closed at the end.

    Attributes:
        pair: A query with a function that answers it.
        calls: Those of `screen`.
    """

    def __init__(self, stack: AsyncExitStack, folder: Path) -> None:
        self.folder = folder
        self.pair = Pair(
            query=Query.of("python reverse a string"),
            code=Code.of("def backwards(text):\n    return text[::-1]", name="backwards"),
        )
        self.calls: list[LanguageModelCall] = []
        self._stack = stack
        self._ledgers: dict[str, JournalLedger] = {}
        self.server: ScriptedServer
        self.sandbox: Sandbox

    @overload
    def serve(
        self, script: Sequence[dict[str, Any]], kind: type[Server], **options: Any
    ) -> Server: ...

    @overload
    def serve(self, script: Sequence[dict[str, Any]], **options: Any) -> ScriptedServer: ...

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

    async def screen(self, client: LanguageModel | None = None, /, **settings: Any) -> str:
        """Ask about the pair as the screener, by a client or settings; return the verdict."""
        model = TracedModel(client or self.model(**settings), self.calls)
        return (await Screener(model).screen(self.pair)).verdict

    def told(self, role: str) -> list[str]:
        """Return what a role was told, one text for each call."""
        asked = (call for call in self.server.calls if call["role"] == role)
        return [str(call["messages"][1]["content"]) for call in asked]

    async def judge(
        self, script: Sequence[dict[str, Any]], sandbox: Sandbox | None = None,
        configuration: Configuration = "paper", *, pair: Pair | None = None, **given: Any,
    ) -> Annotation:  # fmt: skip
        """Judge the pair or another one by a script, in boxes where all passes if none are given.

        Args:
            script: The rules of the server.
            sandbox: The boxes.
            configuration: Who takes part.
            pair: Another pair.
            given: As of `committee`.
        """
        self.serve(script)
        given["configuration"] = configuration
        return await self.committee(sandbox or always(PASSED), **given).judge(pair or self.pair)

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
