"""Laws of links: which lead outside of a folder. Covers `infra.files`."""

from pathlib import Path

import pytest

from infra.files import leads_outside

LINKS = {
    "inside": ("file", False),
    "up_and_back": ("../folder/file", False),
    "by_a_link_inside": ("inside", False),
    "nowhere_inside": ("gone", False),
    "itself": ("itself", False),
    "outside": ("../other/file", True),
    "nowhere": ("/nowhere/at/all", True),
    "to_a_neighbour_of_a_longer_name": ("../folder-2/file", True),
    "to_the_folder_above": ("..", True),
    "by_a_link_outside": ("outside", True),
}


@pytest.mark.parametrize("is_named_by_a_link", [False, True])
def test_a_link_is_inside_where_it_ends_in_the_folder(
    tmp_path: Path, is_named_by_a_link: bool
) -> None:
    folder = tmp_path / "folder"
    for name in ("folder", "folder-2", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    if is_named_by_a_link:
        (tmp_path / "link").symlink_to(folder)
        folder = tmp_path / "link"
    for name, (target, _) in LINKS.items():
        (folder / name).symlink_to(target)
    found = {name: leads_outside(folder / name, folder) for name in LINKS}
    assert found == {name: outside for name, (_, outside) in LINKS.items()}
    assert leads_outside(folder / "to_the_folder_above" / "other" / "file", folder)
    assert leads_outside(folder / ".." / "other" / "file", folder)
    assert not leads_outside(folder / "file", folder)
    assert not leads_outside(folder, folder)


def test_a_folder_of_the_hubs_cache_has_its_blobs(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / "0123" / "1_Pooling"
    folder.mkdir(parents=True)
    (folder / "blob").symlink_to("../../../blobs/ab")
    (folder / "other").symlink_to("../../../refs/main")
    assert not leads_outside(folder / "blob", folder)
    assert not leads_outside(folder / "blob", folder.parent)
    assert leads_outside(folder / "other", folder)
