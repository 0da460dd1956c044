"""Artifacts that the Prefect UI shows, and the pages of reports of which they are a copy."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from infra.files import write_outputs
from tasks.reports.document import Document
from tasks.reports.render import html_page, markdown_page


def artifact_key(kind: str, name: str) -> str:
    """Return the key of an artifact, such as ``funnel-python-source``.

    It is the same in each run on a collection, so that the Prefect UI shows their history.
    """
    letters = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")  # what Prefect takes
    return f"{kind}-{letters or 'unnamed'}"


def time_of_writing() -> str:
    """Return the present time to the minute, as reports have it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def write_pages(
    folder: Path,
    name: str,
    document: Document,
    others: Mapping[str, str | pa.Table],
    *,
    key: str,
    about: str,
) -> None:
    """Write a document as HTML and as Markdown, with other files; the Markdown is an artifact too.

    Other files in the folder stay; ``others`` has further ones by name.
    """
    from prefect.artifacts import create_markdown_artifact  # noqa: PLC0415 - takes a second

    text = markdown_page(document)
    write_outputs(folder, {f"{name}.html": html_page(document), f"{name}.md": text, **others})
    create_markdown_artifact(text, key=key, description=about)
