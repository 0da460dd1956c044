"""Laws of rounds of change through the real commands: Prefect, Ray, encoder, publication."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from infra.settings import SearchSettings
from infra.store import corpus
from tasks.stages.candidates import search_identity
from tests.flows.command_process import CommandProcess
from tests.flows.rounds_of_change import (
    EVERYTHING,
    ROLES,
    Account,
    DigestServer,
    Key,
    State,
    World,
    code,
    query,
    version_line,
)
from tests.flows.world import World as Commands
from tests.flows.world import environment

pytestmark = [pytest.mark.slow(200), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
PROGRAM = ("flows", "tasks", "agents", "sandbox", "infra")
TOP_K = 3


@pytest.fixture
def model() -> Iterator[DigestServer]:
    with DigestServer() as server:
        yield server


class Program:
    """A copy of the program, whose prompts a test changes, and the commands of it.

    They run in one process as long as the prompts stay, which a process reads once.

    Args:
        commands: The world that they work in.
    """

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self._folder = commands.folder / "program"
        for name in PROGRAM:
            shutil.copytree(ROOT / name, self._folder / name)
        commands.env["PYTHONPATH"] = str(self._folder)
        self._prompts: dict[str, str] = {}
        self._process: CommandProcess | None = None

    def set_prompts(self, state: State) -> None:
        """Write the prompts of a state, and end the process that has read others."""
        prompts = {}
        for role in ROLES:
            text = (ROOT / "agents" / "roles" / f"{role}.txt").read_text("utf-8").rstrip("\n")
            prompts[role] = text + version_line(getattr(state, role))
        if prompts != self._prompts:
            self.close()
            for role, text in prompts.items():
                (self._folder / "agents" / "roles" / f"{role}.txt").write_text(text)
        self._prompts = prompts

    def run(self, name: str, *options: str) -> str:
        """Run a command to its end; return what it printed."""
        self._process = self._process or CommandProcess(self._folder)
        command = self.commands.command(name, "--top-k", str(TOP_K), *options)
        status, printed = self._process.run(command, self.commands.env, self.commands.folder)
        assert status == 0, printed[-5000:]
        return printed

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process:
            self._process.close()
        self._process = None


@pytest.fixture
def program(folder: Path, model: DigestServer, prefect_server: str) -> Iterator[Program]:
    env = environment(
        model.base_url,
        PREFECT_API_URL=prefect_server,
        COSQA_ANNOTATION__CONFIGURATION="writer",
        COSQA_ANNOTATION__STOP_AFTER_FAILURES="1000",
        COSQA_LLM__MAX_RETRIES="0",
    )
    with closing(Program(Commands(folder, env))) as made:
        yield made


def rounds() -> list[World]:
    world = World(tuple(map(query, range(4))), tuple(map(code, range(7))), take=EVERYTHING)
    changed = (code(0, 1), *world.codes[1:])
    more = (*world.queries[1:], query(6))
    return [
        world,
        World(world.queries, changed, State(arbiter=1), take=EVERYTHING),
        World(more, changed, State("m2", arbiter=1, writer=1), is_broken=True, take=EVERYTHING),
        World(more, changed, State(arbiter=1, screener=1), take=("stale", "disagreement"), pairs=3),
        World(more, changed, State(arbiter=1, screener=1), take=EVERYTHING),
    ]


def prepare(program: Program, world: World) -> None:
    """Write a world's texts and prompts, and name its model."""
    commands = program.commands
    commands.source.mkdir(exist_ok=True)
    texts = {"queries": ("query", world.queries), "codes": ("code", world.codes)}
    for file, (kind, items) in texts.items():
        rows = [{"id": f"n{number}", kind: text} for number, text in enumerate(items)]
        commands._lines(file, list[dict[str, object]](rows))  # type: ignore[arg-type]
    program.set_prompts(world.state)
    commands.env["COSQA_LLM__MODEL"] = f"openai/{world.state.model}"


def candidates_of(commands: Commands) -> tuple[str, list[Key]]:
    """Return the id of the last search over the current codes, and its candidates in order."""
    database = commands.database()
    assert corpus.code_ids(database, "jsonl")
    search = search_identity(database, "jsonl", SearchSettings(top_k=TOP_K))
    rows = commands.rows(
        "SELECT q.text, k.text FROM candidates AS c JOIN collection_queries USING (query_id) "
        "JOIN queries AS q USING (query_id) JOIN codes AS k USING (code_id) "
        f"WHERE collection = 'jsonl' AND search_id = '{search}' ORDER BY position, rank, code_id"
    )
    return search, [Key(str(one), str(other)) for one, other in rows]


def published(program: Program) -> dict[Key, int]:
    program.run("publish")
    commands = program.commands
    labels = pq.read_table(commands.output / "jsonl-agents" / "labels.parquet").to_pylist()
    rows = commands.rows("SELECT query_id, text FROM queries UNION ALL FROM codes")
    texts = {str(item): str(text) for item, text in rows}
    return {
        Key(texts[row["query_id"]], texts[row["code_id"]]): int(row["relevance"]) for row in labels
    }


def options_of(world: World) -> Sequence[str]:
    if world.take == EVERYTHING:
        return ()
    reasons = [word for reason in world.take for word in ("--reason", reason)]
    return (*reasons, "--pairs", str(world.pairs))


def test_rounds_of_change_by_the_real_commands_are_those_of_the_naive_account(
    program: Program, model: DigestServer
) -> None:
    account, before = Account(), dict[Key, int]()
    for world in rounds():
        prepare(program, world)
        model.is_broken = world.is_broken
        program.run("collect")
        search, keys = candidates_of(program.commands)
        assert len(keys) == TOP_K * len(world.queries)
        account.searches.setdefault(search, set()).update(keys)
        pending = account.pending(keys, world.state, search)
        chosen = account.chosen(pending, world)
        requests = len(model.calls)
        shown = program.run("annotate", "--plan", *options_of(world))
        total = sum(map(len, pending.values()))
        assert f"{len(chosen)} of {total} pending pairs of jsonl" in shown, shown
        program.run("annotate", *options_of(world))
        assert len(model.calls) - requests == account.judge(chosen, world)
        account.use(world.state)
        labels = published(program)
        assert labels == account.labels(keys)
        assert {key for key in before if key in keys} <= labels.keys()
        before = labels
    assert set(before) == set(keys)
