"""Rendered Markdown keeps every character of its source at its position."""

from __future__ import annotations

import html
import random
import re

import pytest

from annotation.campaigns.markdown import is_markdown, mark_parts, render

TEXT = """# The *bridge*

It **opened in 1901** [so](https://example.org/a "t") and `EN 1176` &amp; \\*more\\* 😀 e\u0301.

1. two
   - nested [x](b)b

> quoted
> on two lines

| Year | What | Cost |
|------|:----:|-----:|
| 1901 | a \\| b | 3 | too many |

```python
x = 1

y = "<b>"
```

الجسر **مغلق** الآن.
"""
PIECES = [
    *(
        "*",
        "**",
        "_",
        "`",
        "``",
        "[",
        "](",
        ")",
        "http://a.b",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        " ",
        "> ",
    ),
    *("- ", "1. ", "# ", "|", "|---|---|\n", "\\", "&amp;", "&#123;", "<b>", "a", "b c", "é", "😀"),
    *("e\u0301", "שלום", "```", "~~", "    ", "\t", "!", "\0", "<http://x.y>", "===\n", "\u2028"),
]


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def hidden_in(page: str) -> str:
    return "".join(re.findall(r'<span class="run sign" dir="ltr">(.*?)</span>', page, re.DOTALL))


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\r")])
def test_every_character_stays_in_its_place(text: str) -> None:
    assert text_of(render(text)) == text


def test_no_random_text_loses_or_moves_a_character() -> None:
    chance = random.Random(5)
    for _ in range(400):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 40)))
        assert text_of(render(text)) == text


def test_markup_characters_are_hidden_and_words_are_not() -> None:
    page = render(TEXT)
    for shown in ("<strong>", "<em>", '<ol start="1">', "<table>", "<blockquote", 'class="right"'):
        assert shown in page
    # Only the address of a link, an entity and the language of a block may vanish.
    left = html.unescape(hidden_in(page))
    left = re.sub(r'https://example.org/a|"t"|&amp;|python|\(b\)', "", left)
    assert not re.search(r"[^\W\d_]", left)
    assert "too many" in page
    assert "too many" not in hidden_in(page)


def test_no_script_image_or_unsafe_link_of_a_text_survives() -> None:
    page = render(
        "<script>x</script> ![pic](https://i.org/p.png) [go](https://e.org/q) [bad](javascript:x) "
        "<img src=x onerror=y> [data](data:text/html,x) [1]: note"
    )
    assert not re.search("<script|<img", page)
    assert re.findall('href="(.*?)"', page) == ["https://e.org/q"]
    assert 'rel="noreferrer noopener nofollow"' in page
    assert "note" not in hidden_in(page)


def test_a_sentence_is_marked_in_all_its_pieces() -> None:
    text = "It **opened** now. Then it closed."
    page = mark_parts(render(text), ((0, 18, 4), (19, 34, 5)))
    assert text_of(page) == text
    marked = re.findall(r'data-sentence="4">(.*?)<', page)
    assert "".join(marked) == "It opened now."
    assert 'data-sentence="5">Then it closed.<' in page


def test_marking_parts_of_any_text_keeps_every_character_and_marks_only_theirs() -> None:
    chance = random.Random(6)
    for _ in range(200):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 40)))
        edges = sorted(chance.sample(range(len(text) + 1), k=min(4, len(text) + 1)))
        parts = tuple(zip(edges[::2], edges[1::2], range(9), strict=False))
        rendered = render(text)
        page = mark_parts(rendered, parts)
        assert text_of(page) == text
        assert hidden_in(page) == hidden_in(rendered)
        for start, end, number in parts:
            marked = re.findall(rf'data-sentence="{number}">(.*?)<', page, re.DOTALL)
            assert len(html.unescape("".join(marked))) <= end - start


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Plain words, well-known. 3 * 4 = 12.", False), ("**b**", True), ("- a\n- b", True),
     ("a|b\n-|-\nc|d", True), ("See [x](y).", True), ("*" * 300_000, False)],
)  # fmt: skip
def test_only_texts_with_markup_and_of_moderate_length_are_rendered(
    text: str, expected: bool
) -> None:
    assert is_markdown(text) is expected
