"""The journal of a store, its ledgers, and what it holds as text."""

import asyncio
import sqlite3
import zlib
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

from agents.llm.ledger import JournalLedger
from infra.journal import Journal, connect, keep_all, packed


def spend(ledger: JournalLedger, tokens: int, usd: float | None) -> None:
    """Let a request of so many tokens and US dollars be reserved and committed."""

    async def request() -> None:
        await ledger.commit(await ledger.reserve(tokens, usd), tokens, usd)

    asyncio.run(request())


def keep(journal: Journal, key: str, content: bytes) -> "Future[None]":
    """Keep a content; it survives a loss of power once the future has ended."""
    return journal.write(lambda tx: keep_all(tx, packed([(key, content)])))


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
