"""deploy/kubernetes: valid by the schemas, and its pods run as processes with their probes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
import yaml

from ricordo.settings import Settings
from tests.support.building import found_uv
from tests.support.containers import DEPLOY, Host, host, image
from tests.support.waiting import PATIENCE_SECONDS, wait_until

FOLDER = DEPLOY / "kubernetes"
CHECKER = "kubernetes-validate==1.37.0"
LISTED: list[str] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
EXAMPLE = "secrets.example.yaml"


def objects(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


EVERYTHING = {
    (one["kind"], one["metadata"]["name"]): one for name in LISTED for one in objects(name)
}
SECRETS = {one["metadata"]["name"]: one for one in objects(EXAMPLE)}
PODS = {
    name: one["spec"]["template"]
    for (_, name), one in EVERYTHING.items()
    if "template" in one.get("spec", {})
}
CONTAINERS = [
    (name, container)
    for name, pod in PODS.items()
    for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
]


def command_of(container: dict[str, Any]) -> list[str]:
    """As Kubernetes has it: a command drops the image's own arguments as well."""
    if "command" in container:
        return [*container["command"], *container.get("args", [])]
    return [*image().entrypoint, *container.get("args", image().command)]


def environment_of(container: dict[str, Any]) -> dict[str, str]:
    found = dict(image().environment)
    for source in container.get("envFrom", []):
        found |= EVERYTHING["ConfigMap", source["configMapRef"]["name"]]["data"]
    return found | {one["name"]: one["value"] for one in container.get("env", [])}


def give_secrets(on: Host, pod: str) -> None:
    """What the pod's volume of secrets holds, where its containers mount it."""
    (volume,) = [one for one in PODS[pod]["spec"]["volumes"] if "secret" in one]
    given = SECRETS[volume["secret"]["secretName"]]["stringData"]
    for container in PODS[pod]["spec"]["containers"]:
        (mount,) = [one for one in container["volumeMounts"] if one["name"] == volume["name"]]
    folder = on.inside(mount["mountPath"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, value in given.items():
        (folder / name).write_text(held_by(on, name, value), encoding="utf-8")


def held_by(on: Host, name: str, value: str) -> str:
    """A secret of the example, filled in."""
    if name != "url":
        return on.inside(f"/run/secrets/{name}").read_text(encoding="utf-8")
    address = sa.make_url(value)
    role = str(address.username).removeprefix("ricordo_")
    password = on.inside(f"/run/secrets/{role}_password").read_text(encoding="utf-8").strip()
    ours = address.set(host="127.0.0.1", port=on.database.port, password=password, query={})
    return ours.render_as_string(hide_password=False)


@pytest.mark.slow
@pytest.mark.requirement("deploy.kubernetes")
def test_the_pods_come_up_in_any_order_and_answer_their_probes(tmp_path: Path) -> None:
    with host(tmp_path) as on:
        script = (DEPLOY / "database.sh").read_text(encoding="utf-8")
        assert on.run(["sh", "-c", script], {}) == 0, on.told

        (waiting,) = PODS["ricordo"]["spec"]["initContainers"]
        give_secrets(on, "ricordo")
        assert on.run(command_of(waiting), environment_of(waiting)) != 0  # no tables yet
        give_secrets(on, "ricordo-migrate")
        (migration,) = PODS["ricordo-migrate"]["spec"]["containers"]
        for _ in range(2):  # a Job may run again
            assert on.run(command_of(migration), environment_of(migration)) == 0, on.told
        give_secrets(on, "ricordo")
        assert on.run(command_of(waiting), environment_of(waiting)) == 0, on.told

        (service,) = PODS["ricordo"]["spec"]["containers"]
        (worker,) = PODS["ricordo-worker"]["spec"]["containers"]
        serving = on.start(command_of(service), environment_of(service))
        working = on.start(command_of(worker), environment_of(worker))
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{on.port}", timeout=PATIENCE_SECONDS
        ) as client:

            def answers(probe: str) -> bool:
                assert serving.poll() is None, on.told
                try:
                    return client.get(service[probe]["httpGet"]["path"]).status_code == 200
                except httpx2.TransportError:
                    return False

            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                wait_until(lambda probe=probe: answers(probe))
            made = on.output(
                [*image().entrypoint, "keys", "create", "chat", "--json"], environment_of(service)
            )
            key = json.loads(made)["secret"]
            client.headers.update({"Authorization": f"Bearer {key}", "X-Ricordo-User": "ana"})
            said = {"messages": [{"role": "user", "content": "I work as a nurse."}]}
            client.post("/v1/threads/monday/turns", json=said).raise_for_status()
            wait_until(lambda: client.get("/v1/memories").json()["items"])
        for process in (serving, working):
            assert on.stop(process) == 0, on.told


@pytest.mark.slow
@pytest.mark.requirement("deploy.kubernetes")
def test_the_schemas_of_kubernetes_accept_them() -> None:
    """Fetched as somebody does who runs it with uv."""
    uv = found_uv()
    checker = [uv, "tool", "run", "--quiet", "--python", sys.executable, "--from", CHECKER]
    for name in (*LISTED, EXAMPLE):
        done = subprocess.run(
            [*checker, "kubernetes-validate", "--strict", str(FOLDER / name)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{name}\n{done.stdout}{done.stderr}"


@pytest.mark.requirement("deploy.kubernetes")
def test_pods_may_do_no_more_than_they_need() -> None:
    uid, gid = image().user.split(":")
    for name, pod in PODS.items():
        confined = pod["spec"]["securityContext"]
        assert confined["runAsNonRoot"] is True, name
        assert (confined["runAsUser"], confined["runAsGroup"]) == (int(uid), int(gid))
        assert confined["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["spec"]["automountServiceAccountToken"] is False
        owners = {one["secret"]["secretName"] for one in pod["spec"]["volumes"] if "secret" in one}
        assert ("ricordo-owner" in owners) == (name == "ricordo-migrate")
    for name, container in CONTAINERS:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert {one["mountPath"] for one in container["volumeMounts"]} == {
            *("/run/secrets/ricordo", "/var/lib/ricordo", "/tmp")
        }
        assert {"requests", "limits"} == set(container["resources"])


@pytest.mark.requirement("deploy.kubernetes")
def test_selectors_ports_and_times_fit_each_other() -> None:
    labels = {name: pod["metadata"]["labels"].items() for name, pod in PODS.items()}

    def chosen(by: dict[str, str]) -> set[str]:
        return {name for name, has in labels.items() if by.items() <= has}

    for (kind, name), one in EVERYTHING.items():
        if kind == "Deployment":
            assert chosen(one["spec"]["selector"]["matchLabels"]) == {name}
    assert chosen(EVERYTHING["Service", "ricordo"]["spec"]["selector"]) == {"ricordo"}
    budget = EVERYTHING["PodDisruptionBudget", "ricordo"]["spec"]
    assert chosen(budget["selector"]["matchLabels"]) == {"ricordo"}
    assert budget["minAvailable"] < EVERYTHING["Deployment", "ricordo"]["spec"]["replicas"]
    policy = EVERYTHING["NetworkPolicy", "ricordo"]["spec"]["podSelector"]["matchLabels"]
    assert chosen(policy) == set(PODS)
    (service,) = PODS["ricordo"]["spec"]["containers"]
    settings = Settings()
    assert service["ports"] == [{"name": "http", "containerPort": settings.port}]
    before = int(service["lifecycle"]["preStop"]["exec"]["command"][-1])
    graces = {name: pod["spec"]["terminationGracePeriodSeconds"] for name, pod in PODS.items()}
    assert graces["ricordo"] > settings.shutdown_seconds + before
    assert graces["ricordo-worker"] > settings.job_run_seconds
    known = {f"RICORDO_{name.upper()}" for name in Settings.model_fields}
    for _, container in CONTAINERS:
        said = set(environment_of(container)) - set(image().environment)
        assert {name.removesuffix("_FILE") for name in said} <= known
