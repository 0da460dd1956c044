"""What pip is told and where it may go."""

import json

import pytest
from pip._internal.models.index import PyPI

from sandbox.packages import pip
from sandbox.packages.pip import command, environment, malformed, outcome
from sandbox.packages.plan import InstallPlan
from sandbox.packages.resolve import distribution_for


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("cv2", "opencv-python-headless"),
        ("sklearn.svm", "scikit-learn"),
        ("yaml", "PyYAML"),
        ("PIL.Image", "pillow"),
        ("bs4", "beautifulsoup4"),
        ("numpy", "numpy"),
    ],
)
def test_an_import_leads_to_its_distribution(module: str, distribution: str) -> None:
    assert distribution_for(module) == distribution


@pytest.mark.parametrize("module", ["urllib2", "ConfigParser", "cPickle", "json", "os.path"])
def test_what_python_had_or_has_itself_is_never_installed(module: str) -> None:
    assert distribution_for(module) == ""


def test_only_wheels_are_installed() -> None:
    words = command(["six"], [])
    assert words[words.index("--only-binary") + 1] == ":all:"
    assert words[-2:] == ["--", "six"]


@pytest.mark.parametrize(
    "requirement", ["six", "six==1.17.0", "uvicorn[standard]>=0.30,<1", "zope.interface"]
)
def test_names_extras_and_versions_are_requirements(requirement: str) -> None:
    assert malformed([requirement]) == []


@pytest.mark.parametrize(
    "text",
    ["-e .", "--pre", "git+https://x/y", "a @ https://x", "./a.whl", "a; b", "", "a b", "a\n"],
)
def test_options_addresses_and_paths_are_none(text: str) -> None:
    assert malformed([text]) == [text]


DEFAULT = {f"{host}:443" for host in (PyPI.file_storage_domain, PyPI.netloc)}


@pytest.mark.parametrize(
    ("settings", "places"),
    [
        ({}, DEFAULT),
        (
            {"index-url": "https://user:word@index.example:8/simple"},
            {"index.example:8", "index.example:443"},
        ),
        (
            {"extra-index-url": "https://more.example file:///here"},
            {*DEFAULT, "more.example:443"},
        ),
        (
            {"index-url": "http://a.example", "proxy": "http://near.example:1"},
            {"a.example:80", "a.example:443"},
        ),
        ({"index-url": "file:///here"}, set()),
    ],
)
def test_an_installing_container_reaches_the_index_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], places: set[str]
) -> None:
    plan = planned(monkeypatch, settings)
    assert set(plan.places) == set(allowed(plan)) == places
    assert plan.proxy == settings.get("proxy", "")


def test_further_hosts_of_an_index_are_the_users_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch, {"index-url": "https://a.example"}, "b.example", "c.example:8")
    assert plan.places == ["a.example:443", "b.example:443", "b.example:80", "c.example:8"]


def planned(
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    *further: str,
) -> InstallPlan:
    """Return the plan of a machine with these settings of pip."""
    monkeypatch.setattr(pip, "host_pip_settings", lambda: settings)
    return pip.plan(["six"], further)


def allowed(plan: InstallPlan) -> list[str]:
    """Return the places that a plan lets pip send requests to."""
    places: list[str] = json.loads(plan.command[plan.command.index("install") - 1])
    return places


def test_nothing_of_the_hosts_settings_but_its_index_reaches_pip() -> None:
    settings = {"index-url": "https://a.example file:///host", "cert": "/host/cert"}
    given = environment({**settings, "proxy": "http://user:word@p"}, certificates=False)
    assert set(given) == {"HOME", "LANG", "PIP_CONFIG_FILE", "PIP_INDEX_URL"}
    assert given["PIP_INDEX_URL"] == "https://a.example"


def test_what_was_installed_is_read_from_pips_last_words() -> None:
    done = outcome(0, "...\nSuccessfully installed six-1.17.0 zope.interface-7.2\n", 1.0)
    assert done.installed == ("six==1.17.0", "zope.interface==7.2")
    assert outcome(1, "x\nERROR: no wheel\n", 1.0).message == "ERROR: no wheel"
