"""compose.yaml names only what there is, gives no secret a default and opens one port."""

from __future__ import annotations

import importlib
import re
from typing import Any

import click
import pytest
import yaml
from celery.bin.beat import beat
from celery.bin.worker import worker

from config.env import VARIABLES
from tests.cast import ROOT
from tests.containers.test_dockerfile import STAGES

TEXT = (ROOT / "compose.yaml").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("web", "worker", "light", "beat", "migrate")
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|_KEY$")


def seconds(text: str) -> int:
    assert text.endswith("s")
    return int(text[:-1])


def test_all_services_of_a_site_are_declared() -> None:
    assert set(SERVICES) == {*OURS, "proxy", "postgres", "valkey", "vllm"}
    assert [name for name, each in SERVICES.items() if "profiles" in each] == ["vllm"]


@pytest.mark.parametrize("name", OURS)
def test_our_services_get_only_variables_that_the_settings_read(name: str) -> None:
    assert set(SERVICES[name]["environment"]) <= set(VARIABLES)


@pytest.mark.parametrize("name", OURS)
def test_no_service_of_ours_runs_in_development_mode(name: str) -> None:
    assert "DEBUG" not in SERVICES[name]["environment"]


def test_no_secret_has_a_default() -> None:
    defaults = {
        name: default
        for name, how, default in VARIABLE.findall(TEXT)
        if SECRET.search(name) and name != "TANDEM_PASSWORDS" and how != "?" and default
    }
    assert defaults == {}


@pytest.mark.parametrize("name", ["SECRET_KEY", "POSTGRES_PASSWORD"])
def test_compose_does_not_start_without_a_required_variable(name: str) -> None:
    uses = [(how, said) for found, how, said in VARIABLE.findall(TEXT) if found == name]
    assert uses
    assert all(how == "?" and said.startswith("set it to") for how, said in uses)


def test_every_other_variable_has_a_default() -> None:
    """Compose fills in all variables at once, also those that only one profile needs."""
    required = {name for name, how, _ in VARIABLE.findall(TEXT) if how != "-"}
    assert required == {"SECRET_KEY", "POSTGRES_PASSWORD"}


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_memory_limit(name: str) -> None:
    limit = VARIABLE.sub(lambda found: found[3], str(SERVICES[name]["mem_limit"]))
    assert re.fullmatch(r"\d+[mg]", limit)


def test_a_worker_has_room_for_two_processes_at_their_limit() -> None:
    """Its own process of the pool, and that of a job."""
    limit = VARIABLE.sub(lambda found: found[3], SERVICES["worker"]["mem_limit"])
    assert int(limit.removesuffix("g")) * 1024 >= 2 * int(VARIABLES["TANDEM_JOB_MEMORY_MB"][0])


def test_short_jobs_have_a_worker_that_takes_no_reports() -> None:
    assert SERVICES["light"]["command"][-3:] == ["work", "--places", "0"]


def test_only_the_site_is_published_and_only_on_this_machine() -> None:
    assert {name: each["ports"] for name, each in SERVICES.items() if "ports" in each} == {
        "proxy": ["${WEB_ADDRESS:-127.0.0.1}:${WEB_PORT:-8000}:8080"]
    }


def test_the_database_network_is_internal_and_each_network_has_only_its_services() -> None:
    on = {
        net: {n for n, s in SERVICES.items() if net in s["networks"]} for net in COMPOSE["networks"]
    }
    assert COMPOSE["networks"]["store"] == {"internal": True}
    assert on == {
        "front": {"proxy", "web"},
        "store": {*OURS, "postgres", "valkey"},
        "judges": {"web", "worker", "light", "vllm"},
    }


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_reduced_privileges(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert any(mount.startswith("/tmp") or mount.startswith("/data") for mount in service["tmpfs"])


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_ours_or_pinned_to_a_release(name: str) -> None:
    service = SERVICES[name]
    if "build" in service:
        assert service["build"]["target"] in STAGES
        assert service["image"].startswith("tandem")
    else:
        assert re.search(r":\d[\w.]*-alpine@sha256:[0-9a-f]{64}$", service["image"])


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_waits_only_for_conditions_that_can_be_reached(name: str) -> None:
    for other, need in SERVICES[name].get("depends_on", {}).items():
        if need["condition"] == "service_completed_successfully":
            assert SERVICES[other]["restart"] == "no"
        else:
            assert need["condition"] == "service_healthy"
            # The image of the site has its own check.
            assert other == "web" or "test" in SERVICES[other]["healthcheck"]


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_the_site_waits_for_the_migration(name: str) -> None:
    assert set(SERVICES[name]["depends_on"]) == {"postgres", "valkey", "migrate"}


@pytest.mark.parametrize("name", ["worker", "beat", "migrate"])
def test_services_without_pages_do_not_have_the_health_check_of_the_site(name: str) -> None:
    check = SERVICES[name]["healthcheck"]
    assert check == {"disable": True} or "inspect ping" in check["test"][1]


@pytest.mark.parametrize("name", ["worker", "beat"])
def test_a_health_check_asks_the_celery_node_that_the_command_names(name: str) -> None:
    service = SERVICES[name]
    node = service["command"][service["command"].index("--hostname") + 1]
    assert service["healthcheck"]["test"][1].endswith(node.replace("%h", "$$HOSTNAME"))


@pytest.mark.parametrize(("name", "command"), [("worker", worker), ("beat", beat)])
def test_celery_accepts_the_commands(name: str, command: click.Command) -> None:
    program, flag, module, verb, *rest = SERVICES[name]["command"]
    assert (program, flag, verb) == ("celery", "-A", name)
    assert importlib.import_module(module).celery_app.main == "tandem"
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= known


def test_the_migration_service_runs_a_command_of_ours() -> None:
    assert SERVICES["migrate"]["command"] == ["python", "manage.py", "migrate", "--noinput"]
    assert (ROOT / "manage.py").is_file()


@pytest.mark.parametrize("name", OURS)
def test_written_data_outlives_the_container(name: str) -> None:
    assert SERVICES[name]["volumes"] == ["data:/data"]


def test_every_volume_is_declared_and_used() -> None:
    mounts = [mount for each in SERVICES.values() for mount in each.get("volumes", ())]
    used = {mount.split(":")[0] for mount in mounts if not mount.startswith("./")}
    assert used == set(COMPOSE["volumes"])


def test_a_worker_has_time_to_finish_its_calls() -> None:
    assert seconds(SERVICES["worker"]["stop_grace_period"]) > 30


def test_the_web_server_may_use_its_whole_shutdown_time() -> None:
    found = re.search(
        r"^graceful_timeout = (\d+)$", (ROOT / "config/gunicorn.py").read_text(), re.M
    )
    assert found
    assert seconds(SERVICES["web"]["stop_grace_period"]) > int(found[1])


def test_the_proxy_passes_on_the_headers_that_the_site_reads_and_writes_only_to_tmp() -> None:
    text = (ROOT / "config/front/nginx.conf").read_text("utf-8")
    assert SERVICES["proxy"]["volumes"] == ["./config/front/nginx.conf:/etc/tandem/nginx.conf:ro"]
    assert "http://web:8000;" in text
    assert "listen 8080;" in text
    for name in ("Host", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-ID"):
        # With an appended address, the site would count the proxy in front as a person.
        assert re.search(rf"proxy_set_header {name} \$http_\w+;", text)
    paths = re.findall(r"^\s*(?:pid|\w+_temp_path) (\S+);", text, re.MULTILINE)
    assert len(paths) == 6
    assert all(path.startswith("/tmp/") for path in paths)


def test_the_judge_servers_address_is_allowed_by_our_settings() -> None:
    allowed = VARIABLE.search(SERVICES["web"]["environment"]["TANDEM_JUDGE_HOSTS"])
    assert allowed
    assert allowed[3] == "vllm:8000"
    assert {"--host=0.0.0.0", "--port=8000"} <= set(SERVICES["vllm"]["command"])
