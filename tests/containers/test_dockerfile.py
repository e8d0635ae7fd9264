"""What the Dockerfile and .dockerignore say about images, read as text."""

from __future__ import annotations

import re

import pytest

from config.settings import INSTALLED_APPS
from tests.cast import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
BASES = dict(re.findall(r"^ARG (\w+IMAGE)=(\S+)$", DOCKERFILE, re.MULTILINE))
DEBIANS_POSTGRESQL = {"bookworm": 15, "trixie": 17}
"""The version of the package `postgresql-client` by release."""
STAGES = {
    name: (base, text)
    for base, name, text in re.findall(
        r"^FROM \$\{(\w+)\} AS (\w+)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL
    )
}
"""The base and the lines of each stage."""
LET_IN = {
    *("analysis", "annotation", "audit", "config", "datasets", "judging"),
    *("static", "tandem", "templates"),
    *("CHANGELOG.md", "LICENSE", "manage.py", "requirements.lock", "requirements-vllm.lock"),
}


def lines(stage: str, instruction: str) -> list[str]:
    """The rest of each line that starts with an instruction."""
    return re.findall(rf"^{instruction} (.*)$", STAGES[stage][1], re.MULTILINE)


def packages(stage: str) -> list[str]:
    (found,) = re.findall(r"apt-get install -y --no-install-recommends (.+) \\", STAGES[stage][1])
    return str(found).split()


def test_the_site_is_built_if_no_target_is_named() -> None:
    assert list(STAGES) == ["builder", "vllm", "runtime"]


@pytest.mark.parametrize("stage", STAGES)
def test_base_images_name_their_release_and_their_digest(stage: str) -> None:
    pinned = r"python:3\.\d+-slim-(bookworm|trixie)@sha256:[0-9a-f]{64}"
    assert re.fullmatch(pinned, BASES[STAGES[stage][0]])


def test_the_site_image_can_dump_the_database_of_compose() -> None:
    """pg_dump refuses a server that is newer than itself."""
    (release,) = re.findall(r"slim-(\w+)@", BASES[STAGES["runtime"][0]])
    (server,) = re.findall(r"image: postgres:(\d+)", (ROOT / "compose.yaml").read_text("utf-8"))
    assert DEBIANS_POSTGRESQL[release] >= int(server)
    assert packages("runtime") == ["postgresql-client"], "and no build tools"


@pytest.mark.parametrize("stage", ["vllm", "runtime"])
def test_an_image_runs_as_a_fixed_user_and_declares_its_stop_signal(stage: str) -> None:
    assert lines(stage, "USER") == ["10001:10001"]
    assert lines(stage, "STOPSIGNAL") == ["SIGTERM"]
    later = STAGES[stage][1].partition("\nUSER ")[2]
    assert not re.search(r"^(RUN|COPY)\b", later, re.MULTILINE)


@pytest.mark.parametrize("stage", ["vllm", "runtime"])
def test_processes_and_health_checks_need_no_shell_and_no_other_program(stage: str) -> None:
    started = re.findall(r"^ *(?:CMD|ENTRYPOINT) (.*)$", STAGES[stage][1], re.MULTILINE)
    assert all(command.startswith('["') for command in started)
    assert started[0].startswith('["python", "-c", "import ')


def test_the_site_image_contains_only_what_was_built() -> None:
    assert lines("runtime", "COPY") == [
        "--from=builder /opt/venv /opt/venv",
        "--from=builder /app /app",
    ]


def test_the_judge_server_image_contains_none_of_our_code() -> None:
    assert lines("vllm", "COPY") == ["requirements-vllm.lock /tmp/"]
    assert lines("vllm", "WORKDIR") == ["/srv/judge"]


def test_nothing_enters_an_image_unless_it_is_named() -> None:
    """Keys, data and histories stay outside."""
    text = (ROOT / ".dockerignore").read_text("utf-8")
    patterns = [line for line in text.splitlines() if not line.startswith("#")]
    named = [f"!{name}" for name in LET_IN]
    assert patterns[0] == "*"
    assert set(patterns[1:]) == {*named, "**/__pycache__", "**/*.pyc"}
    assert all((ROOT / name).exists() for name in LET_IN)
    assert patterns.index("**/*.pyc") > max(map(patterns.index, named))
    ours = {each.partition(".")[0] for each in INSTALLED_APPS}
    assert {each for each in ours if (ROOT / each).is_dir()} <= LET_IN


def test_vllm_is_required_in_a_file_of_its_own() -> None:
    def pins(name: str) -> list[str]:
        lines = (ROOT / name).read_text("utf-8").splitlines()
        return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]

    assert [pin.split("==")[0] for pin in pins("requirements-vllm.txt")] == ["vllm"]
    both = pins("requirements.txt") + pins("requirements-dev.txt")
    assert [pin for pin in both if pin.startswith("vllm")] == []
