"""From a prompt and a presentation to messages. A prompt is text with fixed slots, and no code.

The part before the first line `---` is the system message, the rest the user's. Slots are filled
in one pass over the prompt, so what stands in a text is never read as a slot.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from judging.backends.base import Message

SLOTS = ("guideline", "texts", "query", "units", "answer")
NEEDED = ("texts", "units", "answer")
OWN = ("units", "answer")
_SLOT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BREAK = re.compile(r"^---[ \t]*$", re.MULTILINE)
NONCE_LENGTH = 16


class PromptError(ValueError):
    """A prompt that cannot be filled in: what is wrong, and what to do."""


@dataclass(frozen=True)
class Prompt:
    """The two parts of a checked prompt; `sha256` is of the whole text as it was written."""

    system: str
    user: str
    sha256: str

    @cached_property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The two parts cut at their slots: words and names of slots by turns."""
        return tuple(_SLOT.split(self.system)), tuple(_SLOT.split(self.user))


def read_prompt(text: str) -> Prompt:
    """Checks a prompt's slots and takes it apart. Raises PromptError."""
    slots = set(_SLOT.findall(text))
    if unknown := sorted(slots - set(SLOTS)):
        known = ", ".join(f"{{{name}}}" for name in SLOTS)
        raise PromptError(f"{{{unknown[0]}}} is no slot; the slots are {known}")
    parts = _BREAK.split(text, maxsplit=1)
    system, user = parts if len(parts) == 2 else ("", text)
    for name in NEEDED:
        if name not in slots:
            raise PromptError(f"the slot {{{name}}} is missing; put it where it belongs")
        if name not in _SLOT.findall(user):
            raise PromptError(f"the slot {{{name}}} stands before the line ---; move it below")
    return Prompt(system.strip(), user.strip(), sha256_of(text))


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fill(prompt: Prompt, values: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages, with each slot replaced by its value; an empty system part is left out."""
    system, user = (_filled(part, values) for part in prompt.parts)
    # What stands before the first slot of a unit's own is shared by all requests of an item.
    own = min(prompt.parts[1].index(slot) for slot in OWN)
    asked = Message("user", "".join(user), sum(map(len, user[:own])))
    opening = "".join(system)
    return (Message("system", opening), asked) if opening else (asked,)


def _filled(part: Sequence[str], values: Mapping[str, str]) -> list[str]:
    return [values[each] if n % 2 else each for n, each in enumerate(part)]


def fenced(text: str) -> str:
    """A text between delimiters that it cannot forge: they carry a hash of the text itself.

    The same text always gets the same delimiters, so that equal beginnings of prompts stay equal.
    """
    nonce = _nonce(text)
    return f"[begin {nonce}]\n{text}\n[end {nonce}]"


def _nonce(text: str) -> str:
    salt = 0
    while (nonce := sha256_of(f"{salt}\0{text}")[:NONCE_LENGTH]) in text:
        salt += 1
    return nonce
