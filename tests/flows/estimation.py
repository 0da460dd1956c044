"""A small world for estimates: texts whose vectors count words, and a store that has them."""

import json
import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import uuid4
from zlib import crc32

import numpy as np

from infra.records import Code, Label, Query, SourceInfo
from infra.settings import Settings, StoreSettings
from infra.store import Database, open_database, vectors
from infra.store.vectors import Vectors
from tasks.benchmarks import Benchmark
from tasks.encoders import Kind
from tasks.stages.vectors import encoder_key
from tests.fakes.stores import add_file, read_vectors
from tests.flows import world

VERBS = ["add", "read", "sort", "open", "parse", "count", "merge", "split", "reverse", "find"]
THINGS = ["list", "file", "date", "string", "tree", "number", "table", "word", "matrix", "graph"]
WAYS = ["quickly", "safely", "twice", "backwards", "slowly"]


def pair(number: int) -> tuple[str, str]:
    """Return a query and its code; few words are shared by all."""
    choice = random.Random(number)
    verb, thing, way = (choice.choice(words) for words in (VERBS, THINGS, WAYS))
    return (
        f"{verb} a {thing} {way} number{number}",
        f"def {verb}_{thing}(x):\n    return {way}(x, {number % 7})",
    )


def word_counts(texts: Iterable[str], seed: int) -> Vectors:
    """Return (n, 32) unit vectors of hashed words."""
    rows = np.full((len(texts := list(texts)), 32), 0.01, np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in re.findall(r"[a-z]+|\d+", text):
            row[crc32(f"{seed}{word}".encode()) % 32] += 1
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def store_vectors(
    database: Database, encoder: str, kind: Kind, texts: Iterable[str], rows: Vectors
) -> None:
    """Store vectors of texts as if the encoder had made them, in place of earlier ones."""
    row_of: dict[str, Vectors] = {
        Query.of(text).query_id if kind == "query" else Code.of(text).code_id: row
        for text, row in zip(texts, rows, strict=True)
    }
    key = encoder_key(encoder)
    for old in vectors.files_of(database, key, kind):
        ids, kept = read_vectors(database.settings.vectors / old)
        row_of |= {item: row for item, row in zip(ids, kept, strict=True) if item not in row_of}
        vectors.delete_files(database, [old])
    file = f"{uuid4().hex}.arrow"
    add_file(database, key, kind, file, list(row_of), np.array(list(row_of.values())))


def embedded(database: Database, encoder: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Store the word counts of all texts of pairs as an encoder's vectors."""
    seed = crc32(encoder.encode())
    queries, codes = zip(*pairs, strict=True)
    store_vectors(database, encoder, "query", queries, word_counts(queries, seed))
    store_vectors(database, encoder, "code", codes, word_counts(codes, seed))


def write_lines(file: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write JSON Lines."""
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def pairs_file(file: Path, pairs: Iterable[tuple[str, str]]) -> Path:
    """Write pairs as JSON Lines."""
    return write_lines(file, ({"query": query, "code": code} for query, code in pairs))


def benchmark_of(pairs: Iterable[tuple[str, str]]) -> Benchmark:
    """Return a benchmark whose pairs are labelled 1, and every fifth one 0."""
    queries, codes, labels = [], {}, []
    for number, (query, code) in enumerate(pairs):
        queries.append(Query.of(query))
        made = Code.of(code)
        codes[made.code_id] = made
        labels.append(
            Label(
                query_id=queries[-1].query_id, code_id=made.code_id, origin="people",
                relevance=float(number % 5 != 4),
            )
        )  # fmt: skip
    return Benchmark(
        name="judged",
        label_origin="people",
        queries=tuple(queries),
        codes=tuple(codes.values()),
        labels=tuple(labels),
        sources=(SourceInfo(name="made", licence="MIT", revision="1", location="here"),),
    )


def settings_in(folder: Path, *methods: str, **estimation: object) -> Settings:
    """Return settings of a store and an output folder below a folder."""
    return world.settings_in(folder, *methods, search={"top_k": 20}, estimation=estimation)


def open_store(folder: Path) -> Database:
    """Return the store that `settings_in` names."""
    return open_database(StoreSettings(folder=folder / "store"))
