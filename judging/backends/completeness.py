"""Whether a reply is a complete answer: how it ended, and whether its prompt was read whole.

A server says in a word of its protocol why an answer ended. Only the words in `GOOD` make an
answer, since new words for a failure appear with each server and version. Every other word, and
none, is a failure that repeats the server's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judging.backends.base import Answer, FinalError, Request
from tandem.labels.file.rows import Reason

GOOD = frozenset(
    {
        "stop",  # chat completions; Gemini, in capitals
        "end_turn", "stop_sequence",  # Anthropic, Bedrock
        "tool_use",  # Anthropic: the tool whose input is the answer
        "completed",  # responses
        "complete",  # Cohere
        "eos", "eos_token",  # TGI, Together, llama.cpp
    }
)  # fmt: skip
"""The finish reasons of complete answers, in lower case."""
_CUT = frozenset(
    {
        "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_length",
        "model_length", "model_context_window_exceeded", "context_length", "incomplete", "limit",
        "token_limit",
    }
)  # fmt: skip
_FILTERED = frozenset(
    {
        "content_filter", "content_filtered", "guardrail_intervened", "safety", "image_safety",
        "sensitive", "recitation", "blocklist", "prohibited_content", "spii", "error_toxic",
        "moderation",
    }
)  # fmt: skip
_REFUSED = frozenset({"refusal", "refused"})
_WORDS: Mapping[Reason, str] = {
    "truncated": "the completion was cut at its length limit",
    "filtered": "the server's content filter stopped the answer",
    "refused": "the model refused",
    "error": "the answer did not end well",
}
MAX_WORD_LENGTH = 80
ACCEPT = "accept_no_reason"
"""The param of a judge whose server gives no finish reason."""
UNEXPLAINED = (
    "the server gave no finish reason, so the answer may be incomplete; if it never gives one, "
    f"create a judge with --param {ACCEPT}=1"
)
# No tokenizer packs this many characters of prose into a token.
MAX_CHARACTERS_PER_TOKEN = 16
PROMPT_CUT = "the server cut the prompt to its context window"
ENLARGE = "enlarge that window (num_ctx on Ollama, --ctx-size on llama.cpp), or shorten the texts"


def accepts_no_reason(params: Mapping[str, Any]) -> bool:
    """Return whether a judge with these params accepts answers without a finish reason."""
    return bool(params.get(ACCEPT))


def ended_well(word: str, accept_no_reason: bool = False) -> bool:
    """Return whether a finish reason is that of a complete answer.

    `accept_no_reason` lets an empty one pass.
    """
    said = word.strip().casefold()
    return said in GOOD if said else accept_no_reason


def complete(
    answer: Answer,
    *,
    written: bool = True,
    refused: bool = False,
    broken: str = "",
    accept_no_reason: bool = False,
) -> Answer:
    """Return the answer if it is complete. Raises FinalError.

    `written` is false if the model wrote no text, `refused` is true if a part of the reply is
    marked as a refusal. `broken` is the server's message about an error that broke off the answer.
    """
    if error := _failure(answer, written, refused, broken, accept_no_reason):
        raise error
    return answer


def _failure(
    answer: Answer, written: bool, refused: bool, broken: str, accept_no_reason: bool
) -> FinalError | None:
    word = answer.finish_reason.strip()
    reason = _reason_of(word)
    if reason != "filtered" and (refused or reason == "refused"):
        return FinalError("refused", _WORDS["refused"], answer=answer)
    if broken or not ended_well(word, accept_no_reason):
        said = [f"finish reason {_shown(word)!r}"] if word else []
        said += [broken] if broken else []
        message = f"{_WORDS[reason]}: {', '.join(said)}" if said else UNEXPLAINED
        return FinalError(reason, message, answer=answer)
    return None if written else FinalError("unreadable", "the model wrote no text", answer=answer)


def _reason_of(word: str) -> Reason:
    """Return the missing reason for a finish reason that is not good."""
    said = word.casefold().replace("-", "_")
    kinds: Mapping[Reason, frozenset[str]] = {
        "truncated": _CUT, "filtered": _FILTERED, "refused": _REFUSED,
    }  # fmt: skip
    return next((reason for reason, words in kinds.items() if said in words), "error")


def _shown(word: str) -> str:
    return " ".join(word.split())[:MAX_WORD_LENGTH]


def is_prompt_cut(request: Request, usage: Mapping[str, Any]) -> bool:
    """Return whether the server read too few tokens for the whole prompt.

    A server that reports no tokens, or 0, leaves this unknown, and so not cut.
    """
    tokens = _prompt_tokens(usage)
    return bool(tokens) and tokens * MAX_CHARACTERS_PER_TOKEN < request.length


def with_whole_prompt(request: Request, answer: Answer) -> Answer:
    """Return the answer unless its prompt was cut. Raises FinalError."""
    if not is_prompt_cut(request, answer.usage):
        return answer
    tokens, length = _prompt_tokens(answer.usage), request.length
    message = f"{PROMPT_CUT}: it read {tokens:,} tokens of {length:,} characters; {ENLARGE}"
    raise FinalError("too-long", message, answer=answer, status=answer.status)


def _prompt_tokens(usage: Mapping[str, Any]) -> int:
    """Return the tokens of the prompt, with cached ones that the server counts apart.

    Most servers count cached tokens among those of the prompt. A server counts them apart if there
    are more of them, or if its total says so.
    """
    details = usage.get("prompt_tokens_details")
    listed = details.get("cached_tokens") if isinstance(details, Mapping) else None
    cached = max(_count(listed), _count(usage.get("cache_read_input_tokens")))
    cached += _count(usage.get("cache_creation_input_tokens"))
    prompt, completion, total = (
        _count(usage.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    is_apart = cached > prompt or (cached > 0 and total == prompt + cached + completion)
    return prompt + cached if is_apart else prompt


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return max(0, value) if is_count else 0
