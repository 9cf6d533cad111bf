"""What docker-compose.yml, Dockerfile and deploy/ promise, read from them without a Docker engine."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from memory_service.adapters.prometheus import telemetry
from memory_service.cli.app import app
from memory_service.config import Settings
from tests.foundations.repository import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("service", "worker", "migrate")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
#: What operators were promised to see.
PROMISED = {
    "memory_service_rpc_requests_total",
    "memory_service_rpc_duration_seconds_bucket",
    "memory_service_snapshot_requests_total",
    "memory_service_recall_stage_seconds_bucket",
    "memory_service_embed_seconds_bucket",
    "memory_service_db_pool_in_use",
    "memory_service_db_pool_size",
    "memory_service_queue_depth",
}


def test_the_stack_is_complete() -> None:
    assert set(SERVICES) == {*OURS, "postgres", "redis", "prometheus", "grafana"}
    assert SERVICES["postgres"]["image"].startswith("pgvector/pgvector:")


@pytest.mark.parametrize("name", sorted(set(SERVICES) - set(OURS)))
def test_foreign_images_are_pinned_to_a_version(name: str) -> None:
    _, _, tag = SERVICES[name]["image"].rpartition(":")
    assert re.search(r"\d+\.\d+", tag), tag


@pytest.mark.parametrize("name", sorted(set(SERVICES) - set(OURS)))
def test_every_backend_has_a_health_check_and_a_volume(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"
    if name == "redis":
        # Sessions must never be on disk.
        command = SERVICES[name]["command"]
        assert "volumes" not in SERVICES[name]
        assert [command[command.index(option) + 1] for option in ("--save", "--appendonly")] == ["", "no"]
        return
    named = {volume.partition(":")[0] for volume in SERVICES[name]["volumes"] if not volume.startswith(".")}
    assert named
    assert named <= set(COMPOSE["volumes"])


def test_ports_are_published_on_this_machine_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"service", "prometheus", "grafana"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert {port.rpartition(":")[2] for port in published["service"]} == {"50051", "9464"}


@pytest.mark.parametrize("name", OURS)
def test_our_containers_have_no_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "user" not in service  # the image's own, below
    environment = service["environment"]
    assert environment["MEMORY_SERVICE_LISTEN"] == "0.0.0.0:50051"
    assert environment["MEMORY_SERVICE_OPS_LISTEN"] == "0.0.0.0:9464"
    assert "@postgres:5432/" in environment["MEMORY_SERVICE_DATABASE_URL"]
    assert environment["MEMORY_SERVICE_REDIS_URL"].startswith("redis://redis:6379")


@pytest.mark.parametrize("name", OURS)
def test_our_containers_run_commands_that_exist(name: str) -> None:
    known = {command.name for command in app.registered_commands}
    assert SERVICES[name]["command"][0] in known


@pytest.mark.parametrize("name", OURS)
def test_every_setting_of_our_containers_exists(name: str) -> None:
    known = {f"MEMORY_SERVICE_{field.upper()}" for field in Settings.model_fields}
    assert set(SERVICES[name]["environment"]) <= known


@pytest.mark.parametrize("name", ["service", "worker"])
def test_the_schema_comes_before_the_service(name: str) -> None:
    assert SERVICES[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert SERVICES["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"


def test_files_that_compose_mounts_exist() -> None:
    mounted = [
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]
    assert mounted
    assert [name for name in mounted if not (ROOT / name).exists()] == []


def test_the_image_is_small_and_not_root() -> None:
    stages = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert stages == ["python:3.11-slim", "python:3.11-slim"]
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    user = re.search(r"^USER (\d+):(\d+)$", final, re.MULTILINE)
    assert user
    assert int(user.group(1)) >= 1000
    assert "pip install" not in final
    assert "/livez" in re.split(r"^HEALTHCHECK", final, flags=re.MULTILINE)[1]
    assert final.index("USER") < final.index("ENTRYPOINT")
    assert DOCKERFILE.count("--require-hashes") == 2


def test_what_the_image_copies_is_in_the_build_context() -> None:
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    ]
    assert copied
    assert [name for name in copied if name.partition("/")[0] not in allowed] == []


def test_prometheus_scrapes_the_service_and_the_worker() -> None:
    configuration = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text(encoding="utf-8"))
    [job] = configuration["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["service:9464", "worker:9464"]}]


def dashboard() -> dict[str, Any]:
    path = ROOT / "deploy" / "grafana" / "dashboards" / "memory-service.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def declared() -> set[str]:
    """The series that the service exports, as Prometheus names them."""
    names = {metric.name for metric in (*telemetry.COUNTERS, *telemetry.GAUGES)}
    names |= {f"{metric.name}_bucket" for metric in telemetry.HISTOGRAMS}
    return {telemetry.PREFIX + name for name in names}


def test_the_dashboard_shows_what_was_promised_and_nothing_that_does_not_exist() -> None:
    queries = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    shown = {name for query in queries for name in re.findall(r"memory_service_\w+", query)}
    assert shown >= PROMISED
    assert shown <= declared()


def test_the_dashboard_groups_by_labels_that_exist() -> None:
    every = (*telemetry.COUNTERS, *telemetry.GAUGES, *telemetry.HISTOGRAMS)
    labels = {telemetry.PREFIX + metric.name: set(metric.labels) for metric in every}
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            [name] = re.findall(r"memory_service_\w+", target["expr"])
            known = (
                labels[name.removesuffix("_bucket")] | {"instance"} | ({"le"} if name.endswith("_bucket") else set())
            )
            grouped = {
                label for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in group.split(", ")
            }
            filtered = set(re.findall(r"(\w+)(?:=|!=)\"", target["expr"]))
            assert grouped | filtered <= known, target["expr"]
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= grouped


def test_the_dashboard_uses_the_provisioned_source_and_its_panels_do_not_overlap() -> None:
    provisioned = yaml.safe_load(
        (ROOT / "deploy" / "grafana" / "provisioning" / "datasources" / "prometheus.yml").read_text(encoding="utf-8")
    )
    uids = {source["uid"] for source in provisioned["datasources"]}
    places = []
    for panel in dashboard()["panels"]:
        assert panel["datasource"]["uid"] in uids
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        places.append((place["x"], place["y"]))
    assert len(set(places)) == len(places)
