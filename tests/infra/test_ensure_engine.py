"""Laws of ``ensure_engine.sh``: one engine on one folder of data, Debian from where apt has it.

The script's functions are called with its outside world replaced: no engine is started here.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "infra" / "docker" / "ensure_engine.sh"
HAS_SYSTEMD = Path("/run/systemd/system").is_dir()
without_systemd = pytest.mark.skipif(HAS_SYSTEMD, reason="systemd starts the engine here")
SEVERAL = (
    "https://a.example/security Debian-Security\\nhttps://a.example/debian Debian\\n"
    "https://b.example/debian Debian\\n"
)
STUBS = """
engine_answers() { /bin/sleep 0.3; [[ -e $FOLDER/answers ]]; }
install_packages() { echo "installs $*"; }
setsid() { echo "started $*" >>"$FOLDER/started"; touch "$FOLDER/answers"; }
systemctl() { echo "started by systemd" >>"$FOLDER/started"; touch "$FOLDER/answers"; }
command() { true; }
sleep() { touch "$FOLDER/answers"; }
"""


def call(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a text after the script's functions, with its files in a folder."""
    functions = SCRIPT.read_text("utf-8").partition("\ncase ${1:-start} in")[0]
    files = f"FOLDER={folder} ENGINE_PID_FILE={folder}/docker.pid PID_FILE={folder}/ours.pid\n"
    files += f"LOG_FILE={folder}/log LOCK_FILE={folder}/lock\n"
    source = functions.replace("${BASH_SOURCE[0]}", str(SCRIPT))
    return subprocess.run(
        ["bash", "-c", f"{source}\n{files}{STUBS}{text}"],
        capture_output=True, text=True, check=False, timeout=150,
    )  # fmt: skip


@pytest.fixture
def dockerd(tmp_path: Path) -> "subprocess.Popen[bytes]":
    """Return a process with the engine's name."""
    program = tmp_path / "dockerd"
    program.symlink_to("/bin/sleep")
    return subprocess.Popen([program, "60"])


def test_no_second_engine_is_started_where_a_slow_one_lives(
    tmp_path: Path, dockerd: "subprocess.Popen[bytes]"
) -> None:
    (tmp_path / "docker.pid").write_text(str(dockerd.pid))
    try:
        done = call(tmp_path, "start_engine")
    finally:
        dockerd.kill()
        dockerd.wait()
    assert done.returncode == 0, done.stderr
    if not HAS_SYSTEMD:
        assert not (tmp_path / "started").exists()
        assert f"waiting for dockerd (process {dockerd.pid})" in done.stdout
    assert (tmp_path / "docker.pid").exists()


@pytest.mark.parametrize(
    "left",
    ["", "4194305", str(os.getpid()), "no number"],
    ids=["nothing", "no process", "another process", "no number"],
)
def test_what_an_ended_engine_left_is_no_hindrance(tmp_path: Path, left: str) -> None:
    (tmp_path / "docker.pid").write_text(left)
    done = call(tmp_path, "start_engine; wait")
    assert done.returncode == 0, done.stderr
    assert "started" in (tmp_path / "started").read_text()


SLEEPS = "sleep() { /bin/sleep 0.1; }\n"
SLOWLY = f"""{SLEEPS}
setsid() {{
    echo started >>"$FOLDER/started"
    /bin/sleep 2
    touch "$FOLDER/answers"
    /bin/sleep 5
}}
"""


def test_an_engine_whose_program_is_not_loaded_yet_is_waited_for(tmp_path: Path) -> None:
    """A busy machine shows another name than dockerd for a while."""
    done = call(tmp_path, f"{SLOWLY}start_engine")
    assert done.returncode == 0, done.stderr
    if not HAS_SYSTEMD:
        assert (tmp_path / "started").read_text() == "started\n"


@without_systemd
@pytest.mark.parametrize("starts", [2, 3, 4])
def test_an_engine_that_ends_before_it_answers_is_started_three_times(
    tmp_path: Path, starts: int
) -> None:
    done = call(
        tmp_path,
        f"{SLEEPS}"
        'setsid() { echo started >>"$FOLDER/started"; echo "no space left";'
        f' [[ $(wc -l <"$FOLDER/started") != {starts} ]] || touch "$FOLDER/answers"; }}\n'
        "start_engine",
    )
    assert (tmp_path / "started").read_text().count("started") == min(starts, 3)
    assert done.returncode == (starts > 3), done.stderr
    if starts > 3:
        assert "dockerd ended 3 times before it answered" in done.stderr
        assert "no space left" in done.stderr


@without_systemd
def test_two_that_start_at_once_start_one_engine(tmp_path: Path) -> None:
    done = call(tmp_path, f"{SLOWLY}(start_engine) & (start_engine); wait")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "started").read_text() == "started\n"


@without_systemd
def test_an_engine_that_never_answers_is_given_up_with_its_log(tmp_path: Path) -> None:
    done = call(
        tmp_path,
        f"{SLEEPS}START_TIMEOUT_S=2\n"
        'setsid() { echo "waits for a lock"; exec /bin/sleep 20; }\n'
        "start_engine; echo went on",
    )
    os.kill(int((tmp_path / "ours.pid").read_text()), 9)
    assert done.returncode == 1
    assert "did not answer within 2 s" in done.stderr
    assert "waits for a lock" in done.stderr
    assert "went on" not in done.stdout


@pytest.mark.parametrize(
    ("targets", "mirror"),
    [
        (SEVERAL, "https://a.example/debian"),
        ("https://a.example/ubuntu Ubuntu\\n", ""),
        ("https://a.example/debian \\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_debian_comes_from_the_archive_of_this_machines_apt(
    tmp_path: Path, targets: str, mirror: str
) -> None:
    done = call(tmp_path, f"apt-get() {{ printf '{targets}'; }}\necho \"<$(debian_mirror)>\"")
    assert (done.stdout, done.returncode) == (f"<{mirror}>\n", 0), done.stderr


def test_no_address_of_an_archive_is_written_in_the_script() -> None:
    addresses = [word for word in SCRIPT.read_text("utf-8").split() if "://" in word]
    assert all("docs.docker.com" in word for word in addresses), addresses


UNKNOWN = """
engine_answers() { false; }
is_debian_root() { false; }
"""


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "Install and start Docker (https://docs.docker.com/engine/install/)"),
        (
            "tcp://far.example:2375",
            "no Docker engine answers at DOCKER_HOST=tcp://far.example:2375",
        ),
    ],
)
def test_where_no_engine_can_be_had_the_script_says_what_to_do(
    tmp_path: Path, address: str, words: str
) -> None:
    done = call(tmp_path, f"{UNKNOWN}DOCKER_HOST={address}\nensure_engine; echo went on")
    assert done.returncode == 1
    assert words in done.stderr
    assert "went on" not in done.stdout
    assert not (tmp_path / "started").exists(), "an engine that was named has no other beside it"


DOCKER = """
docker() {
    echo "docker $*" >>"$FOLDER/asked"
    [[ $1 == image && $2 == inspect ]] && { [[ -e $FOLDER/image ]]; return; }
    [[ $1 == build && ${*: -1} == - ]] && { cat >"$FOLDER/stdin"; return "${ARCHIVE:-0}"; }
    [[ $1 == build ]] && touch "$FOLDER/image"
    true
}
timeout() { shift; "$@"; }
fetch_wheels() { echo "fetches wheels"; }
"""


def test_an_image_that_is_missing_is_built_without_a_network_and_one_that_is_there_is_kept(
    tmp_path: Path,
) -> None:
    done = call(tmp_path, f"{DOCKER}ensure_image")
    assert done.returncode == 0, done.stderr
    assert "building" in done.stdout
    asked = (tmp_path / "asked").read_text().splitlines()
    libraries, build = [line for line in asked if line.startswith("docker build")]
    assert "--network none" in build
    assert "BASE=cosqa-sandbox-base:python-2" in build
    assert libraries.endswith("--tag cosqa-sandbox-base:python-2 -")
    only = (tmp_path / "stdin").read_text()
    assert re.fullmatch(
        r"FROM [\w.:-]+\nRUN apt-get update && apt-get install --yes --no-install-recommends +"
        r"[a-z0-9. -]+ && rm -rf /var/lib/apt/lists/\*\n",
        only,
    ), only
    (tmp_path / "asked").unlink()
    again = call(tmp_path, f"{DOCKER}ensure_image")
    assert (again.returncode, again.stdout) == (0, "")
    assert "docker build" not in (tmp_path / "asked").read_text()


def test_without_an_archive_of_debian_packages_the_image_has_none_and_is_built(
    tmp_path: Path,
) -> None:
    done = call(tmp_path, f"{DOCKER}ARCHIVE=1\nensure_image")
    assert done.returncode == 0, done.stderr
    assert "the image has none of them" in done.stdout
    assert "BASE=python:3.11-slim-bookworm" in (tmp_path / "asked").read_text()


@pytest.mark.parametrize("name", ["constraints.txt", "sandbox/image/packages.txt"])
def test_every_package_is_pinned_by_its_version(name: str) -> None:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.fullmatch(r"[\w.\[\]-]+==[\w.+!]+", pin)] == []
