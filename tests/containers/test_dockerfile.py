"""Dockerfiles are read correctly, and Tandem's own meets its requirements."""

from __future__ import annotations

import re

import pytest

from scripts.containers.dockerfile import (
    DockerfileError,
    Stage,
    expand,
    instructions,
    needed_stages,
    parse_pairs,
    stages,
)
from tests.cast import ROOT

DEBIANS_POSTGRESQL = {"bookworm": 15, "trixie": 17}
"""The version of the package `postgresql-client` by release."""
SMALL = r"""
# A comment, and a blank line after it

ARG VERSION=3.11
FROM python:${VERSION}-slim AS builder
RUN echo one \
    # a comment between the lines of one instruction
    && echo two
FROM python AS unused
FROM python AS runtime
COPY --from=builder --chown=1:1 /opt /opt
CMD ["run", "--it"]
"""


def ours() -> dict[str, Stage]:
    return stages((ROOT / "Dockerfile").read_text("utf-8"))


def only(stage: Stage, name: str) -> str:
    (found,) = stage.all(name)
    return found.rest


def test_continued_lines_are_joined_and_keep_their_first_line_number() -> None:
    runs = [each for each in instructions(SMALL) if each.name == "RUN"]
    assert [(each.line, " ".join(each.text.split())) for each in runs] == [
        (6, "echo one && echo two")
    ]


def test_flags_are_separated_from_the_arguments() -> None:
    (copy,) = stages(SMALL)["runtime"].all("COPY")
    assert copy.flags == {"from": "builder", "chown": "1:1"}
    assert copy.rest == "/opt /opt"


def test_arguments_declared_before_the_first_stage_are_substituted() -> None:
    assert {stage.name: stage.base for stage in stages(SMALL).values()} == {
        "builder": "python:3.11-slim",
        "unused": "python",
        "runtime": "python",
    }


def test_a_target_needs_the_stages_that_it_copies_from_and_no_others() -> None:
    needed = needed_stages(stages(SMALL), "runtime")
    assert [stage.name for stage in needed] == [
        "builder",
        "runtime",
    ]
    with pytest.raises(DockerfileError, match="no stage is called web; there are builder"):
        needed_stages(stages(SMALL), "web")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$A/x", "1/x"),
        ("${A}x", "1x"),
        ("${B:-two}", "two"),
        ("${A:-two}", "1"),
        ("$B-", "-"),
        ("no name", "no name"),
    ],
)
def test_variables_are_expanded(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


def test_variables_may_refer_to_earlier_ones() -> None:
    assert parse_pairs('PATH=/opt/bin:$PATH NAME="two words"', {"PATH": "/bin"}) == {
        "PATH": "/opt/bin:/bin",
        "NAME": "two words",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROM a\nSHELL x", "line 2: SHELL is nothing"),
        ("FROM a\nRUN <<END\nx\nEND", "line 2: RUN is nothing"),
        ("FROM a\nRUN x \\", "line 2: the instruction is not ended"),
        ("RUN x\nFROM a", "line 1: RUN stands before the first FROM"),
    ],
)
def test_instructions_that_cannot_be_carried_out_are_refused(text: str, message: str) -> None:
    with pytest.raises(DockerfileError, match=message):
        stages(text)


@pytest.mark.parametrize("command", ["gunicorn config.wsgi", '"gunicorn"', '["gunicorn", 1]'])
def test_a_command_through_a_shell_is_refused(command: str) -> None:
    (cmd,) = stages(f"FROM a\nCMD {command}")["0"].all("CMD")
    with pytest.raises(DockerfileError, match="line 2: CMD is not a JSON list"):
        cmd.arguments()


def test_the_site_is_built_if_no_target_is_named() -> None:
    assert list(ours()) == ["builder", "vllm", "runtime"]
    assert [stage.name for stage in needed_stages(ours(), "runtime")] == ["builder", "runtime"]


@pytest.mark.parametrize("name", ["builder", "vllm", "runtime"])
def test_base_images_name_their_release_and_their_digest(name: str) -> None:
    pinned = r"python:3\.\d+-slim-(bookworm|trixie)@sha256:[0-9a-f]{64}"
    assert re.fullmatch(pinned, ours()[name].base)


def test_the_site_image_can_dump_the_database_of_compose() -> None:
    """pg_dump refuses a server that is newer than itself."""
    release = re.search(r"slim-(\w+)@", ours()["runtime"].base)
    server = re.search(r"image: postgres:(\d+)", (ROOT / "compose.yaml").read_text("utf-8"))
    assert release is not None
    assert server is not None
    assert DEBIANS_POSTGRESQL[release[1]] >= int(server[1])
    (run,) = ours()["runtime"].all("RUN")
    assert "postgresql-client" in run.rest


@pytest.mark.parametrize("name", ["vllm", "runtime"])
def test_an_image_runs_as_a_fixed_user_and_declares_its_stop_signal(name: str) -> None:
    stage = ours()[name]
    assert only(stage, "USER") == "10001:10001"
    assert only(stage, "STOPSIGNAL") == "SIGTERM"
    later = stage.instructions[stage.instructions.index(stage.all("USER")[0]) :]
    assert {each.name for each in later} & {"RUN", "COPY"} == set()


@pytest.mark.parametrize("name", ["vllm", "runtime"])
def test_an_images_health_check_needs_no_other_program(name: str) -> None:
    check = only(ours()[name], "HEALTHCHECK")
    assert 'CMD ["python", "-c",' in check
    assert "curl" not in check


def test_the_site_image_contains_no_build_tools() -> None:
    runtime = ours()["runtime"]
    (run,) = runtime.all("RUN")
    installed = re.search(r"apt-get install -y --no-install-recommends ([^&]+)", run.rest)
    assert installed is not None
    assert installed[1].split() == ["postgresql-client"]
    assert {part.split()[0] for part in run.rest.split("&&")} == {
        *("apt-get", "rm", "groupadd", "useradd", "install"),
    }
    assert all(each.flags.get("from") == "builder" for each in runtime.all("COPY"))


def test_the_judge_server_image_contains_none_of_our_code() -> None:
    vllm = ours()["vllm"]
    assert [each.rest for each in vllm.all("COPY")] == ["requirements-vllm.lock /tmp/"]
    assert only(vllm, "WORKDIR") == "/srv/judge"


def test_vllm_is_required_in_a_file_of_its_own() -> None:
    def pins(name: str) -> list[str]:
        lines = (ROOT / name).read_text("utf-8").splitlines()
        return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]

    assert [pin.split("==")[0] for pin in pins("requirements-vllm.txt")] == ["vllm"]
    both = pins("requirements.txt") + pins("requirements-dev.txt")
    assert [pin for pin in both if pin.startswith("vllm")] == []
