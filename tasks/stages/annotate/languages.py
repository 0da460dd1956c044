"""The languages of the code that agents can judge."""

from collections.abc import Mapping

from infra.errors import SettingsError
from infra.languages import languages


def refuse_others(collection: str, numbers: Mapping[str, int]) -> None:
    """Refuse a collection with code in a language that the agents do not know.

    Args:
        collection: Its name.
        numbers: Language → codes; "" where the source names none, and holds Python.

    Raises:
        SettingsError: There is such code.
    """
    others = {name: n for name, n in numbers.items() if name and name.lower() not in languages}
    if others:
        counted = ", ".join(f"{number:,} in {name}" for name, number in sorted(others.items()))
        raise SettingsError(
            f"the agents judge code in {', '.join(languages)} alone, and {collection} holds "
            f"{counted}: collect none of it, or leave the agents out "
            "(COSQA_ANNOTATION__AGENTS=false), so that the source's own labels are all"
        )
