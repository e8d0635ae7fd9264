"""Carrying out steps in a folder, over a Dockerfile of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.containers.building import Builder, Image, with_uv
from scripts.containers.dockerfile import DockerfileError, needed, stages

BUILDER = """
FROM python AS builder
WORKDIR /app
COPY one.txt two.txt kept/
COPY . .
ENV GREETING=hello
RUN echo "$GREETING" > /app/made.txt && python -c "import sys" && ln -s made.txt /opt/link
"""
RUNTIME = """
FROM python AS runtime
RUN useradd nobody-special && touch /app/never
COPY --from=builder /app /app
ENV PATH=/opt/bin:$PATH DATA=/data
WORKDIR /app
VOLUME /data
STOPSIGNAL SIGINT
HEALTHCHECK --interval=5s CMD ["python", "-c", "print(1)"]
CMD ["python", "-m", "site"]
"""


class Yard:
    """A small context, a folder to work in, and what the builder said."""

    def __init__(self, folder: Path) -> None:
        self.context, self.work = folder / "context", folder / "work"
        self.context.mkdir()
        self.said: list[str] = []
        for name in ("one.txt", "two.txt", "secret.env"):
            (self.context / name).write_text(name)
        (self.context / ".dockerignore").write_text("*.env\n.dockerignore\n")
        self.builder = Builder(self.context, self.work, self.said.append)

    def build(self, text: str, target: str = "runtime") -> Image:
        return self.builder.build(needed(stages(text), target))

    def holds(self) -> set[str]:
        root = self.builder.root
        return {each.relative_to(root).as_posix() for each in root.rglob("*") if each.is_file()}


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def test_an_image_holds_what_the_steps_copied_and_made(yard: Yard) -> None:
    yard.build(BUILDER + RUNTIME)
    kept = {"app/kept/one.txt", "app/kept/two.txt"}
    assert yard.holds() == kept | {"app/one.txt", "app/two.txt", "app/made.txt"}
    assert (yard.builder.root / "app/made.txt").read_text() == "hello\n"


def test_a_stage_leaves_behind_what_is_not_copied(yard: Yard) -> None:
    yard.build(BUILDER + RUNTIME)
    assert (yard.builder.stages / "builder/opt/link").is_symlink()
    assert not (yard.builder.root / "opt/link").exists()


def test_it_keeps_how_the_image_is_started(yard: Yard) -> None:
    image = yard.build(BUILDER + RUNTIME)
    assert (image.folder, image.volumes, image.stop) == ("/app", ["/data"], "SIGINT")
    assert image.command == ["python", "-m", "site"]
    assert image.check == ["python", "-c", "print(1)"]


def test_paths_of_the_image_lie_in_the_folder_and_the_machine_is_left_alone(yard: Yard) -> None:
    root = yard.builder.root
    assert yard.builder.mapped("cp /app/x /data:/usr/bin /etc/app") == (
        f"cp {root}/app/x {root}/data:/usr/bin /etc/app"
    )
    assert yard.builder.mapped("http://host:1/app /apple sqlite:////data/x") == (
        "http://host:1/app /apple sqlite:////data/x"
    )


def test_the_environment_is_the_images_alone(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "of this machine")
    environment = yard.builder.environment(yard.build(BUILDER + RUNTIME))
    assert set(environment) == {"PATH", "DATA", "TMPDIR"}
    assert environment["PATH"].split(":")[:2] == [
        f"{yard.builder.root}/opt/bin",
        str(yard.builder.bin),
    ]


def test_it_says_what_it_skips(yard: Yard) -> None:
    yard.build(BUILDER + RUNTIME)
    where = next(n for n, line in enumerate(yard.said) if "useradd" in line)
    assert "skipped" in yard.said[where + 1]


@pytest.mark.parametrize("source", ["three.txt", "secret.env", "folder"])
def test_it_refuses_to_copy_what_the_context_does_not_hold(yard: Yard, source: str) -> None:
    with pytest.raises(DockerfileError, match=rf"{source} is not there, or \.dockerignore hides"):
        yard.build(f"FROM python AS runtime\nCOPY {source} /app/\n")


def test_it_refuses_to_copy_what_a_stage_did_not_make(yard: Yard) -> None:
    with pytest.raises(DockerfileError, match="/opt/venv is not there"):
        yard.build(f"{BUILDER}FROM python AS runtime\nCOPY --from=builder /opt/venv /opt/venv\n")


def test_a_step_that_fails_ends_the_build(yard: Yard) -> None:
    with pytest.raises(DockerfileError, match="line 3: RUN exit 3: exit status 3"):
        yard.build("FROM python AS runtime\nWORKDIR /app\nRUN exit 3\n")


def test_it_refuses_an_entry_point(yard: Yard) -> None:
    with pytest.raises(DockerfileError, match="entry point"):
        yard.build('FROM python AS runtime\nENTRYPOINT ["x"]\n')


def test_uv_stands_in_for_pip_with_pip_as_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    command = "/v/bin/pip install --no-cache-dir -r r.txt && next"
    monkeypatch.setattr("shutil.which", lambda name, path: "/bin/uv")
    install = "/bin/uv pip install --quiet --compile-bytecode --python /v/bin/python -r r.txt"
    assert with_uv(command, said.append) == (
        f"{{ {install} || /v/bin/pip install --no-cache-dir -r r.txt; }} && next"
    )
    assert said
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    assert with_uv(command, said.append) == command
