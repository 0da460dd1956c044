"""Laws of the files for servers: who has the key and the engine, and what listens where.

`docker compose` is not needed: the file is read as YAML.
"""

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.deploy import job_template
from tests.test_layout import PACKAGES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "infra" / "deploy"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))[
    "services"
]
ENGINE = "/var/run/docker.sock:/var/run/docker.sock"


def having(find: Any) -> set[str]:
    return {name for name, service in SERVICES.items() if find(service)}


def test_only_the_worker_has_the_provider_s_key_and_ray_is_started_without_it() -> None:
    assert having(lambda service: "API_KEY" in str(service.get("environment"))) == {"worker"}
    assert not having(lambda service: "env_file" in service)
    assert "env -u COSQA_LLM__API_KEY ray start" in str(SERVICES["worker"]["command"])


def test_only_what_starts_boxes_has_the_engine() -> None:
    assert having(lambda service: ENGINE in service.get("volumes", [])) == {"worker", "ray-worker"}


def test_only_the_ui_is_reached_from_outside_and_from_this_machine_alone() -> None:
    assert having(lambda service: "ports" in service) == {"server"}
    assert SERVICES["server"]["ports"] == ["127.0.0.1:4200:4200"]
    assert all(service["networks"] == ["cosqa"] for service in SERVICES.values())


def test_ray_takes_work_with_its_token_only() -> None:
    of_ray = having(lambda service: "ray start" in str(service.get("command")))
    assert of_ray == {"worker", "ray-head", "ray-worker"}
    for name in of_ray:
        assert SERVICES[name]["environment"]["RAY_AUTH_MODE"] == "token"
        assert "set it in .env" in SERVICES[name]["environment"]["RAY_AUTH_TOKEN"]


@pytest.mark.parametrize("signalled", [False, True])
def test_the_worker_s_container_ends_with_its_node_of_ray_and_ends_when_it_is_asked(
    tmp_path: Path, signalled: bool
) -> None:
    stubs = {
        "ray": "exit 0",
        "prefect": "exec sleep 60",
        "pgrep": f"test -e {tmp_path}/node",
        "sleep": '[ "$1" = 60 ] && exec /bin/sleep 60; exec /bin/sleep 0.1',
    }
    for name, does in stubs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o700)
    (tmp_path / "node").touch()
    *shell, script = SERVICES["worker"]["command"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen(
        [*shell, script.replace("$$", "$")], env={"PATH": path}, start_new_session=True
    ) as container:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                container.wait(1.0)
            if signalled:
                container.terminate()
            else:
                (tmp_path / "node").unlink()  # the head of the cluster was started again
            status = container.wait(120)
            assert signalled or status == 1, "so that Compose starts it again"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(container.pid, signal.SIGKILL)


def test_the_folder_has_one_path_for_all_who_read_or_write_it() -> None:
    mounted = {
        mount
        for service in SERVICES.values()
        for mount in service.get("volumes", [])
        if mount.startswith("${COSQA_FOLDER")
    }
    (mount,) = mounted
    host, inside = re.split(r"(?<=\}):", mount)
    assert host == inside
    assert {"deploy", "worker", "ray-head", "ray-worker"} == having(
        lambda service: mount in service.get("volumes", [])
    )


def test_the_example_of_the_environment_has_all_that_compose_reads() -> None:
    text = (FOLDER / "compose.yaml").read_text("utf-8")
    read = set(re.findall(r"\$\{(\w+)", text))
    given = set(re.findall(r"^(\w+)=", (FOLDER / ".env.example").read_text("utf-8"), re.MULTILINE))
    assert read == given


def test_the_image_has_all_packages() -> None:
    copied = re.findall(
        r"^COPY (\w+) \1$", (FOLDER / "Dockerfile").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(copied) == sorted(PACKAGES)


def test_a_pool_without_needs_of_its_own_has_prefect_s_template() -> None:
    assert job_template("process", {"variables": {}}) == {"variables": {}}


@pytest.mark.parametrize("pool", ["docker", "kubernetes"])
def test_a_template_says_where_the_image_is_and_mounts_the_folder(pool: str) -> None:
    names = ("image", "image_pull_policy", "auto_remove", "networks", "volumes",
             "finished_job_ttl", "pod_watch_timeout_seconds")  # fmt: skip
    pod = {"containers": [{"name": "job", "image": "{{ image }}"}]}
    plain = {
        "variables": {"properties": {name: {} for name in names}},
        "job_configuration": {"job_manifest": {"spec": {"template": {"spec": pod}}}},
    }
    template = job_template(pool, plain)
    assert template["variables"]["properties"]["image"]["default"] == "cosqa-plus:latest"
    assert "/srv/cosqa" in str(template)
    assert "/var/run/docker.sock" in str(template)
    assert pod == {"containers": [{"name": "job", "image": "{{ image }}"}]}, "not changed"
