"""Laws of the files for servers: who has the key and the engine, and what listens where.

The files are read, and none is run but the command of the worker's container in the compose file.
Kubernetes' manifests are compared with its published schemas, the cluster is read by Ray's own
autoscaler, and the job is what Prefect's templating makes of the pool.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import kubernetes_validate
import prefect.server.api
import pytest
import ray
import yaml
from prefect.workers.base import BaseJobConfiguration
from ray.autoscaler._private.kuberay.autoscaling_config import (
    _derive_autoscaling_config_from_ray_cr,
)

from tests.flows.deployed import DEPLOYMENTS
from tests.test_layout import PACKAGES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "infra" / "deploy"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))[
    "services"
]
ENGINE = "/var/run/docker.sock:/var/run/docker.sock"
RESOURCES = ("CPU", "GPU", "docker")


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


def test_prefect_s_server_takes_work_with_its_password_only_and_tells_its_own_ui_alone() -> None:
    told = {name: service.get("environment", {}) for name, service in SERVICES.items()}
    password = told["server"]["PREFECT_SERVER_API_AUTH_STRING"]
    assert "set it in .env" in password
    assert {
        each["PREFECT_API_AUTH_STRING"] for each in told.values() if "PREFECT_API_URL" in each
    } == {password}
    origins = told["server"]["PREFECT_SERVER_CORS_ALLOWED_ORIGINS"]
    assert origins == "http://127.0.0.1:4200,http://localhost:4200"


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


def test_the_image_has_all_packages_and_the_deployments() -> None:
    text = (FOLDER / "Dockerfile").read_text("utf-8")
    assert sorted(re.findall(r"^COPY (\w+) \1$", text, re.MULTILINE)) == sorted(PACKAGES)
    assert "COPY pyproject.toml prefect.yaml " in text


PREFECT_TYPES: dict[str, dict[str, Any]] = json.loads(
    (Path(prefect.server.api.__file__).parent / "collections_data" / "views")
    .joinpath("aggregate-worker-metadata.json")
    .read_text("utf-8")
)
# The environment of a deployment's runs, as `prefect deploy` fills it and then a pool's template.
ENVIRONMENT = {
    **DEPLOYMENTS["annotate"]["work_pool"]["job_variables"]["env"],
    "COSQA_FOLDER": "/srv/cosqa",
}


def template_of(pool: str) -> dict[str, Any]:
    template: dict[str, Any] = json.loads((FOLDER / "pools" / f"{pool}.json").read_text("utf-8"))
    return template


@pytest.mark.parametrize("pool", ["docker", "kubernetes"])
def test_a_pool_s_template_is_prefect_s_with_other_defaults(pool: str) -> None:
    plain = PREFECT_TYPES[f"prefect-{pool}"][pool]["default_base_job_configuration"]
    ours = template_of(pool)
    for template in (plain, ours):
        for variable in template["variables"]["properties"].values():
            variable.pop("default", None)
    assert ours["variables"] == plain["variables"]
    assert ours["job_configuration"].keys() == plain["job_configuration"].keys()


def test_a_docker_pool_says_where_the_image_is_and_mounts_the_folder_and_the_engine() -> None:
    answers = template_of("docker")["variables"]["properties"]
    assert answers["image"]["default"] == "cosqa-plus:latest"
    assert answers["volumes"]["default"] == ["/srv/cosqa:/srv/cosqa", ENGINE]


MANIFESTS: dict[str, dict[str, Any]] = {
    each["kind"]: each
    for each in yaml.safe_load_all(
        (FOLDER / "kubernetes" / "cosqa.yaml").read_text(encoding="utf-8")
    )
}
CLUSTER = MANIFESTS["RayCluster"]
GROUPS = {
    "head": CLUSTER["spec"]["headGroupSpec"],
    **{group["groupName"]: group for group in CLUSTER["spec"]["workerGroupSpecs"]},
}
LATEST = kubernetes_validate.latest_version()


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = manifest["template"]["spec"]
    return pod


class KubernetesJob(BaseJobConfiguration):
    """What Prefect's worker for Kubernetes makes of a template; the worker is not installed."""

    job_manifest: dict[str, Any]


@pytest.fixture
def job() -> dict[str, Any]:
    values = {
        "command": "prefect flow-run execute",
        "name": "a-run",
        "env": {**ENVIRONMENT, "PREFECT_API_URL": "http://prefect-server:4200/api"},
    }
    nobody: Any = object()  # a template without references to blocks asks no server
    made: Any = asyncio.run(
        KubernetesJob.from_template_and_values(template_of("kubernetes"), values, client=nobody)
    )
    manifest: dict[str, Any] = made.job_manifest
    (container,) = pod_of(manifest["spec"])["containers"]
    # The rest is the worker's own: it makes a list of each.
    container["env"] = [{"name": name, "value": value} for name, value in made.env.items()]
    container["args"] = container["args"].split()
    return manifest


def test_the_job_of_a_kubernetes_pool_is_one_of_kubernetes(job: dict[str, Any]) -> None:
    for misplaced in ("parallelism", "completions"):  # by Prefect; Kubernetes drops them
        del pod_of(job["spec"])[misplaced]
    kubernetes_validate.validate(job, LATEST, strict=True)


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "Secret"])
def test_the_claim_and_the_secret_are_ones_of_kubernetes(kind: str) -> None:
    kubernetes_validate.validate(MANIFESTS[kind], LATEST, strict=True)


@pytest.mark.parametrize("group", GROUPS)
def test_the_pods_of_the_cluster_are_ones_of_kubernetes(group: str) -> None:
    template = {"apiVersion": "v1", "kind": "PodTemplate", "template": GROUPS[group]["template"]}
    kubernetes_validate.validate(template, LATEST, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_found(job: dict[str, Any]) -> None:
    pod_of(job["spec"])["volums"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="volums"):
        kubernetes_validate.validate(job, LATEST, strict=True)


def test_ray_s_autoscaler_reads_groups_of_which_all_but_the_judges_begin_at_nought() -> None:
    placed = {**CLUSTER, "metadata": {**CLUSTER["metadata"], "namespace": "default"}}
    groups = _derive_autoscaling_config_from_ray_cr(placed)["available_node_types"]
    read = {
        name: (group["min_workers"], group["max_workers"], *map(group["resources"].get, RESOURCES))
        for name, group in groups.items()
    }
    assert read == {
        "headgroup": (0, 0, 0, None, None),
        "judges": (1, 8, 4, None, 4),
        "encoders": (0, 8, 8, None, None),
        "gpus": (0, 4, 8, 1, None),
    }


def test_the_cluster_is_of_the_release_of_ray_that_runs_have_and_takes_work_with_a_token() -> None:
    assert CLUSTER["spec"]["rayVersion"] == ray.__version__
    assert CLUSTER["spec"]["authOptions"] == {"mode": "token"}


def test_a_job_reaches_the_cluster_with_the_token_that_the_operator_made(
    job: dict[str, Any],
) -> None:
    name = CLUSTER["metadata"]["name"]
    (container,) = pod_of(job["spec"])["containers"]
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env["RAY_ADDRESS"] == f"{name}-head-svc:6379"
    assert env.items() >= ENVIRONMENT.items()
    (volume,) = [each for each in pod_of(job["spec"])["volumes"] if "secret" in each]
    assert volume["secret"] == {"secretName": name}
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == volume["name"]]
    assert env["RAY_AUTH_TOKEN_PATH"] == f"{mount['mountPath']}/auth_token"


def test_jobs_and_all_pods_of_the_cluster_mount_the_claim_at_one_path(job: dict[str, Any]) -> None:
    claim = {"claimName": MANIFESTS["PersistentVolumeClaim"]["metadata"]["name"]}
    for pod in (pod_of(job["spec"]), *map(pod_of, GROUPS.values())):
        (volume,) = [each for each in pod["volumes"] if "persistentVolumeClaim" in each]
        assert volume["persistentVolumeClaim"] == claim
        mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
        assert mounts[volume["name"]] == "/srv/cosqa"


def test_on_kubernetes_runs_alone_have_the_key_and_what_starts_boxes_the_engine(
    job: dict[str, Any],
) -> None:
    pods = {"job": pod_of(job["spec"])} | {name: pod_of(group) for name, group in GROUPS.items()}
    secret = {"secretRef": {"name": MANIFESTS["Secret"]["metadata"]["name"]}}
    assert {name for name, pod in pods.items() if secret in env_from(pod)} == {"job"}
    on_engines = {name for name, pod in pods.items() if "docker.sock" in str(pod["volumes"])}
    assert on_engines == {"job", "judges"}
    for name in on_engines:
        assert pods[name]["nodeSelector"] == {"cosqa/engine": "docker"}


def env_from(pod: dict[str, Any]) -> list[dict[str, Any]]:
    sources: list[dict[str, Any]] = pod["containers"][0].get("envFrom", [])
    return sources


def test_a_job_joins_the_cluster_without_cores_and_without_the_key_and_then_runs(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    stub = '#!/bin/sh\necho "$(basename "$0") $* key=${COSQA_LLM__API_KEY-none}"\n'
    for name in ("ray", "prefect"):
        (tmp_path / name).write_text(stub)
        (tmp_path / name).chmod(0o700)
    (container,) = pod_of(job["spec"])["containers"]
    ended = subprocess.run(
        [*container["command"], *container["args"]],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "COSQA_LLM__API_KEY": "sk-1",
            **{each["name"]: each["value"] for each in container["env"]},
        },
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.stdout.splitlines() == [
        "ray start --address=cosqa-ray-head-svc:6379 --num-cpus=0 --num-gpus=0 key=none",
        "prefect flow-run execute key=sk-1",
    ]
