"""Laws of what a preset lacks: all of it at once, each with the place where it is published."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.settings import Settings, load_settings
from infra.settings.presets import load_preset
from tasks.encoders import encoders
from tasks.encoders._transformer import TransformerSpec
from tasks.runtime.requirements import missing_requirements
from tasks.studies import published_name
from tests.flows.published_files import (
    cosqa_queries,
    standard_library,
    write_codesearchnet,
    write_cosqa,
)


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in ("DEEPSEEK_API_KEY", "COSQA_LLM__API_KEY"):
        monkeypatch.delenv(name, raising=False)


def chosen(**sections: Mapping[str, object]) -> Settings:
    return load_settings(sections, preset="cosqa-plus-v2")


def test_everything_that_is_missing_is_named_at_once_with_its_place() -> None:
    published = load_preset("cosqa-plus-v2").published
    found = missing_requirements(chosen())
    assert len(found) == len(published) == 4
    for line, place in zip(found, published.values(), strict=True):
        assert line.endswith(place)


def test_what_is_given_is_not_missing(tmp_path: Path) -> None:
    folder = write_cosqa(tmp_path / "cosqa", cosqa_queries(3))
    source = {"cosqa": {"path": str(folder), "queries": "all"}}
    search = {"encoders": ("unixcoder", "minilm")}
    folders = {"codebert-search": str(tmp_path)}
    given = chosen(source=source, search=search, encoder={"checkpoints": folders})
    found = missing_requirements(given, judging=False)
    assert len(found) == 1
    assert "codesearchnet=PATH" in found[0]


def test_a_preset_exports_any_code_and_asks_for_the_licences_first(tmp_path: Path) -> None:
    csn = tmp_path / "csn"
    write_codesearchnet(csn, standard_library(9))
    given = chosen(source={"codes": (f"codesearchnet={csn}",)})
    assert given.publish.include_unlicensed
    assert not [line for line in missing_requirements(given) if "licences" in line]
    (csn / "python_licenses.pkl").unlink()
    (asked,) = (line for line in missing_requirements(given) if "licences" in line)
    assert asked.endswith(load_preset("cosqa-plus-v2").published["codesearchnet"])


@pytest.mark.parametrize("preset", ["cosqa-plus-v1", "cosqa-plus-v2"])
def test_the_papers_encoders_are_read_as_the_authors_scoring_reads_them(preset: str) -> None:
    for name in load_settings(preset=preset).search.encoders:
        spec = encoders.get(name).spec
        assert isinstance(spec, TransformerSpec)
        assert (spec.length_of("query"), spec.length_of("code")) == (128, 256)
        assert spec.white_space == "collapsed"
        assert published_name(spec.name)[1] == ""


def test_published_labels_are_scored_as_those_of_the_agents_are() -> None:
    published = load_settings(preset="cosqa-plus-v2-published")
    assert published.evaluation == chosen().evaluation
    assert not published.annotation.agents
    assert published.publish.include_unlicensed
    given = published.model_copy(
        update={"evaluation": published.evaluation.model_copy(update={"methods": ("minilm",)})}
    )
    (asked,) = missing_requirements(given, judging=False)
    assert "source cosqa-plus needs 'path'" in asked
    assert asked.endswith(load_preset("cosqa-plus-v2-published").published["cosqa-plus"])


def test_e5_is_scored_with_and_without_prefixes() -> None:
    specs = [encoders.get(name).spec for name in chosen().evaluation.methods if "e5-" in name]
    prefixes = [
        (spec.query_prefix, spec.code_prefix)
        for spec in specs
        if isinstance(spec, TransformerSpec) and spec.model == "intfloat/multilingual-e5-large"
    ]
    assert prefixes == [("query: ", "passage: "), ("", "")]


def test_an_embedding_api_needs_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    first = load_settings(preset="cosqa-plus-v1")
    assert any("text-embedding-3-large needs a key" in line for line in missing_requirements(first))
