"""Laws that every registered study keeps.

Covers `tasks.studies._study`.
"""

from pathlib import Path

import pytest

from infra.errors import StudyError
from tasks.studies import (
    CollectionFacts,
    Evidence,
    Study,
    published_figures,
    published_name,
    studies,
)
from tests.fakes.studies import full_evidence


@pytest.fixture(params=studies.names())
def study(request: pytest.FixtureRequest) -> type[Study]:
    return studies.get(request.param)


def test_it_says_what_it_shows_how_it_is_computed_and_by_which_command(study: type[Study]) -> None:
    assert (study.__doc__ or "").partition("\n")[0].endswith(".")
    assert study.title
    assert study.reading.endswith(".")
    assert study.command.startswith("cosqa ")


def test_figures_are_the_same_when_computed_again_and_each_is_there_once(
    study: type[Study], tmp_path: Path
) -> None:
    figures = study().figures(full_evidence(tmp_path))
    assert figures
    assert study().figures(full_evidence(tmp_path)) == figures
    keys = [(figure.row, figure.column, figure.note) for figure in figures]
    assert len(set(keys)) == len(keys)


def test_its_published_figures_are_in_columns_that_it_has(
    study: type[Study], tmp_path: Path
) -> None:
    ours = {figure.column for figure in study().figures(full_evidence(tmp_path))}
    name = next(name for name in studies.names() if studies.get(name) is study)
    theirs = {figure.column for figure in published_figures() if figure.study == name}
    assert theirs <= ours


@pytest.mark.parametrize("name", [name for name in studies.names() if name != "corpus"])
def test_without_evidence_it_says_what_is_missing(name: str) -> None:
    empty = Evidence({}, CollectionFacts(queries=0, codes=0, dropped={}))
    with pytest.raises(StudyError):
        studies.get(name)().figures(empty)


def test_every_published_figure_belongs_to_a_study_or_names_another_command() -> None:
    for figure in published_figures():
        assert figure.study in studies if figure.study else figure.command and figure.title


def test_a_name_that_the_papers_do_not_have_stays_as_it_is() -> None:
    assert published_name("codebert") == ("codebert", "")
    assert published_name("codebert-search") == ("CodeBERT", "")
    assert published_name("somebody's") == ("somebody's", "")
    assert published_name("minilm") == ("all-MiniLM-L12-v2", "the smaller all-MiniLM-L6-v2")
