"""What may be asked for, and what an import or a library leads to.

Covers `sandbox.packages` and `sandbox.backends.docker.wheels`.
"""

import pytest

from sandbox.backends.docker.wheels import failure, invalid_requirements
from sandbox.packages import distribution_for


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("cv2", "opencv-python-headless"),
        ("sklearn.svm", "scikit-learn"),
        ("yaml", "PyYAML"),
        ("PIL.Image", "pillow"),
        ("bs4", "beautifulsoup4"),
        ("numpy", "numpy"),
        ("libGL.so.1", ""),
    ],
)
def test_an_import_leads_to_its_distribution_and_a_library_to_none(
    module: str, distribution: str
) -> None:
    assert distribution_for(module) == distribution


@pytest.mark.parametrize("module", ["urllib2", "ConfigParser", "cPickle", "json", "os.path"])
def test_what_python_had_or_has_itself_is_never_installed(module: str) -> None:
    assert distribution_for(module) == ""


@pytest.mark.parametrize(
    "requirement", ["six", "six==1.17.0", "uvicorn[standard]>=0.30,<1", "zope.interface"]
)
def test_names_extras_and_versions_are_requirements(requirement: str) -> None:
    assert invalid_requirements([requirement]) == []


def test_options_addresses_and_paths_are_none() -> None:
    for text in [
        "-e .", "--pre", "-r", "git+https://x/y", "a @ https://x", "a@https://x", "./a.whl", "/a",
        "..", "~/a", "a/b", "a\\b", "file:///a", "a; b", "a;python_version>'3'", "", "a b", "a\n",
        "a==1 --index-url=http://x", "$HOME", "a\0", "a#egg=b", "a[b]c", "ä",
    ]:  # fmt: skip
        assert invalid_requirements([text]) == [text]


def test_a_failure_gives_its_errors_or_all_that_was_said() -> None:
    assert failure(1, "x\nERROR: no wheel\n").message == "ERROR: no wheel"
    assert failure(1, "noise\nlimit: more than 1 MB\n").message == "limit: more than 1 MB"
    assert failure(1, "No module named pip\n").message == "No module named pip"
    assert failure(7, "").message == "pip ended with status 7"
