"""The environment of the templates of pages that share the run report's style."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tasks.reports import text

_SHARED = Path(__file__).parent / "run"


def page_environment(folder: Path, longest: int) -> Environment:
    """Return an environment that escapes texts; its filter ``cut`` shortens them.

    Args:
        folder: Where the page's own templates are.
        longest: Characters shown of a text.
    """
    environment = Environment(
        loader=FileSystemLoader([folder, _SHARED]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cut"] = lambda value: text.visible(value, longest)
    return environment
