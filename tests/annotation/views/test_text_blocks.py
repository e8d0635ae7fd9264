"""Long texts reach the browser in blocks, and unchanged."""

from __future__ import annotations

import html
import re

import pytest
from django.template import Context, Template

from annotation.templatetags.annotation_tags import LONG_TEXT, MAX_BLOCK, MIN_BLOCK, split_blocks
from tests.page_cast import TEXT

LINES = "".join(f"Line {n} of a long text & <b>more</b>.\r\n" for n in range(400))
ONE_LINE = "".join(f"Sentence {n} says cafe\u0301 🛶 and no more. " for n in range(400))
WORDS = "wörd " * 4000
LETTERS = "🛶a" * 9000
CHINESE = "船在黎明时分离开了港口。" * 900


def shown(text: str) -> str:
    return Template("{% load annotation_tags %}{{ text|laid_out }}").render(Context({"text": text}))


def read(body: str) -> str:
    return html.unescape(re.sub(r"</?span[^>]*>", "", body))


@pytest.mark.every_case
@pytest.mark.parametrize("text", [LINES, ONE_LINE, WORDS, LETTERS, CHINESE, TEXT * 60, "\n" * 7000])
def test_the_blocks_add_up_to_the_text(text: str) -> None:
    assert "".join(split_blocks(text)) == text
    assert read(shown(text)) == text
    assert "\r" not in shown(text)
    assert "<b>" not in shown(text)


def test_a_text_of_usual_length_has_no_blocks() -> None:
    assert shown(TEXT) == Template("{% load annotation_tags %}{{ t|verbatim }}").render(
        Context({"t": TEXT})
    )
    assert 'class="block"' not in shown("a" * LONG_TEXT)
    assert 'class="block"' in shown("a" * (LONG_TEXT + 1))


def test_a_block_ends_at_a_line_end() -> None:
    blocks = split_blocks(LINES)
    assert len(blocks) > 20
    assert all(block.endswith("\r\n") and len(block) >= MIN_BLOCK for block in blocks[:-1])


@pytest.mark.parametrize(("text", "end"), [(ONE_LINE, ". "), (WORDS, " "), (CHINESE, "。")])
def test_a_very_long_line_is_broken_between_words(text: str, end: str) -> None:
    blocks = split_blocks(text)
    assert len(blocks) > 3
    assert all(len(block) <= MAX_BLOCK and block.endswith(end) for block in blocks[:-1])


def test_text_without_blanks_is_not_broken() -> None:
    assert split_blocks(LETTERS) == [LETTERS]


def test_an_empty_text_has_no_blocks() -> None:
    assert split_blocks("") == []
