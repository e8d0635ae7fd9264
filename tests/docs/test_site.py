"""The site as built: complete, without broken links, and independent of other hosts."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from docs._reference import hook
from tests.browser.chromium import started
from tests.cast import ROOT
from tests.docs.conftest import Built, mkdocs
from tests.docs.markdown import DOCS, first_paragraph, written

FETCHED = re.compile(r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"']?([^\"'\s>]+)")
LINKED = re.compile(r"<link\b[^>]*\bhref=[\"']?([^\"'\s>]+)")
FOLLOWED = re.compile(r"<a\b[^>]*\bhref=[\"']?([^\"'\s>]+)")
IN_STYLES = re.compile(r"url\([\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")
EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]")


def test_the_site_builds_without_a_warning(site: Built) -> None:
    assert site.done.returncode == 0, site.done.stderr
    assert "WARNING" not in site.done.stderr


def a_small_site(folder: Path, *pages: str, hook: bool = False) -> Path:
    """A site of a test's own pages, with our configuration and only the first in the navigation."""
    (folder / "pages").mkdir()
    for number, text in enumerate(pages):
        (folder / "pages" / ("index.md" if number == 0 else f"page{number}.md")).write_text(text)
    config = folder / "mkdocs.yml"
    hooks = f"[{ROOT / 'docs/_reference/hook.py'}]" if hook else "[]"
    config.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: pages\nhooks: {hooks}\nnav: [index.md]\n"
    )
    return config


BROKEN = ("[x](nowhere.md)", "[x](#nowhere)", "[x](/absolute.md)", "[x](somewhere/)")


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The warnings of a build about a page with broken links, and one outside the navigation."""
    folder = tmp_path_factory.mktemp("broken")
    sound = "# One\n\n## Part\n\n[down](#part)\n\n"
    config = a_small_site(folder, sound + "\n".join(BROKEN), "# Forgotten\n")
    done = mkdocs(config, folder / "site")
    assert done.returncode != 0
    assert done.stderr.count("WARNING") == len(BROKEN) + 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("link", BROKEN)
def test_a_broken_link_fails_the_build(complaints: str, link: str) -> None:
    assert f"'{link[4:-1]}'" in complaints


def test_a_quiet_build_counts_warnings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """MkDocs itself would not: with --quiet it notices only errors."""
    logger = logging.getLogger("mkdocs")
    monkeypatch.setattr(logger, "level", logging.ERROR)
    hook.on_startup(command="build", dirty=False)
    assert logger.isEnabledFor(logging.WARNING)


@pytest.mark.long
def test_a_quiet_build_lets_no_broken_link_pass(tmp_path: Path) -> None:
    config = a_small_site(tmp_path, "# One\n\n[x](nowhere.md)\n", hook=True)
    done = mkdocs(config, tmp_path / "site", "--quiet")
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr


def test_a_page_outside_the_navigation_fails_the_build(complaints: str) -> None:
    assert "page1.md" in complaints


def test_every_page_is_in_the_navigation(site: Built) -> None:
    linked = set(FOLLOWED.findall(site.pages["index.html"]))
    assert set(site.pages) <= linked | {"index.html"}


@pytest.mark.parametrize("path", written())
def test_every_page_is_built(site: Built, path: str) -> None:
    assert path.replace(".md", ".html") in site.pages


def test_no_hand_written_page_is_in_the_reference() -> None:
    assert not (DOCS / "reference").exists()


@pytest.mark.every_case
@pytest.mark.parametrize("path", written())
def test_a_page_begins_by_saying_whom_it_is_for(path: str) -> None:
    paragraph = first_paragraph(written()[path])
    assert re.match(r"For [^:]+: ", paragraph), paragraph


def test_a_reference_page_begins_by_saying_whom_it_is_for(site: Built) -> None:
    reference = {path: html for path, html in site.pages.items() if path.startswith("reference/")}
    first = {
        path: re.search(r"</h1>\s*<p>(.*?)</p>", html, re.S) for path, html in reference.items()
    }
    assert len(reference) > 15
    assert not [path for path, found in first.items() if not found or found[1][:4] != "For "]


def test_the_404_page_uses_no_other_file_of_the_site(site: Built) -> None:
    """It is shown at any depth, under any prefix, so no relative or absolute address would work."""
    html = (site.folder / "404.html").read_text("utf-8")
    assert "There is no such page" in html
    assert not FETCHED.findall(html) + LINKED.findall(html) + FOLLOWED.findall(html)


def test_the_search_works_in_pages_opened_from_a_folder(site: Built) -> None:
    with started() as browser:
        page = browser.new_page()
        page.goto((site.folder / "tutorials" / "annotator.html").as_uri())
        page.get_by_placeholder("Search").click()
        page.get_by_placeholder("Search").press_sequentially("lease")
        expect(page.locator(".md-search-result__item").first).to_be_visible()


PICTURES = sorted(DOCS.rglob("*.png"))


def test_there_are_pictures() -> None:
    assert len(PICTURES) >= 2


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_is_small_and_has_a_description(picture: Path) -> None:
    assert picture.stat().st_size < 120_000
    shown = [
        words
        for text in written().values()
        for words, name in re.findall(r"!\[([^\]]*)\]\([^)]*?([\w-]+\.png)\)", text)
        if name == picture.name
    ]
    assert shown
    assert all(len(words) > 40 for words in shown)


def outside(addresses: list[str]) -> set[str]:
    return {host for address in addresses if (host := urlsplit(address).netloc)}


def test_pages_load_nothing_from_other_hosts(site: Built) -> None:
    for path, html in site.pages.items():
        assert not outside(FETCHED.findall(html)), path
        assert not outside(LINKED.findall(html)), path


def test_style_sheets_load_nothing_from_other_hosts(site: Built) -> None:
    sheets = list(site.folder.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        found = ["".join(pair) for pair in IN_STYLES.findall(sheet.read_text("utf-8"))]
        assert not outside(found), sheet


def test_pages_link_to_no_other_host(site: Built) -> None:
    for path, html in site.pages.items():
        assert not outside(FOLLOWED.findall(html)), path


@pytest.mark.parametrize("path", written())
def test_a_page_contains_no_emoji(path: str) -> None:
    assert not EMOJI.findall(written()[path])
