"""Answer a folder of requests with vLLM in this process, without a server: `python runner.py`.

Tandem copies this file into the folder that `run_judge --offline` writes. It needs Python 3.10 and
vLLM, and nothing of Tandem. It reads `manifest.json` and `requests.jsonl`, and appends each answer
to `results.jsonl` as soon as vLLM has returned it. A runner that was killed can be started again:
it asks only requests without a line there. The exit status is 0 if every request has a line, 3 if
some are left, and 1 if the work cannot go on.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

REQUESTS, RESULTS, MANIFEST, FACTS = (
    "requests.jsonl", "results.jsonl", "manifest.json", "facts.jsonl",
)  # fmt: skip
AT_ONCE = 256
MAX_MESSAGE = 1000
LOWEST_LOGPROB = -9999.0
JSON = dict[str, Any]

# Options of this program, with the names that vLLM's LLM has for them.
ENGINE_OPTIONS = {
    "revision": "revision",
    "tensor-parallel-size": "tensor_parallel_size",
    "dtype": "dtype",
    "max-model-len": "max_model_len",
    "gpu-memory-utilization": "gpu_memory_utilization",
    "quantization": "quantization",
}
# Keys of a request that are sampling parameters of the same name.
SAMPLING_KEYS = (
    "temperature", "top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty",
    "repetition_penalty", "stop", "stop_token_ids", "min_tokens", "ignore_eos", "bad_words",
    "skip_special_tokens", "spaces_between_special_tokens", "include_stop_str_in_output",
    "allowed_token_ids", "thinking_token_budget",
)  # fmt: skip
OTHER_KEYS = (
    "model", "messages", "max_tokens", "max_completion_tokens", "response_format",
    "structured_outputs", "logprobs", "top_logprobs", "chat_template_kwargs", "reasoning_effort",
)  # fmt: skip
# A server uses the model's own settings for those that a request does not set.
MODEL_DEFAULTS = (
    "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty",
    "repetition_penalty",
)  # fmt: skip
CLIENT_ERRORS = ("VLLMClientError", "VLLMValidationError")


class RunnerError(Exception):
    """The runner cannot continue. The message says what is wrong and what to do."""


class RequestLine(NamedTuple):
    """A request: its id, the SHA-256 of its body, and where its line begins in the file."""

    custom_id: str
    sha256: str
    offset: int


class Refusal(NamedTuple):
    """Why vLLM does not answer a request, with the status that its server would send."""

    status: int
    message: str


def body_sha256(body: JSON) -> str:
    """Return the SHA-256 of a request's body as JSON with sorted keys, in hexadecimal."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unknown_keys(body: JSON) -> list[str]:
    """Return the keys of a body that this program cannot pass on to vLLM."""
    return sorted(set(body) - {*SAMPLING_KEYS, *OTHER_KEYS})


def read_manifest(folder: Path) -> JSON:
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        str(manifest["requests"]["sha256"]), str(manifest["model"]), dict(manifest["engine"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunnerError(f"{folder / MANIFEST} cannot be read; copy the folder again") from error
    return dict(manifest)


def read_requests(folder: Path, sha256: str) -> list[RequestLine]:
    """List the requests. Raises RunnerError if the file is not the one that Tandem wrote."""
    asked, offset, digest = [], 0, hashlib.sha256()
    path = folder / REQUESTS
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                asked.append(_parse_request_line(number, line, offset))
                offset += len(line)
                digest.update(line)
    except OSError as error:
        raise RunnerError(f"{path} cannot be read; copy the folder again") from error
    if digest.hexdigest() != sha256:
        raise RunnerError(f"{path} was changed after Tandem wrote it; copy the folder again")
    return asked


def _parse_request_line(number: int, line: bytes, offset: int) -> RequestLine:
    try:
        request = json.loads(line)
        found = RequestLine(request["custom_id"], request["request_sha256"], offset)
        digest = body_sha256(request["body"])
    except (ValueError, KeyError, TypeError) as error:
        wrong = f"{REQUESTS}, line {number}: is not a request of Tandem"
        raise RunnerError(f"{wrong}; copy the folder again") from error
    if digest != found.sha256:
        wrong = f"{REQUESTS}, line {number}: the request does not match its digest"
        raise RunnerError(f"{wrong}; copy the folder again")
    return found


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep other runners out of the folder during the block. Raises RunnerError."""
    with (folder / MANIFEST).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RunnerError("another runner is at work in this folder; let it end") from error
        yield


def read_results(file: BinaryIO, asked: Sequence[RequestLine]) -> dict[str, bool]:
    """Return by request id whether there is an answer (True) or an error (False).

    A line that a killed runner left incomplete is cut off. Raises RunnerError.
    """
    digests = {each.custom_id: each.sha256 for each in asked}
    found: dict[str, bool] = {}
    file.seek(0)
    whole = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break
        whole += len(line)
        try:
            result = json.loads(line)
            name, digest = result["custom_id"], result["request_sha256"]
            found[name] = result["response"]["status_code"] == 200
        except (ValueError, KeyError, TypeError) as error:
            wrong = f"{RESULTS}, line {number}: is not a result"
            raise RunnerError(f"{wrong}; move {RESULTS} away and start again") from error
        if digests.get(name) != digest:
            wrong = f"{RESULTS}, line {number}: answers no request of this folder"
            raise RunnerError(f"{wrong}; move {RESULTS} away and start again")
    file.truncate(whole)
    return found


def drop_errors(folder: Path) -> None:
    """Remove the lines with errors, so that their requests are asked again."""
    path, temporary = folder / RESULTS, folder / f".{RESULTS}.new"
    with path.open("rb") as file, temporary.open("wb") as kept:
        for line in file:
            if line.endswith(b"\n") and json.loads(line)["response"]["status_code"] == 200:
                kept.write(line)
        kept.flush()
        os.fsync(kept.fileno())
    temporary.replace(path)


def append(file: BinaryIO, line: JSON) -> None:
    """Write a line and wait until it is on the disk."""
    file.write(json.dumps(line, ensure_ascii=True).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def append_facts(folder: Path, facts: JSON) -> None:
    """Add a line about this start, after the lines of earlier starts that are complete."""
    with (folder / FACTS).open("a+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        append(file, facts)


class Engine:
    """vLLM's `LLM` with one model, and the sampling parameters that its requests share."""

    def __init__(self, model: str, settings: JSON) -> None:
        # A separate engine process would outlive a killed runner and keep the GPU's memory.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        try:
            self.vllm = importlib.import_module("vllm")
            structured = importlib.import_module("vllm.sampling_params")
            self.structured = structured.StructuredOutputsParams
        except (ImportError, AttributeError) as error:
            how = "start it with the Python of an environment that has vLLM 0.12 or newer"
            raise RunnerError(f"vLLM cannot be used ({error}); {how}") from error
        self.model = model
        self.llm = self.vllm.LLM(model=model, **settings)
        own = self.llm.get_default_sampling_params()
        self.defaults = {name: getattr(own, name) for name in MODEL_DEFAULTS}
        self._sampling: dict[str, Any] = {}

    def sampling(self, body: JSON) -> Any:
        """Return the sampling parameters of a body. Equal ones share one object."""
        given = {name: body[name] for name in SAMPLING_KEYS if body.get(name) is not None}
        given["max_tokens"] = body.get("max_completion_tokens") or body.get("max_tokens")
        if body.get("logprobs"):
            given["logprobs"] = body.get("top_logprobs") or 0
        form = body.get("structured_outputs") or structure_of(body.get("response_format"))
        key = json.dumps([given, form], sort_keys=True)
        if key not in self._sampling:
            if form:
                given["structured_outputs"] = self.structured(**form)
            self._sampling[key] = self.vllm.SamplingParams(**{**self.defaults, **given})
        return self._sampling[key]

    def answer(self, bodies: Sequence[JSON]) -> list[Any]:
        """Return an output or a Refusal for each body, in order."""
        found: list[Any] = [None] * len(bodies)
        calls: dict[str, list[tuple[int, JSON, Any]]] = {}
        for number, body in enumerate(bodies):
            template = template_arguments(body)
            try:
                if unknown := unknown_keys(body):
                    raise ValueError(f"the key {unknown[0]!r} cannot be asked without a server")
                call = number, body, self.sampling(body)
            except Exception as error:
                if not isinstance(error, TypeError) and not is_refusal(error):
                    raise
                found[number] = refusal(error)
                continue
            calls.setdefault(json.dumps(template, sort_keys=True), []).append(call)
        for key, group in calls.items():
            outputs = self._chat([(body, params) for _, body, params in group], json.loads(key))
            for (number, *_), output in zip(group, outputs, strict=True):
                found[number] = output
        return found

    def _chat(self, group: Sequence[tuple[JSON, Any]], template: JSON) -> list[Any]:
        """Ask a group.

        If vLLM refuses it, ask its halves, until the refused request is isolated.
        """
        try:
            outputs = self.llm.chat(
                [body["messages"] for body, _ in group],
                [params for _, params in group],
                use_tqdm=False,
                chat_template_kwargs=template or None,
            )
        except Exception as error:
            if not is_refusal(error):
                raise
            if len(group) == 1:
                return [refusal(error)]
            half = len(group) // 2
            return self._chat(group[:half], template) + self._chat(group[half:], template)
        if len(outputs) != len(group):
            raise RunnerError(f"vLLM gave {len(outputs)} answers to {len(group)} requests")
        return list(outputs)

    def result(self, body: JSON, output: Any) -> tuple[int, JSON]:
        """Return the status and the body of the response that a server would send."""
        ended = None if isinstance(output, Refusal) else output.outputs[0].finish_reason
        if ended in ("abort", "error"):
            output = Refusal(500, f"vLLM ended the answer: {ended}")
        if isinstance(output, Refusal):
            kind = "BadRequestError" if output.status == 400 else "InternalServerError"
            error = {"message": output.message, "type": kind, "code": output.status}
            return output.status, {"error": error}
        choice = output.outputs[0]
        asked, made = len(output.prompt_token_ids or ()), len(choice.token_ids)
        usage: JSON = {
            "prompt_tokens": asked, "completion_tokens": made, "total_tokens": asked + made,
        }  # fmt: skip
        if (cached := getattr(output, "num_cached_tokens", None)) is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        logprobs = self._logprobs(choice, body.get("top_logprobs") or 0)
        return 200, {
            "id": f"offline-{output.request_id}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": choice.text},
                    "finish_reason": choice.finish_reason,
                    "logprobs": logprobs if body.get("logprobs") else None,
                }
            ],
            "usage": usage,
        }

    def _logprobs(self, choice: Any, top: int) -> JSON:
        """Return the log probabilities of an answer as chat completions have them."""
        content = []
        for token, listed in zip(choice.token_ids, choice.logprobs or (), strict=False):
            entries = [self._entry(each, found) for each, found in listed.items()]
            own = self._entry(token, listed.get(token))
            content.append({**own, "top_logprobs": entries[:top]})
        return {"content": content}

    def _entry(self, token: int, found: Any) -> JSON:
        word = found.decoded_token if found else None
        if word is None:
            word = self.llm.get_tokenizer().decode([token])
        logprob = max(found.logprob, LOWEST_LOGPROB) if found else LOWEST_LOGPROB
        return {"token": word, "logprob": logprob, "bytes": list(word.encode("utf-8", "replace"))}


def structure_of(form: JSON | None) -> JSON | None:
    """Return vLLM's structured output for a `response_format`. Raises ValueError."""
    match (form or {}).get("type", "text"):
        case "json_schema":
            return {"json": (form or {})["json_schema"]["schema"]}
        case "json_object":
            return {"json_object": True}
        case "text":
            return None
        case other:
            raise ValueError(f"the response_format {other!r} is unknown")


def template_arguments(body: JSON) -> JSON:
    """Return the chat template's arguments, including the reasoning effort as servers add it."""
    given = dict(body.get("chat_template_kwargs") or {})
    if (effort := body.get("reasoning_effort")) is not None:
        return {"reasoning_effort": effort, "enable_thinking": effort != "none", **given}
    return given


def is_refusal(error: Exception) -> bool:
    """Return whether an error concerns one request, rather than the whole engine."""
    is_template = type(error).__module__.partition(".")[0] == "jinja2"
    # vLLM's own errors are not ValueErrors, and the module that defines them has changed before.
    is_client = any(kind.__name__ in CLIENT_ERRORS for kind in type(error).__mro__)
    return is_template or is_client or isinstance(error, (ValueError, NotImplementedError))


def refusal(error: Exception) -> Refusal:
    return Refusal(400, " ".join(f"{error}".split())[:MAX_MESSAGE] or type(error).__name__)


def read_bodies(file: BinaryIO, asked: Sequence[RequestLine]) -> list[JSON]:
    bodies = []
    for each in asked:
        file.seek(each.offset)
        bodies.append(json.loads(file.readline())["body"])
    return bodies


def answer_all(
    folder: Path, results: BinaryIO, engine: Engine, waiting: Sequence[RequestLine], at_once: int
) -> int:
    """Ask all waiting requests and write their lines. Return how many were refused."""
    refused = 0
    with (folder / REQUESTS).open("rb") as file:
        for start in range(0, len(waiting), at_once):
            group = waiting[start : start + at_once]
            bodies = read_bodies(file, group)
            for each, body, output in zip(group, bodies, engine.answer(bodies), strict=True):
                status, content = engine.result(body, output)
                response = {"status_code": status, "request_id": each.custom_id, "body": content}
                line = {"custom_id": each.custom_id, "request_sha256": body_sha256(body)}
                append(results, {**line, "response": response, "error": None})
                refused += status != 200
            done = min(start + at_once, len(waiting))
            print(f"{done:,} of {len(waiting):,} answered, {refused:,} refused", flush=True)
    return refused


def facts_of(engine: Engine, settings: JSON, manifest: JSON) -> JSON:
    """Describe the versions, weights and hardware behind the answers."""
    config = getattr(getattr(engine.llm, "llm_engine", None), "model_config", None)
    commit = getattr(getattr(config, "hf_config", None), "_commit_hash", None)
    return {
        "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "runner_sha256": hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
        "requests_sha256": manifest["requests"]["sha256"],
        "vllm": str(engine.vllm.__version__),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        **hardware(),
        "model": engine.model,
        "commit": commit if isinstance(commit, str) else None,
        "engine": settings,
    }


def hardware() -> JSON:
    """Return PyTorch's version and the GPUs that it sees."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return {"torch": None, "cpus": os.cpu_count(), "gpus": []}
    cuda = torch.cuda
    count = cuda.device_count() if cuda.is_available() else 0
    gpus = [
        {"name": cuda.get_device_name(n), "bytes": cuda.get_device_properties(n).total_memory}
        for n in range(count)
    ]
    return {"torch": str(torch.__version__), "cpus": os.cpu_count(), "gpus": gpus}


def engine_settings(manifest: JSON, given: argparse.Namespace) -> JSON:
    """Return the arguments of `LLM`: those of the judge, then those of the command line."""
    options = {name: getattr(given, name) for name in ENGINE_OPTIONS.values()}
    settings = {**manifest["engine"], **{k: v for k, v in options.items() if v is not None}}
    for argument in given.engine:
        name, _, value = argument.partition("=")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Answers the requests in this folder with vLLM.")
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).resolve().parent, help="another folder"
    )
    parser.add_argument("--model", help="where the model is on this machine")
    kinds = {"tensor-parallel-size": int, "gpu-memory-utilization": float, "max-model-len": int}
    for name in ENGINE_OPTIONS:
        parser.add_argument(f"--{name}", type=kinds.get(name, str), help="as for vllm serve")
    parser.add_argument(
        "--engine", action="append", default=[], metavar="NAME=VALUE",
        help="any other argument of vLLM's LLM, its value as JSON or text",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N", help="ask at most N requests now")
    parser.add_argument(
        "--at-once", type=int, default=AT_ONCE, metavar="N",
        help=f"give vLLM N requests at a time, {AT_ONCE} by default; these are lost if it is "
        "killed",
    )  # fmt: skip
    parser.add_argument(
        "--retry-errors", action="store_true", help="ask again what vLLM refused before"
    )
    found = parser.parse_args(given)
    for name in ("limit", "at_once"):
        if getattr(found, name) is not None and getattr(found, name) < 1:
            parser.error(f"--{name.replace('_', '-')} is not above 0")
    return found


def run(given: argparse.Namespace) -> int:
    folder: Path = given.folder
    manifest = read_manifest(folder)
    with lock_folder(folder):
        asked = read_requests(folder, manifest["requests"]["sha256"])
        left = answer_waiting(folder, manifest, asked, given)
    print(f"{len(asked) - left:,} of {len(asked):,} requests have a line in {RESULTS}.")
    return 3 if left else 0


def answer_waiting(
    folder: Path, manifest: JSON, asked: Sequence[RequestLine], given: argparse.Namespace
) -> int:
    """Ask the requests that have no line yet, up to the limit. Return how many are left."""
    with (folder / RESULTS).open("a+b") as results:
        known = read_results(results, asked)
    if given.retry_errors:
        drop_errors(folder)
        known = {name: True for name, is_answer in known.items() if is_answer}
    left = [each for each in asked if each.custom_id not in known]
    waiting = left[: given.limit]
    if waiting:
        settings = engine_settings(manifest, given)
        engine = Engine(given.model or manifest["model"], settings)
        append_facts(folder, facts_of(engine, settings, manifest))
        with (folder / RESULTS).open("ab") as results:
            answer_all(folder, results, engine, waiting, given.at_once)
    return len(left) - len(waiting)


def main(given: Sequence[str]) -> int:
    try:
        return run(arguments(given))
    except RunnerError as error:
        print(f"Error: {error}.", file=sys.stderr)
    except OSError as error:
        print(f"Error: {error}; correct that and start it again.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
