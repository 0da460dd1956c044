"""Laws that every registered suite keeps."""

from pathlib import Path

import pytest

from infra.errors import SourceError
from tasks.suites import Figures, Suite, suites


@pytest.fixture(params=suites.names())
def suite(request: pytest.FixtureRequest) -> type[Suite]:
    return suites.get(request.param)


def figures(suite: type[Suite], folder: Path) -> Figures:
    options = suite.write_example(folder)
    return suite().figures(suite.Options.model_validate(options))


def test_the_example_gives_figures_with_a_cell_for_each_column(
    suite: type[Suite], tmp_path: Path
) -> None:
    table = figures(suite, tmp_path)
    assert table.rows
    assert {len(row) for row in table.rows} == {len(table.columns)}


def test_figures_are_the_same_when_computed_again(suite: type[Suite], tmp_path: Path) -> None:
    assert figures(suite, tmp_path) == figures(suite, tmp_path)


def test_the_suite_and_its_options_are_described(suite: type[Suite]) -> None:
    assert (suite.__doc__ or "").partition("\n")[0].endswith(".")
    for name, option in suite.Options.model_fields.items():
        assert option.description, name
    assert set(suite.Options.arguments) <= set(suite.Options.model_fields)


def test_a_broken_file_is_an_error_that_names_it(suite: type[Suite], tmp_path: Path) -> None:
    options = suite.write_example(tmp_path)
    for file in (value for value in options.values() if isinstance(value, Path)):
        content = file.read_bytes()
        file.write_bytes(b"\xff")
        with pytest.raises(SourceError, match=file.name):
            suite().figures(suite.Options.model_validate(options))
        file.write_bytes(content)
