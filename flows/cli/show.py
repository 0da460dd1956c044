"""The commands that print what there is: ``cosqa list``, ``cosqa settings`` and ``cosqa pair``."""

from collections.abc import Mapping
from typing import Any

import typer

from flows.cli.output import print_document, say
from infra.errors import StoreError
from infra.languages import languages
from infra.registry import Registry
from infra.settings import CONFIGURATION_SUMMARIES, Settings, StoreSettings
from infra.settings.presets import load_preset, preset_names
from infra.settings.reference import settings_reference
from infra.store import annotations, open_database
from infra.store.annotations import find_judged, judged_beside
from infra.store.corpus import functions_of
from infra.store.database import require_store
from tasks.encoders import SYNTAX, encoders
from tasks.estimators import estimators
from tasks.filters import filters
from tasks.inputs.formats import formats
from tasks.metrics import metrics
from tasks.reports.document import Document
from tasks.reports.evidence import code_facts, judgement_blocks
from tasks.reports.text import format_words
from tasks.retrievers import retrievers
from tasks.sources import check_options, sources
from tasks.stages.specifications import specified_part
from tasks.studies import studies, study_text
from tasks.suites import suites
from tasks.training.models import models

_MOST_NAMED = 10
_REGISTRIES: Mapping[str, Registry[Any]] = {
    "sources": sources,
    "filters": filters,
    "formats": formats,
    "methods": retrievers,
    "metrics": metrics,
    "models": models,
    "suites": suites,
    "studies": studies,
    "estimators": estimators,
    "languages": languages,
}


def names(kind: str) -> None:
    """Print the names of one kind, a line each, with what they mean."""
    listed: dict[str, str] = {}
    if kind == "configurations":
        listed = {str(name): about for name, about in CONFIGURATION_SUMMARIES.items()}
    elif kind == "presets":
        listed = {name: load_preset(name).about for name in preset_names()}
    elif kind == "studies":
        listed = {name: study_text(name).title for name in studies}
    elif kind in _REGISTRIES:
        registry = _REGISTRIES[kind]
        for name in registry:
            plugin = registry.get(name)
            about = getattr(plugin, "about", "") or plugin.__doc__ or ""
            listed[name] = about.partition("\n")[0].replace("``", "`")
    if kind in {"encoders", "methods"}:
        for name in encoders:
            spec = encoders.get(name).spec
            revision = spec.revision[:12] if len(spec.revision) == 40 else spec.revision
            listed[name] = (
                f"{spec.dimension:>4} dimensions, {spec.licence}, {spec.model} ({revision})"
            )
        typer.echo(f"Others: {SYNTAX}.\n", err=True)
    width = max(map(len, listed), default=0)
    for name, about in listed.items():
        typer.echo(f"{name:<{width}}  {about}".rstrip())


def settings(chosen: Settings) -> None:
    """Print all settings in force as a commented cosqa.toml."""
    check_options(chosen.source)
    of_source = sources.get(chosen.source.name).Options
    typer.echo(settings_reference(chosen, of_source), nl=False)


def pair(store: StoreSettings, query: str, code: str) -> None:
    """Print a pair's texts and, by all settings that judged it, the label and how it came about.

    Raises:
        StoreError: No pair is named so, or several are.
    """
    require_store(store)
    database = open_database(store)
    judged = find_judged(database, query, code)
    keys, asked = list(dict.fromkeys(key for key, _ in judged)), f"query {query}, code {code}"
    if not keys:
        raise StoreError(
            f"no judged pair is named so: {asked}; `cosqa browse` and the exported evidence have "
            "the ids"
        )
    if len(keys) > 1:
        named = "\n".join(f"  {key.query_id} {key.code_id}" for key in keys[:_MOST_NAMED])
        raise StoreError(f"{len(keys)} judged pairs are named so: {asked}\n{named}")
    [key] = keys
    for found in annotations.load_pairs(database, [key]):
        say(f"query {key.query_id}: {found.query.text}\n\ncode {key.code_id}:\n{found.code.text}")
        print_document(Document("", [code_facts(functions_of(database, key.code_id))]))
    for _, recipe_id in judged:
        for annotation in annotations.load_annotations(database, recipe_id, [key]):
            model = annotations.model_of(annotations.load_recipe(database, recipe_id))
            label = "" if annotation.label is None else f" {annotation.label}"
            path, support = format_words(annotation.path), format_words(annotation.support)
            say(
                f"\n== {annotation.status}{label} by {model}, settings {recipe_id}: {path}, "
                f"{support}, {annotation.seconds:.1f} s"
            )
            blocks = judgement_blocks(annotation, specified_part(annotation))
            print_document(Document("", list(blocks)))
    for name, other in zip(("previous", "next"), judged_beside(database, key), strict=True):
        if other:
            say(f"\n{name} pair: cosqa pair {other.query_id} {other.code_id}")
