"""`python -m scripts.catalogues`: gathers texts of annotators' pages, and compiles translations.

Texts come from templates (`translate`, `blocktranslate`), Python (`gettext`), declarations of
protocols, and the pages' scripts (`t`, `tn`). Gathering keeps every translation whose text still
exists. Babel replaces gettext's own programs, which need not be installed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parent.parent
LOCALE = ROOT / "locale"
TEMPLATES = (
    "403.html",
    "403_csrf.html",
    "404.html",
    "500.html",
    "503.html",
    "base.html",
    "changed.html",
    "_words.html",
    "accounts/*.html",
    "adjudication/*.html",
    "people/join*.html",
    "people/prolific.html",
    "work/*.html",
    "work/pages/*.html",
)
MODULES = ("annotation", "config", "datasets", "tandem/messages.py", "tandem/protocols")
MACHINES = ("annotation/api", "annotation/management", "annotation/imports")
"""Modules whose messages are never shown to annotators."""
KEYWORDS = {
    "Message": None,
    "gettext": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "pgettext": ((1, "c"), 2),
}
_QUOTED = r'("(?:[^"\\]|\\.)*")'
_SCRIPT = re.compile(rf"\bt\(\s*{_QUOTED}|\btn\(\s*{_QUOTED},\s*{_QUOTED}")
_HEAD = "# Texts of annotators' pages. After a change, run: python -m scripts.catalogues"
_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
_SAME = re.compile(r"\d?")
"""Texts that need no translation: the digits of a scale."""

Text = str | tuple[str, str]


def texts() -> dict[str, set[Text]]:
    """Return the texts of each catalogue, `django` and `djangojs`."""
    pages = {*_of_templates(), *_of_modules(), *_of_protocols()}
    return {
        "django": {text for text in pages if not (isinstance(text, str) and _SAME.fullmatch(text))},
        "djangojs": set(_of_scripts()),
    }


def _of_templates() -> Iterator[Text]:
    from django.utils.translation.template import templatize

    for pattern in TEMPLATES:
        for path in sorted((ROOT / "templates").glob(pattern)):
            calls = re.findall(
                r"(n?gettext\((?:u'(?:[^'\\]|\\.)*'|u\"(?:[^\"\\]|\\.)*\"|, |count)+\))",
                templatize(path.read_text("utf-8")),
            )
            yield from _calls("\n".join(calls))


def _of_modules() -> Iterator[Text]:
    for name in MODULES:
        path = ROOT / name
        for module in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if not module.relative_to(ROOT).as_posix().startswith(MACHINES):
                yield from _calls(module.read_text("utf-8"))


def _calls(source: str) -> Iterator[Text]:
    for _, name, found, _ in extract_python(io.BytesIO(source.encode()), KEYWORDS, (), {}):
        said = [str(text) for text in ([found] if isinstance(found, str) else found or ()) if text]
        if name == "ngettext":
            yield said[0], said[1]
        elif said:
            yield said[0]


def _of_protocols() -> Iterator[Text]:
    from annotation.item_context import HEADINGS, KINDS
    from annotation.protocols import PROTOCOLS
    from annotation.views.protocol_pages import page_for
    from datasets.access import ANNOTATOR
    from datasets.api.permissions import MOST, SCOPES
    from tandem.protocols.base import NONE_OF_THESE
    from tandem.protocols.points import noun_of
    from tandem.protocols.schema import UNIT, UNIT_NOUNS

    for declared in PROTOCOLS.values():
        for protocol in (declared, *declared.readings.values(), *declared.earlier.values()):
            yield protocol.title
            rules = (protocol.written, protocol.listed)
            yield from (rule.question for rule in rules if rule is not None and rule.question)
            for variable in protocol.variables:
                yield variable.question
                words = (variable.words.get(c, _plain(c)) for c in variable.answers)
                yield from words
                yield from variable.meanings.values()
            for keys, action in page_for(protocol).keys:
                yield from (key for key in keys.split() if key.isalpha() and len(key) > 1)
                yield action
            yield from (
                noun_of(rule.field).word for rule in (protocol.evidence, protocol.listed) if rule
            )
            kinds = {variable.kind for variable in protocol.variables}
            yield from (f"{_plain(kind)}s" for kind in kinds if kind not in KINDS)
    yield from (*HEADINGS, NONE_OF_THESE, "source", "date", "age", "use", "importance", "sources")
    yield from (noun for nouns in (UNIT, *UNIT_NOUNS.values()) for noun in nouns)
    yield from (SCOPES[scope] for scope in MOST[ANNOTATOR])


def _plain(code: str) -> str:
    return code.replace("-", " ").capitalize()


def _of_scripts() -> Iterator[Text]:
    for path in sorted((ROOT / "static" / "js").rglob("*.js")):
        for one, single, several in _SCRIPT.findall(path.read_text("utf-8")):
            yield from (_unquoted(text) for text in (one, single, several) if text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def catalogue(language: str, domain: str) -> Catalog:
    """Return a stored catalogue, or an empty one."""
    path = LOCALE / language / "LC_MESSAGES" / f"{domain}.po"
    if not path.exists():
        return Catalog(language, domain=domain, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, language, domain)


def gather(language: str) -> None:
    """Write a language's catalogues with all texts, and compile them."""
    folder = LOCALE / language / "LC_MESSAGES"
    folder.mkdir(parents=True, exist_ok=True)
    for domain, found in texts().items():
        known = catalogue(language, domain)
        made = Catalog(language, domain=domain, project="Tandem", fuzzy=False, header_comment=_HEAD)
        for text in sorted(found, key=lambda each: each if isinstance(each, str) else each[0]):
            message = known.get(text if isinstance(text, str) else text[0])
            made.add(text, message.string if message else None)
        # A date would change with each run, even if no text has changed.
        made.creation_date = made.revision_date = _WRITTEN
        with (folder / f"{domain}.po").open("wb") as file:
            write_po(file, made, width=100, omit_header=False, sort_output=False)
        with (folder / f"{domain}.mo").open("wb") as file:
            write_mo(file, made)


def untranslated(language: str) -> list[Text]:
    """Return the texts without a translation in a language."""
    found: list[Text] = []
    for domain, texts_of in texts().items():
        known = catalogue(language, domain)
        for text in texts_of:
            message = known.get(text if isinstance(text, str) else text[0])
            said = message.string if message else ""
            if not (all(said) if isinstance(said, tuple | list) else said):
                found.append(text)
    return sorted(found, key=str)


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for folder in sorted(LOCALE.iterdir()):
        gather(folder.name)
        left = untranslated(folder.name)
        print(f"{folder.name}: {len(left)} texts without a translation")


if __name__ == "__main__":
    main()
