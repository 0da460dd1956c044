"""Laws of the dataset card."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from infra.records import SourceInfo, Support
from tasks.benchmarks import write_benchmark
from tasks.benchmarks.benchmark import LabelRecipe
from tasks.benchmarks.evidence import RecordedAnnotations
from tests.fakes.benchmarks import SOURCE, agents_benchmark, people_benchmark


def _card(folder: Path) -> tuple[dict[str, Any], str]:
    _, front, body = (folder / "README.md").read_text("utf-8").split("---\n", 2)
    matter: dict[str, Any] = yaml.safe_load(front)
    return matter, body


def test_every_parquet_file_is_a_configuration_that_exists(tmp_path: Path) -> None:
    folder = tmp_path / "b"
    write_benchmark(agents_benchmark(), folder, include_undecided=True)
    matter, _ = _card(folder)
    paths = {config["data_files"][0]["path"] for config in matter["configs"]}
    assert paths == {path.name for path in folder.glob("*.parquet")}


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        (["MIT"], ("mit", None)),
        (["CC BY 4.0"], ("cc-by-4.0", None)),
        (["House rules"], ("other", "House rules")),
        (["C-UDA"], ("c-uda", None)),
        (["PSF-2.0", "MIT"], ("other", "MIT; PSF-2.0")),
        (['odd: "quoted"\n---'], ("other", 'odd: "quoted"\n---')),
    ],
)
def test_the_licence_is_one_that_is_listed_or_other_with_its_name(
    tmp_path: Path, licences: list[str], expected: tuple[str, str | None]
) -> None:
    sources = tuple(SOURCE.model_copy(update={"licence": licence}) for licence in licences)
    benchmark = people_benchmark().model_copy(update={"sources": sources})
    write_benchmark(benchmark, tmp_path / "b")
    matter, _ = _card(tmp_path / "b")
    assert (matter["license"], matter.get("license_name")) == expected


def _recorded_by(by: str) -> LabelRecipe:
    body = {"model": {"model": "recorded/x"}, "replies": {"by": by, "mark": "0"}}
    return LabelRecipe(recipe_id="r1", origin="agents:r1", body=body)


@pytest.mark.parametrize("former", [(), (LabelRecipe(recipe_id="r2", origin="o", body={}),)])
def test_whose_a_recorded_models_replies_are_is_said(
    tmp_path: Path, former: tuple[LabelRecipe, ...]
) -> None:
    recipes = (_recorded_by("AI assistants <b>wrote</b> them."), *former)
    benchmark = agents_benchmark().model_copy(update={"recipes": recipes})
    write_benchmark(benchmark, tmp_path / "b")
    _, body = _card(tmp_path / "b")
    said = MarkdownIt("commonmark").render(body)
    assert "The replies of recorded/x were recorded: AI assistants &lt;b&gt;wrote" in said


def test_only_recorded_models_have_recorded_replies(tmp_path: Path) -> None:
    write_benchmark(agents_benchmark(), tmp_path / "b")
    assert "were recorded" not in _card(tmp_path / "b")[1]


@pytest.mark.parametrize(
    ("support", "words"),
    [
        ("screened", "reading alone"),
        ("valid_oracle", "a run of programs that passed the gates"),
        ("overruled", "an arbiter, against a run of programs that passed the gates"),
        ("void_oracle", "a run that a gate doubts"),
        ("ungated", "agents that have no gates"),
        ("undecided", "nothing: no judgement was made"),
    ],
)
def test_judgements_are_counted_by_what_they_rest_on(
    tmp_path: Path, support: Support, words: str
) -> None:
    benchmark = agents_benchmark()
    of_support = [item.model_copy(update={"support": support}) for item in benchmark.evidence]
    evidence = RecordedAnnotations(tuple(of_support))
    write_benchmark(benchmark.model_copy(update={"evidence": evidence}), tmp_path / "b")
    assert f"| {words} | 1 |" in _card(tmp_path / "b")[1]


def test_sources_and_drops_are_shown_and_cannot_break_out_of_their_table(tmp_path: Path) -> None:
    hostile = SourceInfo(
        name="a | b", licence="MIT", revision="`1`", location="</td><script>alert(1)</script>\n\nx"
    )
    benchmark = people_benchmark().model_copy(update={"sources": (hostile,)})
    write_benchmark(benchmark, tmp_path / "b")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(_card(tmp_path / "b")[1])
    assert "<script>" not in html
    assert "<td>a | b</td>" in html
    assert "short" in html


def test_a_recipe_cannot_break_out_of_its_block(tmp_path: Path) -> None:
    write_benchmark(agents_benchmark(), tmp_path / "b")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(_card(tmp_path / "b")[1])
    assert html.count("<h1>") == 1
    assert "# not a heading" in html
