"""Debian packages reach a box if they are on the list, without root and without their scripts.

Covers ``apt`` and ``resolve``.
"""

import pytest

from sandbox.base import Box
from sandbox.packages import apt
from sandbox.packages.resolve import distribution_for

USES_THE_LIBRARY = """
import ctypes
from target import double
ctypes.CDLL("libusb-1.0.so.0")
try:
    open("/debian/usr/new", "w")
except OSError:
    pass
else:
    raise SystemExit("the packages can be changed")
assert double(2) == 4
"""
LACKS_A_LIBRARY = """
raise ImportError("libGL.so.1: cannot open shared object file: No such file or directory")
"""


def test_debian_packages_are_told_from_distributions() -> None:
    assert apt.split(["numpy", "apt:libgl1", "apt"]) == (["libgl1"], ["numpy", "apt"])


@pytest.mark.parametrize(
    ("library", "requirement"),
    [("libGL.so.1", "apt:libgl1"), ("libgthread-2.0.so.0", "apt:libglib2.0-0"), ("libx.so.9", "")],
)
def test_a_library_leads_to_its_package(library: str, requirement: str) -> None:
    assert distribution_for(library) == requirement


def test_an_installing_container_reaches_the_mirror_and_nobody_else() -> None:
    image = ["http://image.example/debian", "https://other.example/security"]
    mirror = "http://mirror.example:80/debian"
    named = apt.plan(["libgl1"], mirror, image)
    assert named.places == ["mirror.example:443", "mirror.example:80"]
    of_the_image = apt.plan(["libgl1"], None, image)
    assert of_the_image.places == ["image.example:443", "image.example:80", "other.example:443"]


def test_what_was_unpacked_is_read_from_the_scripts_words() -> None:
    output = "noise\nunpacked libdrm2_2.4.114-1+b1_amd64.deb\nunpacked libz3-4_4.8_amd64.deb\n"
    result = apt.outcome(0, output, 1.0)
    assert (result.ok, result.installed) == (
        True,
        ("apt:libdrm2==2.4.114-1+b1", "apt:libz3-4==4.8"),
    )


def test_a_failure_gives_apts_reason() -> None:
    result = apt.outcome(100, "Get:1\nE: Unable to locate package libx\n", 1.0)
    assert (result.ok, result.message) == (False, "E: Unable to locate package libx")


@pytest.mark.docker
@pytest.mark.asyncio(loop_scope="session")
async def test_a_package_that_is_not_on_the_list_is_refused(box: Box) -> None:
    result = await box.install(["apt:openssh-server", "six"])
    assert not result.ok
    assert "sandbox.apt_packages: openssh-server" in result.message


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="session")
async def test_a_listed_package_can_be_used_and_not_changed_by_programs(box: Box) -> None:
    installed = await box.install(["apt:libusb-1.0-0"])
    assert installed.ok, installed.message
    assert "apt:libusb-1.0-0" in {name.partition("==")[0] for name in installed.installed}
    result = await box.run(USES_THE_LIBRARY, hash_seed=1)
    assert result.outcome == "passed", result.message
    result = await box.run(USES_THE_LIBRARY)
    assert result.outcome == "passed", result.message


@pytest.mark.docker
@pytest.mark.asyncio(loop_scope="session")
async def test_a_missing_library_is_named(box: Box) -> None:
    result = await box.run(LACKS_A_LIBRARY)
    assert (result.outcome, result.missing_module) == ("import_error", "libGL.so.1")
