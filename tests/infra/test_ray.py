"""The local Ray cluster is closed to others, and work that runs boxes goes where Docker is."""

import atexit
import ipaddress
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import ray
from prefect.states import Completed

import infra.ray
from flows import annotate
from infra.errors import RayStartError, SettingsError
from infra.ray import box_resources, check_reach, signals_as_raised
from infra.settings import RaySettings, Settings, StoreSettings
from infra.store.pending import keys_folder
from tasks.stages.annotate.plan import AnnotationRun

KEY = "sk-of-this-test"
CLUSTER = """
import contextlib, json, os, pathlib, sys
{first}
import psutil
from infra.ray import ensure_ray
from infra.settings import RaySettings

ensure_ray(RaySettings(cpus=1, object_store_mb=80))
import ray

@ray.remote
class Echo:
    def say(self, text):
        return text, os.nice(0)

    def modules(self):
        return [str(pathlib.Path(each).absolute()) for each in sys.path]

echo = Echo.remote()
said = ray.get(echo.say.remote("here"))
me = psutil.Process()
listening, with_key, opened = [], [], []
for process in (me, *me.children(recursive=True)):
    with contextlib.suppress(psutil.Error):  # it has just ended
        listening += [
            (process.name(), connection.laddr.ip, connection.laddr.port)
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        ]
        opened += [
            pathlib.Path(connection.laddr)
            for connection in process.net_connections("unix")
            if str(connection.laddr).startswith("/") and "ray" in str(connection.laddr)
        ]
        if process != me and {key!r} in process.environ().values():
            with_key.append(process.name())
address = ray.get_runtime_context().gcs_address
told = {{"said": said, "listening": listening, "address": address, "with key": with_key}}
root = pathlib.Path(ray._private.worker._global_node.get_temp_dir_path()).parent
told["root"] = [root.stat().st_mode & 0o777, root.stat().st_uid == os.getuid(), root.name]
told["outside"] = [str(p) for p in opened if root not in p.parents]
told["modules"] = ray.get(echo.modules.remote())
told["has key"] = {key!r} in os.environ.values()
print(json.dumps(told), flush=True)
sys.stdin.read()
"""
CLIENT = """
import ray, sys
ray.init(address=sys.argv[1], logging_level="ERROR")
print("inside", ray.cluster_resources())
"""


OF_ANOTHER = {
    "RAY_NAMESPACE": "other", "RAY_TMPDIR": "/nowhere", "RAY_REDIS_ADDRESS": "127.0.0.1:9",
    "RAY_USE_TLS": "1", "RAY_RUNTIME_ENV_HOOK": "absent.hook", "RAY_LOG_TO_STDERR": "1",
    "RAY_RUNTIME_ENV": '{"pip": ["absent"]}', "RAY_JOB_CONFIG_JSON_ENV_VAR": "{", "RAY_JOB_ID": "x",
    "RAY_GCS_SERVER_PORT": "9", "RAY_ADDRESS": "local", "RAY_OVERRIDE_RESOURCES": "{}",
}  # fmt: skip


def without_ray_variables(**others: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {**kept, **others}


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "[::1]:{}", "a:b", "a"])
def test_an_address_of_a_cluster_that_is_gone_is_told_without_asking_ray(address: str) -> None:
    def init(**_: object) -> None:
        raise ValueError("Invalid address format")

    library: Any = SimpleNamespace(init=init)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        gone = address.format(closed.getsockname()[1])
        with pytest.raises(SettingsError, match=r"no Ray cluster answers at .*; start one there"):
            infra.ray._connect(library, RaySettings(address=gone))


class Busy:
    """A library whose start fails as Ray's does where the machine is too busy."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.started = 0

    def init(self, **_: object) -> None:
        self.started += 1
        if self.started <= self.failures:
            raise Exception("The current node timed out during startup.")  # noqa: TRY002 - as Ray's

    def shutdown(self) -> None:
        """Leave nothing."""


@pytest.mark.parametrize(("failures", "started"), [(0, 1), (1, 2), (2, 2)])
def test_a_cluster_that_does_not_start_here_is_started_once_more(
    failures: int, started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(infra.ray, "_restrict_access", lambda: None)  # of this process's own
    library: Any = Busy(failures)
    told = r"Ray did not start .*COSQA_RAY__CPUS.*RAY_ADDRESS.*timed out during startup"
    with pytest.raises(RayStartError, match=told) if failures > 1 else nullcontext():
        infra.ray._connect(library, RaySettings())
    assert library.started == started


def test_options_that_ray_refuses_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infra.ray, "_restrict_access", lambda: None)
    calls: list[object] = []

    def init(**options: object) -> None:
        calls.append(options)
        raise ValueError("too little memory")

    library: Any = SimpleNamespace(init=init, shutdown=list)
    with pytest.raises(ValueError, match="too little memory"):
        infra.ray._connect(library, RaySettings())
    assert len(calls) == 1


def test_a_run_without_work_leaves_ray_alone() -> None:
    infra.ray.start_workers(RaySettings(address="127.0.0.1:1"), 0, pytest.fail)


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_who_listens_and_says_nothing_is_no_cluster(address: str) -> None:
    library: Any = SimpleNamespace(init=pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = RaySettings(address=address.format(silent.getsockname()[1]))
        with pytest.raises(SettingsError, match=r"no Ray cluster answers at .*timed out"):
            infra.ray._connect(library, settings)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-ERR what\r\n", b""])
def test_what_speaks_another_language_is_no_cluster(answer: bytes) -> None:
    """Such as Ray's own dashboard, or a Redis."""
    library: Any = SimpleNamespace(init=pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as other:

        def speak() -> None:
            with other.accept()[0] as stream:
                stream.recv(1_024)
                stream.sendall(answer)

        speaking = Thread(target=speak)
        speaking.start()
        with pytest.raises(
            SettingsError, match=r"no Ray cluster answers .*listens there is no Ray"
        ):
            infra.ray._connect(library, RaySettings(address=f"127.0.0.1:{other.getsockname()[1]}"))
        speaking.join()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "variables"),
    [
        pytest.param("", {}, id="ray imported late", marks=pytest.mark.nightly),
        pytest.param(
            "import ray",
            {"RAY_AUTH_MODE": "disabled", **OF_ANOTHER},
            id="ray imported first, authentication off, and set for another cluster",
        ),
    ],
)
def test_the_local_cluster_is_reached_by_its_own_process_alone(
    first: str, variables: dict[str, str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER.format(first=first, key=KEY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=without_ray_variables(COSQA_LLM__API_KEY=KEY, cosqa_encoder__api_key=KEY, **variables),
        text=True,
        cwd=tmp_path,
    ) as cluster:
        assert cluster.stdin
        assert cluster.stdout
        try:
            state = json.loads(cluster.stdout.readline())
            assert state["said"] == ["here", os.nice(0)], "a worker has this process's priority"
            assert state["with key"] == [], "a key is in no environment but the program's own"
            assert state["has key"]
            mode, is_own, name = state["root"]
            assert (oct(mode), is_own) == ("0o700", True), "Ray lets all write in what is below"
            assert name.startswith("cosqa-ray-")
            assert state["outside"] == []
            assert str(tmp_path) not in state["modules"]
            assert {"gcs_server", "raylet"} <= {name for name, *_ in state["listening"]}
            assert [one for one in state["listening"] if not is_loopback(one[1])] == []
            for _, _, port in state["listening"]:
                assert_takes_no_work(port)
            assert_refused(state["address"], {})
            assert_refused(state["address"], {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64})
            mine = RaySettings(address=state["address"])
            with pytest.raises(SettingsError, match="Authentication token is missing or incorrect"):
                infra.ray._connect(SimpleNamespace(init=pytest.fail), mine)  # type: ignore[arg-type]
        finally:
            cluster.stdin.close()


RESTRICTED = """
import logging, os, ray, infra.ray
logging.basicConfig(format="%(message)s")
infra.ray._restrict_access()
infra.ray._restrict_access()
print(*(name for name in os.environ if name.startswith("RAY_")))
"""


@pytest.mark.parametrize("others", [{}, OF_ANOTHER])
def test_what_is_set_for_another_cluster_is_named_and_not_used(others: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RESTRICTED],
        env=without_ray_variables(**others), capture_output=True, text=True, check=True,
    )  # fmt: skip
    told = f"not used, as the Ray cluster is this program's own: {', '.join(sorted(others))}\n"
    assert done.stderr == (told if others else "")
    assert not {*others} & {*done.stdout.split()}


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.removeprefix("::ffff:")).is_loopback


def assert_takes_no_work(port: int) -> None:
    """Ask as a web page can, without a token, for a job and for an environment with packages."""
    for path in ("api/jobs/", "api/job_agent/jobs/", "get_or_create_runtime_env"):
        url, origin = f"http://127.0.0.1:{port}/{path}", {"Origin": "http://evil.invalid"}
        with suppress(httpx.TransportError):  # it does not speak HTTP/1.1, as all others
            answer = httpx.post(url, json={"entrypoint": "true"}, headers=origin, timeout=20.0)
            assert answer.status_code in (401, 404, 405), url


def assert_refused(address: str, variables: dict[str, str]) -> None:
    host, port = address.rsplit(":", 1)
    socket.create_connection((host, int(port)), timeout=5).close()  # it is up
    client = subprocess.run(
        [sys.executable, "-c", CLIENT, address],
        env=without_ray_variables(
            RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",  # or Ray would ask at another address
            RAY_NUM_REDIS_GET_RETRIES="1",
            **variables,
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert client.returncode != 0
    assert "inside" not in client.stdout
    assert "InvalidAuthToken" in client.stderr


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ({"CPU": 4.0}, {}),
        ({"CPU": 4.0, "docker": 2.0}, {"docker": 1.0}),
    ],
)
def test_docker_is_asked_for_where_some_node_declares_it(
    monkeypatch: pytest.MonkeyPatch, declared: dict[str, float], asked: dict[str, float]
) -> None:
    monkeypatch.setattr(ray, "cluster_resources", lambda: declared)
    assert box_resources() == asked


def nodes(*addresses: str) -> list[dict[str, object]]:
    gone = {"NodeManagerAddress": "10.0.0.9", "Alive": False}
    return [gone, *({"NodeManagerAddress": one, "Alive": True} for one in addresses)]


@pytest.mark.parametrize(
    ("api", "words"),
    [
        ("http://127.0.0.1:4200/api", r"2 machines.*--host 0\.0\.0\.0.*PREFECT_API_URL"),
        ("http://localhost:4200/api", "PREFECT_API_URL"),
        (None, "PREFECT_API_URL"),
    ],
)
def test_a_cluster_whose_judges_cannot_reach_what_they_need_is_refused(
    monkeypatch: pytest.MonkeyPatch, api: str | None, words: str
) -> None:
    monkeypatch.setattr(ray, "nodes", lambda: nodes("10.0.0.1", "10.0.0.2"))
    with pytest.raises(SettingsError, match=words):
        check_reach(api)
    check_reach("http://10.0.0.1:4200/api")
    monkeypatch.setattr(ray, "nodes", lambda: nodes("10.0.0.1", "10.0.0.1"))
    check_reach(api)  # this machine alone


def test_agents_are_not_started_on_a_cluster_that_cannot_serve_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan: Any = SimpleNamespace(pairs=1, taken=1, collection="c", pairs_file=tmp_path / "pairs")
    nothing: Any = None
    run = AnnotationRun.of(nothing, nothing, Settings(store=StoreSettings(folder=tmp_path)))
    monkeypatch.setattr(annotate, "plan_run", lambda *_, **__: Completed(data=(None, plan)))
    monkeypatch.setattr(annotate, "show_plan", lambda _: None)
    monkeypatch.setattr(annotate, "choose_pairs", lambda *_, **__: Completed(data=[plan]))
    monkeypatch.setattr(annotate, "check_answer", lambda *_: None)
    monkeypatch.setattr(annotate, "start_workers", lambda *_: None)
    monkeypatch.setattr(annotate, "spending_of", lambda *_: ([], None))
    monkeypatch.setattr(annotate, "spending_document", lambda *_: None)
    monkeypatch.setattr(annotate, "show", lambda *_: None)
    monkeypatch.setattr(ray, "nodes", lambda: nodes("10.0.0.1", "10.0.0.2"))
    with pytest.raises(SettingsError, match="2 machines"):
        annotate.judge_candidates(run)


def test_no_file_of_keys_outlives_a_run_whatever_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = keys_folder(tmp_path) / "round.arrow"

    def end(*_: object, **__: object) -> None:
        file.parent.mkdir()
        file.touch()
        raise RuntimeError("none of ours")

    nothing: Any = None
    run = AnnotationRun.of(nothing, nothing, Settings(store=StoreSettings(folder=tmp_path)))
    monkeypatch.setattr(annotate, "plan_run", end)
    with pytest.raises(RuntimeError, match="none of ours"):
        annotate.judge_candidates(run)
    assert not file.exists()


LOCAL = """
import sys
import tempfile
from pathlib import Path
from infra.ray import ensure_ray
from infra.settings import RaySettings

ensure_ray(RaySettings(cpus=1, object_store_mb=80))
print("up", flush=True)
sys.stdin.readline()
"""


def start_local(temporary: Path) -> subprocess.Popen[str]:
    """Start a process with a cluster of its own, and wait until that is there."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOCAL],
        env=without_ray_variables(TMPDIR=str(temporary)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.nightly
def test_the_folder_of_a_cluster_goes_with_its_process() -> None:
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as name:  # short enough for sockets
        temporary = Path(name)
        with start_local(temporary) as process:
            assert len(list(temporary.glob("cosqa-ray-*"))) == 1
            process.communicate("end\n")
        assert [path.name for path in temporary.iterdir()] == []


@pytest.mark.parametrize(("prefix", "is_there"), [("", True), ("too-long-", False)])
def test_the_folder_lies_where_sockets_fit_and_goes_after_its_cluster(
    prefix: str, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Callable[[], None]] = []
    ends: list[bool] = []
    monkeypatch.setattr(atexit, "register", calls.append)
    with tempfile.TemporaryDirectory(prefix=prefix, dir="/tmp") as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        folder = infra.ray._own_folder(lambda: ends.append(folder.is_dir())).parent
        root = Path(temporary) if is_there else Path("/tmp")
        assert folder.parent == root
        calls.pop()()
        assert ends == [True]
        assert not folder.exists()


def test_what_a_signal_raises_while_ray_waits_is_raised_as_it_is() -> None:
    class Stop(BaseException):
        pass

    with pytest.raises(Stop), signals_as_raised():
        raise SystemError("returned a result with an exception set") from Stop()
    with pytest.raises(SystemError, match="of its own"), signals_as_raised():
        raise SystemError("of its own")


SIGNALLED = """
import os, signal, sys
from infra.ray import ensure_ray
from infra.settings import RaySettings

signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
ensure_ray(RaySettings(cpus=1))
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""


@pytest.mark.exhaustive
def test_a_signal_is_for_its_handler_also_while_ray_runs() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SIGNALLED], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, "SIGTERM" in ended.stderr) == (5, False), ended.stderr
