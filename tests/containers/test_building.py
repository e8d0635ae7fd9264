"""The steps of a short Dockerfile are carried out in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.containers.building import Builder, Image, with_uv
from scripts.containers.dockerfile import DockerfileError, needed_stages, stages

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
        return self.builder.build(needed_stages(stages(text), target))

    def holds(self) -> set[str]:
        root = self.builder.root
        return {each.relative_to(root).as_posix() for each in root.rglob("*") if each.is_file()}


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def test_an_image_contains_the_files_that_the_steps_copied_and_created(yard: Yard) -> None:
    yard.build(BUILDER + RUNTIME)
    kept = {"app/kept/one.txt", "app/kept/two.txt"}
    assert yard.holds() == kept | {"app/one.txt", "app/two.txt", "app/made.txt"}
    assert (yard.builder.root / "app/made.txt").read_text() == "hello\n"


def test_files_not_copied_from_a_stage_are_left_behind(yard: Yard) -> None:
    yard.build(BUILDER + RUNTIME)
    assert (yard.builder.stages / "builder/opt/link").is_symlink()
    assert not (yard.builder.root / "opt/link").exists()


def test_the_start_command_of_the_image_is_kept(yard: Yard) -> None:
    image = yard.build(BUILDER + RUNTIME)
    assert (image.folder, image.volumes, image.stop) == ("/app", ["/data"], "SIGINT")
    assert image.command == ["python", "-m", "site"]
    assert image.check == ["python", "-c", "print(1)"]


def test_paths_of_the_image_are_mapped_into_the_folder_and_the_machine_is_left_alone(
    yard: Yard,
) -> None:
    root = yard.builder.root
    assert yard.builder.mapped("cp /app/x /data:/usr/bin /etc/app") == (
        f"cp {root}/app/x {root}/data:/usr/bin /etc/app"
    )
    assert yard.builder.mapped("http://host:1/app /apple sqlite:////data/x") == (
        "http://host:1/app /apple sqlite:////data/x"
    )


def test_steps_see_only_the_environment_of_the_image(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "of this machine")
    environment = yard.builder.environment(yard.build(BUILDER + RUNTIME))
    assert set(environment) == {"PATH", "DATA", "TMPDIR"}
    assert environment["PATH"].split(":")[:2] == [
        f"{yard.builder.root}/opt/bin",
        str(yard.builder.bin),
    ]


def test_skipped_steps_are_reported(yard: Yard) -> None:
    yard.build(BUILDER + RUNTIME)
    where = next(n for n, line in enumerate(yard.said) if "useradd" in line)
    assert "skipped" in yard.said[where + 1]


@pytest.mark.parametrize("source", ["three.txt", "secret.env", "folder"])
def test_copying_a_file_outside_the_context_is_refused(yard: Yard, source: str) -> None:
    with pytest.raises(DockerfileError, match=rf"{source} is not there, or \.dockerignore hides"):
        yard.build(f"FROM python AS runtime\nCOPY {source} /app/\n")


def test_copying_a_file_that_a_stage_did_not_create_is_refused(yard: Yard) -> None:
    with pytest.raises(DockerfileError, match="/opt/venv is not there"):
        yard.build(f"{BUILDER}FROM python AS runtime\nCOPY --from=builder /opt/venv /opt/venv\n")


def test_a_step_that_fails_ends_the_build(yard: Yard) -> None:
    with pytest.raises(DockerfileError, match="line 3: RUN exit 3: exit status 3"):
        yard.build("FROM python AS runtime\nWORKDIR /app\nRUN exit 3\n")


def test_an_entry_point_is_refused(yard: Yard) -> None:
    with pytest.raises(DockerfileError, match="entry point"):
        yard.build('FROM python AS runtime\nENTRYPOINT ["x"]\n')


def test_uv_replaces_pip_with_pip_as_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
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
