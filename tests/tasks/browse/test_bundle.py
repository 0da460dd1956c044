"""Laws of static pages: every link leads to a file of the folder, and nothing needs a server."""

import html
import re
from pathlib import Path

import pytest

from infra.errors import PublishError
from tasks.browse.bundle import write_bundle
from tasks.browse.opened import StoreSnapshots
from tests.fakes.browsing import HOSTILE, judged_store
from tests.fakes.stores import whole_store


def test_every_link_leads_to_a_file_and_every_pair_has_one(tmp_path: Path) -> None:
    snapshot = StoreSnapshots(whole_store(tmp_path / "store").settings).current()
    number = write_bundle(snapshot, tmp_path / "pages")
    pages = list((tmp_path / "pages").glob("*.html"))
    assert len(pages) == number
    for page in pages:
        text = page.read_text("utf-8")
        assert "<form" not in text
        for link in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert link == "data:," or (page.parent / html.unescape(link)).is_file(), link
    assert len(list((tmp_path / "pages").glob("pair-*.html"))) == 7


def test_pages_are_written_anew_and_other_files_are_left_alone(tmp_path: Path) -> None:
    snapshot = StoreSnapshots(judged_store(tmp_path / "store", HOSTILE[:3]).settings).current()
    folder = tmp_path / "pages"
    assert write_bundle(snapshot, folder) == write_bundle(snapshot, folder)
    (folder / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(PublishError, match=r"notes\.txt"):
        write_bundle(snapshot, folder)
