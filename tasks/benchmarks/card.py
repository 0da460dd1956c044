"""The dataset card of an export: Hugging Face's front matter, then a description."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from infra.text import markdown_table, markdown_text
from tasks.benchmarks.benchmark import MAJORITY
from tasks.benchmarks.evidence import EVIDENCE_FILE
from tasks.benchmarks.manifest import Manifest

CARD = "README.md"

# Identifiers that Hugging Face lists, by the lower-case name that a source gives its licence.
_LISTED_LICENCES = frozenset(
    {
        *("apache-2.0", "mit", "isc", "unlicense", "bsd-2-clause", "bsd-3-clause", "c-uda"),
        *("cc-by-4.0", "cc-by-sa-4.0", "cc0-1.0", "odc-by", "gpl-3.0", "lgpl-3.0", "mpl-2.0"),
    }
)

_SUPPORT = {
    "screened": "reading alone",
    "valid_oracle": "a run of programs that passed the gates",
    "overruled": "an arbiter, against a run of programs that passed the gates",
    "void_oracle": "a run that a gate doubts",
    "ungated": "agents that have no gates",
    "undecided": "nothing: no judgement was made",
}


def write_card(manifest: Manifest, folder: Path) -> None:
    """Write the card of an export whose tables are already in the folder."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=False,  # noqa: S701 - Markdown: the filter below escapes
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = markdown_text
    licences = sorted({source.licence for source in manifest.sources})
    listed = licences[0].lower().replace(" ", "-") if len(licences) == 1 else ""
    replies = {item.model: item.body.get("replies") for item in manifest.recipes}
    sources = [
        (source.name, source.licence, source.revision, source.location)
        for source in manifest.sources
    ]
    recipe = json.dumps(manifest.recipe, indent=2, sort_keys=True, ensure_ascii=False)
    text = environment.get_template("card.md.jinja").render(
        manifest=manifest,
        tables=sorted(file.stem for file in folder.glob("*.parquet")),
        licence=listed if listed in _LISTED_LICENCES else "other",
        licence_name="; ".join(licences),
        counts=_figures("what", manifest.counts),
        # Recorded models that gave labels → whose their replies are.
        recorded={name: kept["by"] for name, kept in replies.items() if isinstance(kept, dict)},
        support=_support(folder / EVIDENCE_FILE),
        dropped=_figures("rule", manifest.dropped),
        sources=markdown_table(
            ("source", "licence", "revision", "location"), sources, text_columns=4
        ),
        # An indented block cannot be closed from within, as a fence can.
        recipe="\n".join(f"    {line}" for line in recipe.split("\n")),
        recipes=_recipes(manifest),
        people_alone=MAJORITY,
    )
    (folder / CARD).write_text(text, encoding="utf-8", newline="\n")


def _figures(name: str, numbers: Mapping[str, int]) -> str:
    rows = [(key.replace("_", " "), f"{number:,}") for key, number in numbers.items()]
    return markdown_table((name, "items"), rows) if rows else ""


def _support(evidence: Path) -> str:
    """Return the table of what the agents' judgements rest on, "" without any."""
    if not evidence.exists():
        return ""
    counted = pq.read_table(evidence, columns=["support"])["support"].value_counts().to_pylist()
    numbers = {item["values"]: item["counts"] for item in counted}
    words = {text: numbers[support] for support, text in _SUPPORT.items() if support in numbers}
    return _figures("what the judgements in evidence.parquet rest on", words)


def _recipes(manifest: Manifest) -> str:
    """Return the table of the recipes that gave labels, "" if that is the one in use alone."""
    others = manifest.recipe is None or any(item.stale for item in manifest.recipes)
    if len(manifest.recipes) < 2 and not others:
        return ""
    header = ("recipe", "model", "configuration", "labels", "of these outdated")
    rows = [
        (item.recipe_id, item.model, item.configuration, f"{item.labels:,}", f"{item.stale:,}")
        for item in manifest.recipes
    ]
    return markdown_table(header, rows, text_columns=3)
