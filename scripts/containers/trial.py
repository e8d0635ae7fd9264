"""Start an image's processes as compose.yaml would, check their health, and stop them."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import yaml

from scripts.containers.building import Builder, Image
from scripts.containers.dockerfile import DockerfileError

STARTING, ENDING = 240.0, 30.0
# Logged once a process handles signals. An earlier stop signal would kill it during start-up.
BESIDE = {"worker": " ready.", "beat": "beat: Starting..."}


class Trial:
    """One run of an image's processes, with only the image's environment."""

    def __init__(self, builder: Builder, image: Image) -> None:
        self.builder, self.image = builder, image
        self.folder = builder.here(image.folder)
        self.address = f"127.0.0.1:{free_port()}"
        self.environment = builder.environment(image) | {
            "BIND": self.address,
            "SECRET_KEY": secrets.token_urlsafe(64),
            "ALLOWED_HOSTS": "127.0.0.1",
            "TANDEM_PLAIN_HTTP": "1",
        }
        self.logs = builder.root.parent / "logs"
        self.logs.mkdir()

    def command(self, words: list[str]) -> list[str]:
        return [self.builder.mapped(word) for word in words]

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(words),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=STARTING,
            check=False,
        )

    def start(self, name: str, words: list[str]) -> subprocess.Popen[bytes]:
        with (self.logs / name).open("wb") as log:
            return subprocess.Popen(
                self.command(words),
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        return (self.logs / name).read_text("utf-8", "replace")

    @contextlib.contextmanager
    def processes(
        self, commands: dict[str, list[str]]
    ) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
        """Start the processes, by name, and end them with the block."""
        running: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name, words in commands.items():
                running[name] = self.start(name, words)
            yield running
        except DockerfileError as error:
            tails = "".join(f"\n--- {name}\n{self.log(name)[-2000:]}" for name in running)
            raise DockerfileError(f"{error}{tails}") from error
        finally:
            for each in running.values():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(each.pid, signal.SIGKILL)
                each.wait()

    def await_health(self, running: dict[str, subprocess.Popen[bytes]]) -> float:
        """Poll the image's health check until it succeeds; return the seconds that it took."""
        begun = time.monotonic()
        while time.monotonic() - begun < STARTING:
            ended = {name: each.returncode for name, each in running.items() if each.poll()}
            if ended:
                raise DockerfileError(f"ended by themselves: {ended}")
            if self.run(self.image.check).returncode == 0:
                return time.monotonic() - begun
            time.sleep(0.3)
        raise DockerfileError(f"not healthy after {STARTING:.0f} s")

    def fetch_page(self) -> str:
        """Fetch the first page and a static file that it links; return the file's address."""
        try:
            page = self._fetched("/")
            found = re.search(r'"(/static/[^"]+\.[0-9a-f]{12}\.\w+)"', page)
            if found is None:
                raise DockerfileError("the first page names no static file with a hash")
            self._fetched(found[1])
        except urllib.error.URLError as error:
            raise DockerfileError(f"the site does not answer: {error}") from error
        return found[1]

    def _fetched(self, path: str) -> str:
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as answer:
            body: bytes = answer.read()
        return body.decode("utf-8")

    def stop(self, running: dict[str, subprocess.Popen[bytes]]) -> float:
        """Send the stop signal to each first process; all must end with 0 in the grace period."""
        begun = time.monotonic()
        for each in running.values():
            each.send_signal(signal.Signals[self.image.stop])
        for name, each in running.items():
            try:
                status = each.wait(max(0.1, begun + ENDING - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise DockerfileError(
                    f"{name} still runs {ENDING:.0f} s after the signal"
                ) from error
            if status:
                raise DockerfileError(f"{name} ended with {status} after the signal")
        return time.monotonic() - begun

    def await_line(self, name: str, line: str) -> None:
        begun = time.monotonic()
        while line not in self.log(name):
            if time.monotonic() - begun > STARTING:
                raise DockerfileError(f"{name} did not say {line!r} in {STARTING:.0f} s")
            time.sleep(0.1)


def try_out(builder: Builder, image: Image) -> None:
    """Run the trial from the migration to the stop. Raises DockerfileError at the first failure."""
    services = yaml.safe_load((builder.context / "compose.yaml").read_text("utf-8"))["services"]
    trial, say = Trial(builder, image), builder.say
    say(f"  migrate: {' '.join(services['migrate']['command'])}")
    done = trial.run(services["migrate"]["command"])
    if done.returncode:
        raise DockerfileError(f"migrate ended with {done.returncode}: {done.stderr[-2000:]}")
    commands = {"web": image.command} | {name: services[name]["command"] for name in BESIDE}
    before = snapshot(builder, image)
    with trial.processes(commands) as running:
        say(f"  started {', '.join(running)}")
        say(f"  healthy after {trial.await_health(running):.1f} s")
        say(f"  a page, and with it {trial.fetch_page()}")
        for name, line in BESIDE.items():
            trial.await_line(name, line)
        trial.await_health(running)
        say(f"  all ended with 0, {trial.stop(running):.1f} s after {image.stop}")
    if changed := snapshot(builder, image) ^ before:
        names = sorted({name for name, _ in changed})[:5]
        raise DockerfileError(f"written outside of the volumes and /tmp: {', '.join(names)}")
    say("  nothing was written outside of the volumes and /tmp")


def snapshot(builder: Builder, image: Image) -> set[tuple[str, int]]:
    """Return each file on a read-only root, with the time of its last change."""
    writable = [builder.here(each) for each in (*image.volumes, "/tmp")]
    files = (each for each in builder.root.rglob("*") if each.is_file())
    return {
        (each.relative_to(builder.root).as_posix(), each.stat().st_mtime_ns)
        for each in files
        if not any(folder in each.parents for folder in writable)
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
