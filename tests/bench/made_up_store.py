"""A made-up store of the published benchmark's size, to measure what a full store costs.

    python -m tests.bench.made_up_store FOLDER [--scale 0.05]

FOLDER gets a source, a checkpoint with random weights and a store of it: 653,994 functions, 20,604
queries, vectors of 64 dimensions, the top 20 of each query as candidates, and an annotation of each
of these 412,080 pairs with 740,000 model calls and 330,000 executions in all. Texts have about the
lengths of real ones. Nothing in it means anything: texts are random words, vectors random numbers,
labels drawn by lot. ``--scale`` is the share of queries and functions.

`settings_of` gives the settings under which every command finds the store complete.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import SecretStr

from agents import recipe_of
from infra.collected import Item, Streamed
from infra.identity import RecipeId, mark_of
from infra.records import Code, Query, SourceInfo
from infra.settings import (
    AnnotationSettings,
    LanguageModelSettings,
    PublishSettings,
    SearchSettings,
    Settings,
    SourceSettings,
    StoreSettings,
)
from infra.store import Database, annotations, candidates, corpus, open_database, vectors
from infra.store.database import Transaction
from infra.subsets import batched
from tasks.runtime.input_checks import with_named_encoders
from tasks.sources import open_source
from tasks.stages.candidates import search_identity
from tasks.stages.vectors import encoder_key
from tests.fakes.checkpoints import make_checkpoint
from tests.fakes.stores import add_file

QUERIES, CODES, TOP, CALLS, EXECUTIONS = 20_604, 653_994, 20, 740_000, 330_000
DIMENSION, ENCODER, COLLECTION = 64, "made-up", "jsonl"
_BLOCK = 50_000
_FILE_ROWS = 8_192

_PAIRS = """
    CREATE OR REPLACE TABLE memory.pairs AS
    SELECT query_id, code_id, number, rank, hash(number) % 10000 AS chance FROM (
        SELECT query_id, position * $top + r AS number, r AS rank,
            (position * 7919 + r * 104729) % $codes AS place
        FROM collection_queries CROSS JOIN range(1, $top + 1) ranks(r)
        WHERE collection = $collection
    ) JOIN (SELECT code_id, position AS place FROM collection_codes
            WHERE collection = $collection) USING (place)
"""
_CANDIDATES = """
    INSERT INTO candidates BY NAME SELECT $search AS search_id, query_id, code_id, rank,
        0.9 - rank / 100 - chance / 1e6 AS similarity,
        json_object($encoder, 0.9 - rank / 100 - chance / 1e6) AS by_encoder FROM memory.pairs
"""
_ANNOTATIONS = """
    INSERT INTO annotations BY NAME SELECT query_id, code_id, $recipe AS recipe_id,
        CASE WHEN chance < 50 THEN 'undecided' ELSE 'labelled' END AS status,
        CASE WHEN chance < 50 THEN NULL ELSE (chance * rank < 30000)::TINYINT END AS label,
        CASE WHEN chance < 7958 THEN 'arbiter' ELSE 'screener' END AS decided_by,
        CASE WHEN chance < 7958 THEN 'unclear_passed' ELSE 'clear_match' END AS path,
        'made up, number ' || number AS reason,
        CASE WHEN chance < 50 THEN 'undecided' WHEN chance < 7958 THEN 'valid_oracle'
            ELSE 'screened' END AS support,
        2 AS judgements, 2 AS agreeing, 9.5 AS seconds, 'arbiter' AS roles_asked, 1 AS tries,
        1 AS replicate, 'first' AS kind,
        now() + number * INTERVAL 1 MICROSECOND AS annotated_at FROM memory.pairs ORDER BY number
"""
_CALLS = """
    INSERT INTO llm_calls BY NAME SELECT query_id, code_id, $recipe AS recipe_id, ordinal,
        'arbiter' AS role, 1 AS attempt, 'made-up' AS model, md5(reply) AS prompt_digest,
        'ok' AS status, reply, '' AS error, 900 AS prompt_tokens, 110 AS completion_tokens,
        0.0002 AS cost_usd, 3.1 AS seconds, false AS cached
    FROM block JOIN memory.pairs AS pairs USING (number)
"""
_EXECUTIONS = """
    INSERT INTO executions BY NAME SELECT query_id, code_id, $recipe AS recipe_id, ordinal,
        0 AS round, program, [] AS requirements, 'passed' AS outcome, '' AS error_type,
        '' AS message, '' AS missing_module, 0.2 AS seconds, 41.5 AS peak_memory_mb,
        left(program, 80) AS stdout, '' AS stderr, 2 AS tests_run, 4 AS asserts_executed,
        2 AS target_calls, $oracle AS oracle, $details AS details
    FROM block JOIN memory.pairs AS pairs USING (number)
"""
_ORACLE = json.dumps(
    {
        "faults": {},
        "trials": [{"change": f"x + {n} → x - {n}", "outcome": "assertion_failed"} for n in "1234"],
    }
)
_DETAILS = json.dumps(
    {
        "tests": [{"name": f"test_{n}", "outcome": "passed"} for n in "12"],
        "repairs": [],
        "beside": "",
    }
)


class Sizes(NamedTuple):
    """Numbers of queries, functions, model calls and executions."""

    queries: int
    codes: int
    calls: int
    executions: int

    @classmethod
    def of(cls, scale: float) -> "Sizes":
        """Return the sizes of a share of the whole."""
        return cls(*(max(TOP + 1, round(n * scale)) for n in (QUERIES, CODES, CALLS, EXECUTIONS)))


class Texts:
    """Random texts of given lengths, different at each call."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        words = ["".join(self._random.choices(letters, k=2 + n % 9)) for n in range(20_000)]
        self._phrases = [" ".join(self._random.choices(words, k=10)) for _ in range(20_000)]
        self._lines = [
            f"    {a}_{b} = {c}({d}[{n % 97}], {e}={n})"
            for n in range(30_000)
            for a, b, c, d, e in [self._random.choices(words, k=5)]
        ]

    def query(self, number: int) -> str:
        """Return a query of some 40 characters."""
        return f"python {self._random.choice(self._phrases)[:40]} {number}"

    def code(self, number: int, lines: int = 14) -> str:
        """Return a function of about 40 characters a line."""
        first, second, *_ = self._random.choice(self._phrases).split()
        body = "\n".join(self._random.choices(self._lines, k=lines))
        return f"def {first}_{number}(items, {second}_x):\n{body}\n    return items"

    def reply(self, number: int) -> str:
        """Return a model's reply of some 500 characters."""
        reason = " ".join(self._random.choices(self._phrases, k=6))
        return f'{{"reason": "{number} {reason}", "verdict": "answers"}}'

    def program(self, number: int) -> str:
        """Return a test program of some 1,000 characters."""
        return self.code(number, 23)


def settings_of(folder: Path) -> Settings:
    """Return the settings of a made-up store, with ``arbiter`` as the agents, who need no box."""
    checkpoint = f"checkpoint:{ENCODER}={folder / 'checkpoint'}?pooling=mean"
    source = {"name": "jsonl", "path": folder / "source"}
    return Settings(
        source=SourceSettings.model_validate(source),
        store=StoreSettings(folder=folder / "store", lock_timeout_s=120),
        search=SearchSettings(encoders=(checkpoint,), top_k=TOP),
        llm=LanguageModelSettings(model="openai/made-up", api_key=SecretStr("made-up")),
        annotation=AnnotationSettings(configuration="arbiter", gold_questions=0),
        publish=PublishSettings(folder=folder / "benchmarks"),
    )


@contextmanager
def made_up(folder: Path | None, scale: float) -> Iterator[Settings]:
    """Yield the settings of a store in a folder, made where it is not there; by default for now."""
    with ExitStack() as stack:
        place = folder or Path(stack.enter_context(TemporaryDirectory()))
        settings = settings_of(place)
        if not settings.store.folder.exists():
            make_store(place, scale)
        yield settings


def options_of(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of `made_up`."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--folder", type=Path, help="where the store is, or is to stay")
    return parser


def make_store(folder: Path, scale: float = 1.0) -> Settings:
    """Fill a folder with source, checkpoint and store; return the settings of the store."""
    sizes = Sizes.of(scale)
    make_checkpoint("bert", folder / "checkpoint", DIMENSION)
    settings = settings_of(folder)
    texts = Texts(0)
    write_source(folder / "source", sizes, texts)
    database = open_database(settings.store)
    _collect(database, settings)
    settings = with_named_encoders(settings)
    _embed(database)
    search = search_identity(database, COLLECTION, settings.search)
    candidates.record_search(database, search, COLLECTION, settings.search.encoders, TOP)
    body = recipe_of(settings.committee, "")
    recipe = RecipeId(mark_of(body))
    annotations.record_recipes(database, {recipe: body}, used_on=COLLECTION)
    known = {
        "top": TOP, "collection": COLLECTION, "codes": sizes.codes, "search": search,
        "encoder": ENCODER, "recipe": recipe, "oracle": _ORACLE, "details": _DETAILS,
    }  # fmt: skip
    for statement in (_PAIRS, _CANDIDATES, _ANNOTATIONS):
        with database.transaction() as tx:
            tx.limit_memory(3_000)
            _execute(tx, statement, known)
    _fill(database, _CALLS, known, "reply", sizes.calls, texts.reply)
    _fill(database, _EXECUTIONS, known, "program", sizes.executions, texts.program)
    return settings


def _fill(
    database: Database,
    statement: str,
    known: dict[str, object],
    column: str,
    number: int,
    make: Callable[[int], str],
) -> None:
    """Insert so many rows, each with a text of its own, for the pairs in turn."""
    with database.transaction() as tx:
        pairs = tx.count("SELECT count(*) FROM memory.pairs")
    for block in batched(range(number), _BLOCK):
        rows = {
            "number": [place % pairs + 1 for place in block],
            "ordinal": [place // pairs for place in block],
            column: [make(place) for place in block],
        }
        with database.transaction() as tx, tx.stream("block", pa.table(rows)):
            _execute(tx, statement, known)


def _execute(tx: Transaction, statement: str, known: dict[str, object]) -> None:
    used = {name: value for name, value in known.items() if f"${name}" in statement}
    tx.connection.execute(statement, used)


def write_source(folder: Path, sizes: Sizes, texts: Texts) -> None:
    """Write ``queries.jsonl`` and ``codes.jsonl``."""
    folder.mkdir(parents=True)
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f'{{"query": "{texts.query(n)}"}}\n' for n in range(sizes.queries))
    with (folder / "codes.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"code": texts.code(n), "name": f"f{n}"}) + "\n" for n in range(sizes.codes)
        )


def _collect(database: Database, settings: Settings) -> None:
    """Store the source under its fingerprint, without parsing its functions."""
    source = open_source(settings.source)
    info = SourceInfo(name="made-up", licence="MIT", revision="1", location="made up")
    items = _items(Path(str(settings.source.options["path"])))
    content = {COLLECTION: Streamed(info, items, {})}
    corpus.replace_collections(database, source.fingerprint(), content, COLLECTION)


def _items(folder: Path) -> Iterator[Item]:
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            yield Query.of(json.loads(line)["query"], f"queries.jsonl:{number + 1}")
    with (folder / "codes.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            yield Code.of(row["code"], name=row["name"], origin=f"codes.jsonl:{number + 1}")


def _embed(database: Database) -> None:
    """Write random unit vectors of all texts."""
    draw, key = np.random.default_rng(0), encoder_key(ENCODER)
    queries = [query.query_id for query in corpus.load_queries(database, COLLECTION)]
    everything: dict[vectors.Kind, list[str]] = {
        "query": sorted(queries),
        "code": corpus.code_ids(database, COLLECTION),
    }
    for kind, items in everything.items():
        for number, ids in enumerate(batched(items, _FILE_ROWS)):
            rows = draw.standard_normal((len(ids), DIMENSION), np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            add_file(database, key, kind, f"{ENCODER}-{key}/{kind}-{number}.arrow", ids, rows)


def main() -> None:
    """Make a store and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    options = parser.parse_args()
    started = time.perf_counter()
    make_store(options.folder, options.scale)
    print(f"{options.folder}: {Sizes.of(options.scale)}, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
