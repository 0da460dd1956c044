"""The journal of a store, its limiters, and what it holds as text."""

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

from agents.llm.rate_limit import SharedLimiter
from infra.budget import Budget
from infra.journal import Journal
from infra.settings import LanguageModelSettings, StoreSettings
from infra.sqlite import connect


def limiter_of(
    store: StoreSettings, llm: LanguageModelSettings, run: Budget | None = None
) -> SharedLimiter:
    """Return another limiter of a model, as another process has it."""
    return SharedLimiter(Journal(store.journal), llm, run)


def spend(limiter: SharedLimiter, tokens: int, usd: float | None) -> None:
    """Let a request of so many tokens and US dollars be reserved and settled."""
    limiter.settle(limiter.reserve(tokens, usd).result(), tokens, usd).result()


def journal_text(folder: Path) -> str:
    """Return the contents of all journals below a folder, one after the other."""
    contents: list[bytes] = []
    for file in sorted(folder.rglob("journal.sqlite")):
        with closing(sqlite3.connect(file)) as connection:
            rows = connection.execute("SELECT content FROM replies ORDER BY number")
            contents += [zlib.decompress(content) for (content,) in rows]
    return "".join(content.decode() for content in contents)


def pack(file: Path) -> None:
    """Write a journal anew, without a log beside it."""
    with closing(connect(file)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
