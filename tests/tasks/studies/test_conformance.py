"""Laws that every registered study keeps."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.errors import StudyError
from tasks.studies import CollectionFacts, Evidence, Figure, paper_data, studies, study_text
from tests.fakes.studies import full_evidence


@pytest.fixture(params=studies.names())
def study(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def figures_of(study: str, folder: Path) -> Sequence[Figure]:
    return studies.get(study)(full_evidence(folder))


def test_it_says_what_it_shows_how_it_is_computed_and_by_which_command(study: str) -> None:
    assert (studies.get(study).__doc__ or "").partition("\n")[0].endswith(".")
    text = study_text(study)
    assert text.title
    assert text.reading.endswith(".")
    assert text.command.startswith("cosqa ")


def test_figures_are_the_same_when_computed_again_and_each_is_there_once(
    study: str, tmp_path: Path
) -> None:
    figures = figures_of(study, tmp_path)
    assert figures
    assert figures_of(study, tmp_path) == figures
    keys = [(figure.row, figure.column, figure.note) for figure in figures]
    assert len(set(keys)) == len(keys)


def test_its_published_figures_are_in_columns_that_it_has(study: str, tmp_path: Path) -> None:
    ours = {figure.column for figure in figures_of(study, tmp_path)}
    theirs = {figure.column for figure in paper_data().figures if figure.study == study}
    assert theirs <= ours


@pytest.mark.parametrize("name", [name for name in studies.names() if name != "corpus"])
def test_without_evidence_it_says_what_is_missing(name: str) -> None:
    empty = Evidence({}, CollectionFacts(queries=0, codes=0, dropped={}))
    with pytest.raises(StudyError):
        studies.get(name)(empty)


def test_every_published_figure_belongs_to_a_study_or_to_another_command() -> None:
    texts = paper_data().studies
    assert {figure.study for figure in paper_data().figures} <= texts.keys()
    others = {name: text.command for name, text in texts.items() if name not in studies}
    assert "cosqa study" not in others.values()


def test_a_name_that_the_papers_do_not_have_stays_as_it_is() -> None:
    assert paper_data().name_of("codebert") == ("codebert", "")
    assert paper_data().name_of("codebert-search") == ("CodeBERT", "")
    assert paper_data().name_of("somebody's") == ("somebody's", "")
    assert paper_data().name_of("minilm") == ("all-MiniLM-L12-v2", "the smaller all-MiniLM-L6-v2")
