"""The law of the pages: what they tell people to type is taken, and their links lead somewhere."""

import re
import shlex
from pathlib import Path

import typer

from flows.cli.app import app

ROOT = Path(__file__).parent.parent
FIRST = (ROOT / "README.md").read_text(encoding="utf-8")
CHAPTERS = [ROOT / page for page in re.findall(r"\]\(([\w/]+/README\.md)\)", FIRST)]
README = "\n".join([FIRST, *(page.read_text(encoding="utf-8") for page in CHAPTERS)])
LINES = [
    words
    for block in re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
    if (words := shlex.split(line, comments=True))
]


def commands(program: str) -> list[list[str]]:
    return [words[1:] for words in LINES if words[0] == program]


def test_every_command_and_option_exists() -> None:
    for words in commands("cosqa"):
        group = typer.main.get_command(app)
        with group.make_context("cosqa", list(words)) as context:
            name, command, rest = group.resolve_command(context, list(words))  # type: ignore[attr-defined]
            command.make_context(name, rest, parent=context)


def test_the_first_page_has_6_kilobytes_at_most_and_names_all_chapters() -> None:
    assert len(FIRST.encode()) <= 6 * 1024
    found = {page for page in ROOT.glob("*/README.md") if page.parent.name[0] != "."}
    deeper = {ROOT / "infra" / "deploy" / "README.md", ROOT / "agents" / "llm" / "README.md"}
    assert found | deeper == set(CHAPTERS)


def test_every_link_to_a_file_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *CHAPTERS]:
        links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_two_commands_stand_first() -> None:
    assert [words[:2] for words in LINES[:2]] == [["make", "run"], ["make", "test"]]
