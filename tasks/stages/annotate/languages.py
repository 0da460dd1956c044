"""The languages of the code that agents can judge."""

from collections.abc import Mapping

from infra.errors import SettingsError
from infra.languages import languages

_WITHOUT_AGENTS = (
    "collect none of it, or leave the agents out (COSQA_ANNOTATION__AGENTS=false), so that the "
    "source's own labels are all"
)


def refuse_others(holder: str, numbers: Mapping[str, int], way_out: str = _WITHOUT_AGENTS) -> None:
    """Refuse code in a language that the agents do not know.

    Args:
        holder: The name of what holds the code: of a collection, a benchmark or a file.
        numbers: Language → codes; "" where the source names none, and holds Python.
        way_out: What to do instead.

    Raises:
        SettingsError: There is such code.
    """
    others = {name: n for name, n in numbers.items() if name and name.lower() not in languages}
    if others:
        counted = ", ".join(f"{number:,} in {name}" for name, number in sorted(others.items()))
        raise SettingsError(
            f"the agents judge code in {', '.join(languages)} alone, and {holder} holds "
            f"{counted}: {way_out}"
        )
