"""A prefix cache like vLLM's: whole blocks of tokens, each identified together with all before it.

A token is four characters here. The blocks of a call are cached once the call is answered.
"""

from __future__ import annotations

LETTERS = 4


class PrefixCache:
    """A cache of prompt prefixes that counts the tokens looked up and those found."""

    def __init__(self) -> None:
        self._blocks: set[int] = set()
        self.queries = self.hits = 0

    def find(self, prompt: str, block: int) -> tuple[int, list[int]]:
        """Count the prompt's first tokens that are cached; also return its blocks, for `keep`.

        The last token is always computed, so a block with it never counts as cached.
        """
        size, before, blocks = block * LETTERS, 0, []
        for start in range(0, len(prompt) - size, size):
            before = hash((before, prompt[start : start + size]))
            blocks.append(before)
        known = 0
        while known < len(blocks) and blocks[known] in self._blocks:
            known += 1
        self.queries += len(prompt) // LETTERS
        self.hits += known * block
        return known * block, blocks

    def keep(self, blocks: list[int]) -> None:
        self._blocks.update(blocks)
