"""Laws of printing: the terminal's width is kept where there is one, and text is not obeyed."""

import pytest

from flows.cli.console import say, terminal_width


def test_a_file_or_a_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", None)
    assert terminal_width() >= 10_000


def test_columns_that_are_asked_for_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    assert terminal_width() == 72


@pytest.mark.parametrize("text", ["[red]x[/]", ":bug: [link=a]b[/link]", "a" * 500])
def test_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str], text: str) -> None:
    say(text)
    assert capsys.readouterr().out == f"{text}\n"


@pytest.mark.parametrize("sign", ["\x1b[2J", "\u202e", "\u200b", "\x9b31m", "\x07"])
def test_characters_that_could_fake_text_are_shown_as_their_numbers(
    capsys: pytest.CaptureFixture[str], sign: str
) -> None:
    say(f"before{sign}after")
    out = capsys.readouterr().out
    assert f"U+{ord(sign[0]):04X}" in out
    assert sign[0] not in out


def test_progress_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("half done", progress=True)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "half done\n")
