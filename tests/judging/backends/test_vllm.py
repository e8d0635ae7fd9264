"""The vllm backend starts, watches and stops a real process, here without a model."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from judging.backends import vllm as module
from judging.backends import vllm_server
from judging.backends.base import FatalError, FinalError, Setup, SetupError, TransientError
from judging.backends.openai import KEY_VARIABLE
from judging.backends.vllm import VLLM
from judging.backends.vllm_server import MAX_RESTARTS, Servers, explain_log
from judging.servers import KEY_PREFIX
from tests.cast import ROOT
from tests.fake_openai.running import Running
from tests.forks import Process
from tests.judging import fake_vllm
from tests.judging.backends.test_openai import REQUEST
from tests.judging.processes import UNITS, House, each_once, until
from tests.patience import PATIENCE

MODEL = "org/tiny-judge"


@dataclass
class Fake:
    """The program, and the process id of each start."""

    notes: Path
    env: pytest.MonkeyPatch
    servers: Servers
    options: dict[str, Any] = field(default_factory=dict)

    def tell(self, **options: Any) -> None:
        self.options |= options
        self.env.setenv("FAKE_VLLM", json.dumps({"notes": str(self.notes), **self.options}))

    def starts(self) -> list[dict[str, Any]]:
        lines = self.notes.read_text("utf-8").splitlines() if self.notes.exists() else []
        return [json.loads(line) for line in lines]

    def held(self) -> int:
        """How many calls the first process holds back."""
        (port,) = [word for word in self.starts()[0]["arguments"] if word.startswith("--port=")]
        return int(Running(f"http://127.0.0.1:{port.partition('=')[2]}", None).stats()["held"])

    def gone(self) -> bool:
        """Whether the server was started and none of its processes is still running."""
        pids = [start[key] for start in self.starts() for key in ("pid", "child")]
        return bool(pids) and not any(map(lives, pids))


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with installed(tmp_path, monkeypatch) as fake:
        yield fake


@contextmanager
def installed(folder: Path, env: pytest.MonkeyPatch) -> Iterator[Fake]:
    program = folder / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {fake_vllm.__file__} "$@"\n', "utf-8")
    program.chmod(0o755)
    env.setenv("TANDEM_VLLM", str(program))
    env.delenv("TANDEM_VLLM_ARGS", raising=False)
    servers = Servers()
    env.setattr(module, "SERVERS", servers)
    fake = Fake(folder / "notes", env, servers)
    fake.tell()
    yield fake
    servers.stop_all()


def ask(times: int = 1, model: str = MODEL, **params: Any) -> str:
    """Return the result of the last of these calls, made in one pump."""

    async def inside() -> str:
        async with VLLM(Setup(model, params={"timeout": 10.0} | params)) as backend:
            for _ in range(times):
                answer = await backend.ask(REQUEST)
            return answer.text

    return asyncio.run(inside())


YES = {"answerable": "yes"}


Asked = tuple[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Return a server's answer to the second of two pumps, with secrets set, and its starts."""
    params: dict[str, Any] = {
        "max_model_len": 4096,
        "tensor_parallel": 2,
        "quantization": "awq",
    }
    folder = tmp_path_factory.mktemp("vllm")
    with pytest.MonkeyPatch.context() as env, installed(folder, env) as vllm:
        for name, value in {
            "SECRET_KEY": "ours",
            "DATABASE_URL": "postgresql://us:pass@host/db",
            "PYTHONPATH": str(ROOT),
            KEY_VARIABLE: "sk-of-another-server",
            f"{KEY_PREFIX}LAB": "sk-of-another-server",
            "TANDEM_VLLM_ARGS": "--enforce-eager --chat-template 'a b.jinja'",
        }.items():
            env.setenv(name, value)
        ask(**params)
        return ask(**params, temperature=0.5), vllm.starts()


@pytest.fixture
def start(asked: Asked) -> dict[str, Any]:
    return asked[1][0]


class TestServer:
    def test_a_started_server_answers(self, asked: Asked, start: dict[str, Any]) -> None:
        assert json.loads(asked[0]) == YES
        assert start["arguments"][0] == MODEL
        assert "--host=127.0.0.1" in start["arguments"]
        assert '"disable_any_whitespace": true' in " ".join(start["arguments"])

    def test_the_next_engine_reuses_the_server(self, asked: Asked) -> None:
        assert len(asked[1]) == 1

    def test_the_server_gets_its_own_key_and_no_other_secret(self, start: dict[str, Any]) -> None:
        assert start["env"].keys() == {"VLLM_API_KEY"}
        assert start["env"]["VLLM_API_KEY"] not in " ".join(start["arguments"])

    def test_the_server_starts_without_tandem_on_its_import_path(
        self, start: dict[str, Any]
    ) -> None:
        assert not Path(start["cwd"]).is_relative_to(ROOT)
        assert not (Path(start["cwd"]) / "datasets").exists()

    def test_parameters_become_flags_and_the_operator_s_own_come_last(
        self, start: dict[str, Any]
    ) -> None:
        assert {"--max-model-len=4096", "--tensor-parallel-size=2"} < set(start["arguments"])
        assert start["arguments"][-3:] == ["--enforce-eager", "--chat-template", "a b.jinja"]


def test_a_model_folder_is_resolved_and_served_under_its_given_name(
    vllm: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    ask(model="mine")
    (start,) = vllm.starts()
    assert start["arguments"][0] == str((tmp_path / "mine").resolve())
    assert "--served-model-name=mine" in start["arguments"]


@pytest.mark.long
def test_a_slow_start_is_waited_for(vllm: Fake) -> None:
    vllm.tell(slow=1.0)
    assert json.loads(ask()) == YES


def test_a_starting_server_is_left_to_the_next_caller(vllm: Fake) -> None:
    async def inside() -> None:
        async with asyncio.timeout(0.2), VLLM(Setup(MODEL)):
            pass

    vllm.tell(slow=1.0)
    with pytest.raises(TimeoutError):
        asyncio.run(inside())
    assert json.loads(ask()) == YES
    assert len(vllm.starts()) == 1


def test_an_idle_server_is_stopped_with_all_its_processes(
    vllm: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SERVERS", Servers(idle_seconds=0.05))
    ask()
    until(vllm.gone, "the idle server is gone")
    assert json.loads(ask()) == YES
    until(vllm.gone, "so is the one that came after it")


def test_an_idle_server_makes_room_for_another_judges_server(vllm: Fake) -> None:
    ask()
    ask(max_model_len=4096)
    first, second = vllm.starts()
    assert not lives(first["pid"])
    assert lives(second["pid"])


def test_stopping_leaves_no_process_or_folder_of_the_server(vllm: Fake) -> None:
    ask()
    vllm.servers.stop_all()
    (start,) = vllm.starts()
    assert not lives(start["pid"])
    until(vllm.gone, "its other processes are gone too")
    assert not Path(start["cwd"]).exists()


def test_a_server_that_does_not_start_fails_its_calls_with_the_remedy(vllm: Fake) -> None:
    vllm.tell(says="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB")
    with pytest.raises(FatalError, match=r"did not start .*exit code 1.*smaller or quantised"):
        ask()
    assert len(vllm.starts()) == 1
    until(vllm.gone, "its other processes are gone too")


def test_the_next_engine_tries_to_start_the_server_again(vllm: Fake, tmp_path: Path) -> None:
    vllm.tell(says="ValueError: no", once=str(tmp_path / "once"))
    with pytest.raises(FatalError):
        ask()
    assert json.loads(ask()) == YES


def test_a_port_taken_meanwhile_leads_to_another_start(vllm: Fake, tmp_path: Path) -> None:
    taken = "OSError: [Errno 98] Address already in use"
    vllm.tell(says=taken, once=str(tmp_path / "once"))
    assert json.loads(ask()) == YES
    assert len(vllm.starts()) == 2


def test_a_missing_program_is_reported_with_how_to_install_it(
    vllm: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_VLLM", "no-such-vllm")
    with pytest.raises(FatalError, match=r"requirements-vllm\.txt"):
        ask()


def test_a_server_that_dies_during_a_call_is_restarted(vllm: Fake) -> None:
    vllm.tell(dies=2)

    async def inside() -> tuple[TransientError, str]:
        async with VLLM(Setup(MODEL)) as backend:
            await backend.ask(REQUEST)
            await backend.ask(REQUEST)
            with pytest.raises(TransientError) as caught:
                await backend.ask(REQUEST)
            return caught.value, (await backend.ask(REQUEST)).text

    error, text = asyncio.run(inside())
    assert (error.unreachable, error.state) == (True, "server-ended")
    assert json.loads(text) == YES
    assert len(vllm.starts()) == 2


@pytest.mark.parametrize("most", [1, pytest.param(MAX_RESTARTS, marks=pytest.mark.long)])
def test_a_server_that_dies_repeatedly_ends_the_run(
    vllm: Fake, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(vllm_server, "MAX_RESTARTS", most)
    vllm.tell(dies=0)

    async def inside() -> list[BaseException]:
        async with VLLM(Setup(MODEL)) as backend:
            return [await came(backend) for _ in range(most + 2)]

    *earlier, fatal, still = asyncio.run(inside())
    assert {type(error) for error in earlier} == {TransientError}
    assert isinstance(fatal, FatalError)
    assert f"vLLM ended {most + 1} times" in fatal.message
    assert isinstance(still, FatalError)
    assert len(vllm.starts()) == most + 1


async def came(backend: VLLM) -> BaseException:
    with pytest.raises((TransientError, FatalError)) as caught:
        await backend.ask(REQUEST)
    return caught.value


def test_simultaneous_calls_share_one_restart(vllm: Fake) -> None:
    vllm.tell(holds_after=0)

    async def inside() -> list[Any]:
        async with VLLM(Setup(MODEL)) as backend:
            calls = [asyncio.create_task(backend.ask(REQUEST)) for _ in range(8)]
            await asyncio.to_thread(until, lambda: vllm.held() == 8, "all calls are under way")
            vllm.tell(holds_after=None)
            os.kill(vllm.starts()[0]["pid"], signal.SIGKILL)
            failed = await asyncio.gather(*calls, return_exceptions=True)
            return [*failed, await backend.ask(REQUEST)]

    *failed, answer = asyncio.run(inside())
    assert [type(error) for error in failed] == [TransientError] * 8
    assert json.loads(answer.text) == YES
    assert len(vllm.starts()) == 2


HOLDS = """
import asyncio, os, sys, time
from judging.backends.base import Setup
from judging.backends.vllm import VLLM

async def hold():
    async with VLLM(Setup("m")):
        if "fork" in sys.argv and os.fork() == 0:
            time.sleep(900)
            os._exit(0)
        print("up", flush=True)
        time.sleep(900)

asyncio.run(hold())
"""


@pytest.mark.parametrize("how", [pytest.param("alone", marks=pytest.mark.long), "fork"])
def test_a_kill_9_of_its_parent_leaves_nothing_running(vllm: Fake, how: str) -> None:
    """A child forked in the meantime inherits the pipe, and must not keep the server alive."""
    command = [sys.executable, "-c", HOLDS, how]
    with Process(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "up\n"
        assert not vllm.gone()
        parent.kill()
        parent.wait()
        until(vllm.gone, "the server and its child are gone")
        os.killpg(parent.pid, signal.SIGKILL) if how == "fork" else None


def test_a_kill_9_of_the_guard_ends_the_server(vllm: Fake) -> None:
    ask()
    (start,) = vllm.starts()
    guard = int(Path(f"/proc/{start['pid']}/stat").read_text("utf-8").rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    until(lambda: not lives(start["pid"]), "the server is gone")
    os.kill(start["child"], signal.SIGKILL)
    assert json.loads(ask()) == YES


def test_a_context_found_by_an_earlier_probe_refuses_longer_prompts(vllm: Fake) -> None:
    async def inside() -> None:
        async with VLLM(Setup(MODEL, params={"timeout": 10.0})) as backend:
            backend.recall({"max_model_len": 1})
            await backend.ask(REQUEST)

    with pytest.raises(FinalError, match="the model takes 1 tokens"):
        asyncio.run(inside())


def test_a_requests_identity_does_not_depend_on_the_servers_port(vllm: Fake) -> None:
    async def inside(backend: VLLM) -> Any:
        async with backend:
            return backend.identity(REQUEST)

    before = VLLM(Setup(MODEL)).identity(REQUEST)
    assert asyncio.run(inside(VLLM(Setup(MODEL)))) == before
    assert "127.0.0.1" not in json.dumps(before)
    assert before["endpoint"] == VLLM(Setup(MODEL)).endpoint == f"vllm:{MODEL}"


def test_only_engine_settings_that_change_answers_are_part_of_a_request() -> None:
    def identity(**params: Any) -> Any:
        return VLLM(Setup(MODEL, params=params)).identity(REQUEST)

    assert identity(quantization="awq") != identity()
    assert identity(tensor_parallel=2, gpu_memory=0.5) == identity()


@pytest.mark.parametrize(
    ("setup", "mend"),
    [
        (Setup(""), "give --model"),
        (Setup("--trust-remote-code"), "begins with a dash"),
        (Setup(MODEL, "http://127.0.0.1:8000"), "leave out --base-url"),
        (Setup(MODEL, api_key_env="KEY"), "leave out --api-key-env"),
    ],
)
def test_a_definition_that_cannot_work_is_refused(setup: Setup, mend: str) -> None:
    with pytest.raises(SetupError, match=mend):
        VLLM(setup)


@pytest.mark.parametrize("given", ["--api-key abc", "--hf_token=abc"])
def test_a_secret_among_the_flags_is_refused_since_manifests_list_them(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANDEM_VLLM_ARGS", f"--enforce-eager {given}")
    with pytest.raises(SetupError, match="contains a secret") as caught:
        VLLM(Setup(MODEL))
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        (
            "OSError: x/y is not a local folder and is not a valid model identifier",
            "model does not exist",
        ),
        ("huggingface_hub.errors.GatedRepoError: 403 Client Error.", "HF_TOKEN"),
        ("ValueError: Free memory on device cuda:0 (1/24 GiB) on startup is less than desired GPU "
         "memory utilization (0.9, 21 GiB).", "another process uses"),
        ("ValueError: No available memory for the cache blocks.", "lower --param max_model_len"),
        ("ValueError: User-specified max_model_len (99) is greater than the derived "
         "max_model_len (max_position_embeddings=32)", "cannot read texts of that length"),
        ("RuntimeError: Failed to infer device type", "no GPU can be used"),
        ("vllm serve: error: unrecognized arguments: --wrong", "TANDEM_VLLM_ARGS"),
        ("OSError: [Errno 98] error while attempting to bind on address: address already in use",
         "another process took the port"),
    ],
)  # fmt: skip
def test_a_known_log_line_becomes_a_cause_with_its_remedy(line: str, mend: str) -> None:
    assert mend in explain_log(f"INFO 11-22 00:07:29 [a.py:1] starting\n{line}\nbye\n")


def test_the_shown_log_line_is_the_root_cause() -> None:
    log = (
        "(EngineCore pid=7) ERROR 11-22 00:07:29 [core.py:12] ValueError: the root\n"
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.\n"
    )
    assert explain_log(log) == "ValueError: the root"


@pytest.mark.processes
def test_a_run_whose_server_dies_answers_every_unit_once(vllm: Fake, furnished: Path,
                                                            tmp_path: Path) -> None:  # fmt: skip
    vllm.tell(dies=int(UNITS * 0.6))
    house = House(Path(shutil.copytree(furnished, tmp_path / "house")), copy_of=furnished)
    house.manage_all(
        ("create_judge", "v", "--backend", "vllm", "--model", MODEL, "--granularity", "unit"),
        ("run_judge", "--campaign", "c", "--judge", "v"),
    )
    assert len(vllm.starts()) == 2
    assert each_once(house)
    until(vllm.gone, "the server is gone with its run")


@pytest.mark.long
@pytest.mark.processes
def test_a_run_whose_server_does_not_start_says_why_and_can_be_continued(
    vllm: Fake, furnished: Path, tmp_path: Path
) -> None:
    vllm.tell(says="torch.OutOfMemoryError: CUDA out of memory.", once=str(tmp_path / "once"))
    house = House(Path(shutil.copytree(furnished, tmp_path / "house")), copy_of=furnished)
    house.manage("create_judge", "v", "--backend", "vllm", "--model", MODEL)
    run = ("run_judge", "--campaign", "c", "--judge", "v")
    process = house.start("manage.py", *run)
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "a smaller or quantised model" in said
    house.manage(*run)
    assert each_once(house)
