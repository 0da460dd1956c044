"""Laws of rounds of change through the real commands: Prefect, Ray, encoder, publication.

Covers `flows.audit`.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from infra.settings import SearchSettings
from infra.store import corpus
from infra.store.audits import load_audits
from tasks.stages.candidates import search_identity
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

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

ROOT = Path(__file__).parents[2]
PROGRAM = ("flows", "tasks", "agents", "sandbox", "infra")
TOP_K = 3


@pytest.fixture
def model() -> Iterator[DigestServer]:
    with DigestServer() as server:
        yield server


@pytest.fixture
def commands(folder: Path, model: DigestServer, prefect_server: str) -> Commands:
    """Commands of a copy of the program, whose prompts a test may change."""
    for name in PROGRAM:
        shutil.copytree(ROOT / name, folder / "program" / name)
    env = environment(
        model.base_url,
        PREFECT_API_URL=prefect_server,
        PYTHONPATH=str(folder / "program"),
        COSQA_ANNOTATION__CONFIGURATION="writer",
        COSQA_ANNOTATION__STOP_AFTER_FAILURES="1000",
        COSQA_LLM__MAX_RETRIES="0",
    )
    return Commands(folder, env)


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


def run(commands: Commands, name: str, *options: str) -> str:
    done = commands.run_alone(name, "--top-k", str(TOP_K), *options)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


def prepare(commands: Commands, world: World, folder: Path) -> None:
    """Write a world's texts and prompts, and name its model."""
    commands.source.mkdir(exist_ok=True)
    texts = {"queries": ("query", world.queries), "codes": ("code", world.codes)}
    for file, (kind, items) in texts.items():
        rows = [{"id": f"n{number}", kind: text} for number, text in enumerate(items)]
        commands._lines(file, list[dict[str, object]](rows))  # type: ignore[arg-type]
    for role in ROLES:
        text = (ROOT / "agents" / "roles" / f"{role}.txt").read_text("utf-8").rstrip("\n")
        version = version_line(getattr(world.state, role))
        (folder / "program" / "agents" / "roles" / f"{role}.txt").write_text(text + version)
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


def published(commands: Commands) -> dict[Key, int]:
    run(commands, "publish")
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
    commands: Commands, model: DigestServer, folder: Path
) -> None:
    account, before = Account(), dict[Key, int]()
    for world in rounds():
        prepare(commands, world, folder)
        model.is_broken = world.is_broken
        run(commands, "collect")
        search, keys = candidates_of(commands)
        assert len(keys) == TOP_K * len(world.queries)
        account.searches.setdefault(search, set()).update(keys)
        pending = account.pending(keys, world.state, search)
        chosen = account.chosen(pending, world)
        requests = len(model.calls)
        shown = run(commands, "annotate", "--plan", *options_of(world))
        total = sum(map(len, pending.values()))
        assert f"{len(chosen)} of {total} pending pairs of jsonl" in shown, shown
        run(commands, "annotate", *options_of(world))
        assert len(model.calls) - requests == account.judge(chosen, world)
        account.use(world.state)
        labels = published(commands)
        assert labels == account.labels(keys)
        assert {key for key in before if key in keys} <= labels.keys()
        before = labels
    assert set(before) == set(keys)
    told = run(commands, "annotate", "--reason", "audit", "--pairs", "5")
    assert "5 of 5 labels of jsonl came out the same" in told
    assert [item.pairs for item in load_audits(commands.database())] == [5]
