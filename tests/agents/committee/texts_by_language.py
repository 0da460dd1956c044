"""A process that changes each text by which a language is judged, and prints what that makes stale.

It runs on a copy of the program: the texts that it changes are files of packages. Printed is, as
JSON, file → the languages whose labels rest on it.

    PYTHONPATH=FOLDER python texts_by_language.py FOLDER
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from agents.committee.configurations import CONFIGURATIONS
from agents.committee.recipe import dependency_of, harness_versions, recipe_of
from agents.llm.prompt import system_text
from infra.languages import languages
from infra.settings import AnnotationSettings, Settings


def texts(folder: Path) -> Iterator[Path]:
    """Yield the texts by which agents judge and code is run, but for Python's modules."""
    for place in ("agents/roles", "agents/claims", "sandbox/inside", "sandbox/image"):
        found = (file for file in (folder / place).rglob("*") if file.is_file())
        yield from (file for file in found if file.suffix in (".txt", ".toml", ".js", ".go"))
    yield from (folder / "sandbox/image").glob("*.Dockerfile")


def dependencies() -> dict[str, list[str]]:
    """Return language → what labels of its code rest on, in all configurations."""
    system_text.cache_clear()
    harness_versions.cache_clear()
    found: dict[str, list[str]] = {name: [] for name in languages.names()}
    for name, configuration in CONFIGURATIONS.items():
        settings = Settings(annotation=AnnotationSettings(configuration=name))
        body = recipe_of(settings.committee, "box")
        met = [agent.role for agent in configuration.agents] + ["box"]
        for language, made in found.items():
            made.append(dependency_of(body, ",".join((*met, language))))
    return found


def main(folder: Path) -> None:
    """Print what each text makes stale."""
    before, stale = dependencies(), {}
    for file in sorted(texts(folder)):
        content = file.read_bytes()
        is_table = file.suffix == ".toml"
        more = content.replace(b"\n- ", b"\n- more ") if is_table else content + b"more\n"
        file.write_bytes(more)
        after = dependencies()
        file.write_bytes(content)
        changed = [name for name in before if after[name] != before[name]]
        stale[file.relative_to(folder).as_posix()] = changed
    print(json.dumps(stale))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
