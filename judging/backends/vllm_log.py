"""Why a vLLM server ended, in plain words, from what it wrote to its log."""

from __future__ import annotations

import re
from pathlib import Path

READ = 256 * 1024
LONGEST_LINE = 300
PORT_TAKEN = re.compile(r"address already in use", re.IGNORECASE)

# The first that is found anywhere in the log is the cause; what stands further up is more certain.
_CAUSES = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (
            r"cannot start .*: No such file",
            "there is no program of that name; install requirements-vllm.txt into an environment "
            "of its own and set TANDEM_VLLM to the path of its bin/vllm",
        ),
        (
            r"gated repo|access to model .* is restricted|GatedRepoError",
            "the model is only for those whom its owner lets in; accept its terms where it is "
            "published and set HF_TOKEN where the judge runs",
        ),
        (
            r"not a (local folder|valid model identifier)|RepositoryNotFoundError|"
            r"Repository Not Found|Invalid repository ID|no such file or directory: .*config\.json",
            "there is no such model; give --model its published name, or the folder it lies in",
        ),
        (
            r"RevisionNotFoundError|not a valid git identifier",
            "the model has no such revision; mend --param revision",
        ),
        (
            r"OfflineModeIsEnabled|couldn't connect to|LocalEntryNotFoundError|"
            r"Temporary failure in name resolution|Network is unreachable",
            "the model is not on this machine and could not be fetched; fetch it beforehand, or "
            "give --model the folder it lies in",
        ),
        (
            r"out of memory|OutOfMemoryError",
            "the GPU's memory does not hold the model; take a smaller or a quantised one, or "
            "spread it with --param tensor_parallel",
        ),
        (
            r"less than desired GPU memory utilization",
            "another process holds the GPU's memory; end it, or lower --param gpu_memory",
        ),
        (
            r"No available memory for the cache blocks|larger than the available KV cache",
            "the memory beside the weights is too small for one request; lower --param "
            "max_model_len, raise --param gpu_memory, or spread the model with --param "
            "tensor_parallel",
        ),
        (
            r"greater than the derived max_model_len|max_model_len .*exceed",
            "the model reads no texts of that length; lower --param max_model_len",
        ),
        (
            r"must be divisible by tensor parallel size",
            "the model's heads cannot be shared out evenly; give --param tensor_parallel another "
            "number",
        ),
        (
            r"world size .*larger than|number of required GPUs exceeds|invalid device ordinal",
            "there are fewer GPUs than --param tensor_parallel asks for; lower it",
        ),
        (
            r"driver version is insufficient|driver on your system is too old|"
            r"Failed to infer device type|no NVIDIA driver|No CUDA GPUs are available",
            "no GPU can be used; look at nvidia-smi, or see to a build for CPU",
        ),
        (
            r"Model architectures? .*not supported",
            "this version of vLLM does not know the model's architecture; take another model",
        ),
        (
            r"Unknown quantization method|quantization method .*(not match|does not match)|"
            r"Cannot find the config file for",
            "the model is not stored in that quantisation; mend --param quantization",
        ),
        (
            r"unrecognized arguments|error: argument",
            "it does not know one of its arguments; mend TANDEM_VLLM_ARGS or the judge's params",
        ),
        (
            r"No module named '?vllm|PackageNotFoundError",
            "its environment is not whole; set it up with python -m scripts.vllm",
        ),
        (
            PORT_TAKEN.pattern,
            "its port was taken by another process meanwhile; try again",
        ),
    )
)
_PREFIX = re.compile(r"^(\([^)]*\) *)?((ERROR|CRITICAL|INFO|WARNING) [\d:. -]+(\[[^\]]*\])? *)?")
_ERROR = re.compile(r"\b\w*(Error|Exception|error): +\S")
_OUTER = re.compile(r"initialization failed|See root cause|died unexpectedly", re.IGNORECASE)


def tail_of(log: Path) -> str:
    """The end of a log; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - READ))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def cause_of(text: str) -> str:
    """What is wrong and the mend, with the line that tells it; empty where nothing does."""
    said = _telling_line(text)
    told = next((words for pattern, words in _CAUSES if pattern.search(text)), "")
    return "; it said: ".join(part for part in (told, said) if part)


def _telling_line(text: str) -> str:
    """The first line that names an error, but for those that only pass on another's."""
    lines = [_PREFIX.sub("", line.strip(), count=1).strip() for line in text.splitlines()]
    errors = [line for line in lines if _ERROR.search(line)]
    root = [line for line in errors if not _OUTER.search(line)]
    return (root or errors or [""])[0][:LONGEST_LINE]
