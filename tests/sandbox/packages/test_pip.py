"""What pip is told and where it may go."""

import pytest

from sandbox.packages.pip import command, environment, index_hosts, malformed, outcome
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
    words = command(["six"])
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


@pytest.mark.parametrize(
    ("settings", "variables", "hosts"),
    [
        ({}, {}, ["files.pythonhosted.org", "pypi.org"]),
        ({"index-url": "https://user:word@index.example:8/simple"}, {}, ["index.example"]),
        (
            {"extra-index-url": "https://more.example file:///here"},
            {},
            ["files.pythonhosted.org", "more.example", "pypi.org"],
        ),
        (
            {"index-url": "https://a.example"},
            {"https_proxy": "http://proxy.example:3128", "no_proxy": "b.example"},
            ["a.example", "proxy.example"],
        ),
    ],
)
def test_an_installing_container_knows_the_index_and_nobody_else(
    settings: dict[str, str], variables: dict[str, str], hosts: list[str]
) -> None:
    assert index_hosts(settings, variables) == hosts


def test_further_hosts_of_an_index_are_the_users_to_name() -> None:
    assert index_hosts({"index-url": "https://a.example"}, {}, ["b.example"]) == [
        "a.example",
        "b.example",
    ]


def test_nothing_of_the_hosts_environment_but_index_and_proxy_reaches_pip() -> None:
    variables = {"SECRET": "x", "https_proxy": "http://p", "PIP_CERT": "/host/cert"}
    given = environment({"index-url": "file:///host"}, variables, certificates=False)
    assert set(given) == {"HOME", "LANG", "PIP_CONFIG_FILE", "https_proxy"}


def test_what_was_installed_is_read_from_pips_last_words() -> None:
    done = outcome(0, "...\nSuccessfully installed six-1.17.0 zope.interface-7.2\n", 1.0)
    assert done.installed == ("six==1.17.0", "zope.interface==7.2")
    assert outcome(1, "x\nERROR: no wheel\n", 1.0).message == "ERROR: no wheel"
