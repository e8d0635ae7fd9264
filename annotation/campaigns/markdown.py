"""Render Markdown as HTML in which every character of the source keeps its position.

All characters of a text are on the page, in their order; Markdown's signs are only hidden. So a
highlight has the same offsets in both views of a text, and switching between them changes a class
and no element.

Each piece of the source is a `span.run`; a hidden one has the class `sign`, too. Anything with a
letter or a digit is never hidden, except the addresses of links and images and the language of a
code block. Raw HTML is shown as text. Nothing is loaded from elsewhere, and a link is opened by a
separate mark beside its words, so that the words can be selected.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

LONGEST = 200_000  # characters; a longer text is shown as it was written
_SIGNS = re.compile(
    r"""(?mx) ^\ {0,3}(?:\#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|`{3}|~{3}|\|.*\|)  # at a line's start
    | \*\*|__|~~ | `[^`\n]+` | \]\( | (?<![\w*])\*\w | (?<!\w)_\w | <https?:
    | ^\S.*\|.*\n[-:|\ ]+$"""
)
_NEWLINE = re.compile(r"\r\n?|\n")
_MARKER = re.compile(r"(?m)^(?:[ \t>]|[-*+][ \t])*\d{1,9}[.)](?=\s)")
_WORD = re.compile(r"[^\W_]")
_RUN = re.compile(r'<span class="run( sign)?"(?: dir="ltr")?>([^<]*)</span>')
_CHARACTER = re.compile(r"&[#\w]+;|[^&]")
_TAGS = {
    "paragraph": "p",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "list_item": "li",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "strong": "strong",
    "em": "em",
    "s": "s",
}


def is_markdown(text: str) -> bool:
    """Whether a text has Markdown signs and is short enough to be rendered."""
    return len(text) <= LONGEST and _SIGNS.search(text) is not None


Parts = tuple[tuple[int, int, int], ...]
"""Ranges of a text in their order, each with a number: start, end, number."""


def render(text: str) -> SafeString:
    """Return a text as HTML. Its text content is the text itself, character for character.

    A hostile text takes seconds and gigabytes: pages render through `annotation.campaigns.views`.
    """
    writer = _Writer(text)
    writer.blocks(_parser().parse(text))
    return mark_safe(writer.finish())


def mark_parts(rendered: str, parts: Parts) -> SafeString:
    """Give the runs of each part the class `sentence`, and its number as `data-sentence`.

    Runs are split at the edges of parts. Hidden ones stay as they are.
    """
    out, at, left = list[str](), 0, list(reversed(parts))
    done = 0
    for run in _RUN.finditer(rendered):
        hidden, words = run[1], _CHARACTER.findall(run[2])
        if not hidden:
            out.append(rendered[done : run.start()])
            out += _marked(words, at, left)
            done = run.end()
        at += len(words)
    return mark_safe("".join([*out, rendered[done:]]))


def _marked(words: Sequence[str], at: int, left: list[tuple[int, int, int]]) -> Iterator[str]:
    """Yield a run's characters as runs. `left` are the parts from the last one to the next."""
    begun = 0
    while begun < len(words):
        while left and left[-1][1] <= at + begun:
            left.pop()
        start, stop, number = left[-1] if left else (at + len(words), 0, 0)
        inside = start <= at + begun
        end = min(len(words), (stop if inside else start) - at)
        attributes = f'class="run sentence" data-sentence="{number}"' if inside else 'class="run"'
        yield f"<span {attributes}>{''.join(words[begun:end])}</span>"
        begun = end


def escaped(text: str) -> str:
    """Escape a text so that a browser reads it back unchanged.

    HTML parsers turn a bare carriage return into a line feed, which would move offsets, so it
    becomes a character reference.
    """
    # Django's own function handles lazy texts, which takes several times as long.
    return html.escape(str(text)).replace("\r", "&#13;")


class _State(StateInline):
    """Records where in the source each text begins."""

    begun = 0

    def append_pending(self, text: str) -> None:
        if not self._pending and not self._pending_buffer:
            self.begun = self.pos
        super().append_pending(text)

    def pushPending(self) -> Token:  # noqa: N802 - the library's name
        token = super().pushPending()
        token.meta = {"from": self.begun}
        return token


class _Inline(ParserInline):
    """Records which part of the source each token was read from."""

    def __init__(self) -> None:
        super().__init__()
        for rule in self.ruler.__rules__:
            rule.fn = _with_positions(rule.fn)

    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


def _with_positions(rule: Any) -> Any:
    def noted(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.tokens)
        done: bool = rule(state, silent)
        if done and not silent:
            at = start
            for token in state.tokens[count:]:
                if "from" not in token.meta:
                    token.meta = {"from": at, "to": state.pos}
                    # Each star of several has a token of its own.
                    at += len(token.content) if token.type == "text" else 0
        return done

    return noted


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("js-default")
    made.inline = _Inline()
    made.configure("js-default", options_update={"html": False, "linkify": False})
    # A reference's definition would vanish, and joined texts would lose their positions.
    made.disable(["reference", "linkify", "replacements", "smartquotes", "text_join"])
    made.inline.ruler2.disable("fragments_join")
    return made


@dataclass
class _Writer:
    """Writes the runs of a source in their order. `at` is the offset up to which it is written."""

    source: str
    at: int = 0
    out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts, self.ends = [0], []
        for found in _NEWLINE.finditer(self.source):
            self.ends.append(found.start())
            self.starts.append(found.end())
        self.ends.append(len(self.source))

    def finish(self) -> str:
        self._between(len(self.source))
        return "".join(self.out)

    def hide(self, to: int) -> None:
        """Write the source up to an offset as signs."""
        if to > self.at:
            words = escaped(self.source[self.at : to])
            self.out.append(f'<span class="run sign" dir="ltr">{words}</span>')
            self.at = to

    def show(self, start: int, end: int) -> None:
        """Write a piece of the source, after everything before it."""
        self._between(start)
        self._run(end)

    def _run(self, end: int) -> None:
        """Write the source up to an offset."""
        if end > self.at:
            self.out.append(f'<span class="run">{escaped(self.source[self.at : end])}</span>')
            self.at = end

    def _between(self, to: int) -> None:
        """Write the source between two tokens: hidden if it has only signs, since words must be
        seen.
        """
        if to <= self.at:
            return
        if _WORD.search(_MARKER.sub("", self.source[self.at : to])):
            self._run(to)
        else:
            self.hide(to)

    def blocks(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            name, _, side = token.type.rpartition("_")
            if token.type == "inline":
                self._inline(token)
            elif token.type in ("fence", "code_block"):
                self._code(token)
            elif token.type == "hr":
                self.out.append("<hr>")
            elif not token.hidden:
                self._tag(token, name, side == "open")

    def _tag(self, token: Token, name: str, opens: bool) -> None:
        if name == "heading":
            level = int(token.tag[1])
            attributes = f'role="heading" aria-level="{min(6, level + 2)}" class="head h{level}"'
            self.out.append(f'<div {attributes} dir="auto">' if opens else "</div>")
        elif name == "ordered_list":
            start = int(token.attrGet("start") or 1)
            self.out.append(f'<ol start="{start}">' if opens else "</ol>")
        elif name in ("th", "td"):
            side = re.sub(r"[^a-z]", "", str(token.attrGet("style") or "").rpartition(":")[2])
            attributes = f' class="{side}"' if side in ("center", "right") else ""
            self.out.append(f'<{name} dir="auto"{attributes}>' if opens else f"</{name}>")
        elif tag := _TAGS.get(name):
            auto = ' dir="auto"' if name in ("paragraph", "list_item", "blockquote") else ""
            self.out.append(f"<{tag}{auto}>" if opens else f"</{tag}>")

    def _code(self, token: Token) -> None:
        first = (token.map or [0])[0] + (token.type == "fence")
        # Extra cells in a table's earlier lines must not be hidden with its opening line.
        self._between(self.starts[first - (token.type == "fence")])
        info = escape(token.info.strip()[:40])
        attributes = f' data-info="{info}"' if info else ""
        self.out.append(f'<pre dir="ltr"{attributes}><code>')
        if token.type == "fence" and first < len(self.starts):
            self.hide(self.starts[first])
        lines = token.content.removesuffix("\n").split("\n")
        for number, words in enumerate(lines, first):
            if number >= len(self.starts):
                break
            start, end = self.starts[number], self.ends[number]
            at = self.source.rfind(words, start, end)
            self.show(at if at >= self.at and words else max(start, self.at), end)
            if number < first + len(lines) - 1 and number + 1 < len(self.starts):
                self.show(self.at, self.starts[number + 1])
        self.out.append("</code></pre>")

    def _inline(self, token: Token) -> None:
        places = self._places(token)
        if places is None:
            # Tabs or the like: the lines are shown as they were written.
            first, last = token.map or [0, 1]
            self.show(max(self.at, self.starts[first]), self.ends[last - 1])
        else:
            _Words(self, places).write(token.children or [])

    def _places(self, token: Token) -> list[int] | None:
        """Return where in the source each character of a token's content is; None if unknown.

        One more position says where the content ends.
        """
        first = (token.map or [0])[0]
        found: list[int] = []
        for number, words in enumerate(token.content.split("\n"), first):
            if found:
                found.append(self.ends[number - 1])
            line = self._line(words, number)
            if line is None:
                return None
            found += line
        return [*found, found[-1] + 1 if found else self.at]

    def _line(self, words: str, number: int) -> list[int] | None:
        if number >= len(self.starts):
            return None
        start, end = max(self.at, self.starts[number]), self.ends[number]
        at = self.source.find(words, start, end)
        if at >= 0:
            # A line's text follows its markers, so the last occurrence is the right one. A table
            # cell's text is the first occurrence that is not written yet.
            last = self.source.rfind(words, start, end)
            if self.source[last + len(words) : end].strip(" \t#") == "":
                at = last
            return list(range(at, at + len(words)))
        return self._unescaped(words, start, end)

    def _unescaped(self, words: str, start: int, end: int) -> list[int] | None:
        """Return the positions of a cell's characters if escaped bars or NULs were changed."""
        pattern = "".join(
            r"\\?\|" if c == "|" else "[\0\ufffd]" if c == "\ufffd" else re.escape(c) for c in words
        )
        match = re.compile(pattern).search(self.source, start, end)
        if match is None:
            return None
        found, at = [], match.start()
        for c in words:
            at += c == "|" and self.source[at] == "\\"
            found.append(at)
            at += 1
        return found


@dataclass
class _Words:
    """Writes the inline tokens of a block whose positions in the source are known."""

    writer: _Writer
    places: Sequence[int]
    links: list[str] = field(default_factory=list)

    def write(self, tokens: Sequence[Token]) -> None:
        left = iter(tokens)
        for token in left:
            if token.type == "link_open" and token.info == "auto":
                self._autolink(token, left)
            else:
                self._one(token)

    def _one(self, token: Token) -> None:
        start, end = token.meta.get("from", 0), token.meta.get("to", 0)
        out = self.writer.out
        name, _, side = token.type.rpartition("_")
        if token.type == "text":
            self._show(start, start + len(token.content))
        elif token.type == "text_special":
            self._special(token, start, end)
        elif token.type == "code_inline":
            out.append("<code>")
            self._show(start + len(token.markup), end - len(token.markup))
            self.writer.hide(self._after(end))
            out.append("</code>")
        elif token.type in ("softbreak", "hardbreak"):
            out.append('<span class="break">' if token.type == "hardbreak" else "")
            self._newline(self._at(end))
            out.append("</span>" if token.type == "hardbreak" else "")
        elif token.type == "image":
            self._image(token, start, end)
        elif token.type == "link_open":
            out.append('<span class="link">')
            self.links.append(str(token.attrGet("href") or ""))
        elif token.type == "link_close":
            out.append("</span>")
            self.writer.hide(self._after(end))
            out.append(_way_out(self.links.pop()))
        elif name in _TAGS:
            out.append(f"<{_TAGS[name]}>" if side == "open" else f"</{_TAGS[name]}>")

    def _at(self, place: int) -> int:
        return self.places[min(place, len(self.places) - 1)]

    def _after(self, place: int) -> int:
        """Return where the character before a position ends in the source."""
        return self._at(place - 1) + 1

    def _show(self, start: int, end: int) -> None:
        """Write a range of the content, which may be on several lines of the source."""
        while start < end:
            stop = start + 1
            while stop < end and self.places[stop] == self.places[stop - 1] + 1:
                stop += 1
            self.writer.show(self.places[start], self.places[stop - 1] + 1)
            start = stop

    def _newline(self, end: int) -> None:
        """Write the end of the line that is being written."""
        writer = self.writer
        found = _NEWLINE.search(writer.source, writer.at, end)
        if found:
            writer.show(found.start(), found.end())

    def _special(self, token: Token, start: int, end: int) -> None:
        if token.info == "entity":
            self.writer.show(self._at(start), self._at(start))
            self.writer.out.append(f'<span class="entity" data-shown="{escaped(token.content)}">')
            self.writer.hide(self._after(end))
            self.writer.out.append("</span>")
        elif len(token.markup) > len(token.content):
            self._show(start + 1, end)
        else:
            self._show(start, end)

    def _image(self, token: Token, start: int, end: int) -> None:
        self.writer.out.append('<span class="picture">')
        self._show(start + 2, start + 2 + len(token.content))
        self.writer.hide(self._after(end))
        self.writer.out.append("</span>")

    def _autolink(self, token: Token, left: Iterator[Token]) -> None:
        start, end = token.meta["from"], token.meta["to"]
        self.writer.out.append('<span class="link">')
        self._show(start + 1, end - 1)
        next(left)
        next(left)
        self.writer.hide(self._after(end))
        self.writer.out.append("</span>" + _way_out(str(token.attrGet("href") or "")))


def _way_out(address: str) -> str:
    """Return a mark that opens a link in a new tab without telling the site about this page."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return ""
    attributes = (
        f'href="{escape(address)}" title="{escape(address)}" aria-label="{escape(parts.netloc)}"'
    )
    return f'<a class="out" target="_blank" rel="noreferrer noopener nofollow" {attributes}></a>'
