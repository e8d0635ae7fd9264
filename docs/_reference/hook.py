"""MkDocs hook: adds the reference pages to the site and its navigation."""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

import django
from django.apps import apps
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
# MkDocs puts this folder first on the path, where our `statistics` would shadow Python's.
sys.path[0] = str(ROOT)
# The pages describe defaults, so development settings suffice.
os.environ.setdefault("DEBUG", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A second start would set up logging again in a process that already runs Django, such as tests.
if not apps.ready:
    django.setup()

from datasets.material import FORMAT_FILES  # noqa: E402
from docs._reference.pages import FOLDER, navigation, pages  # noqa: E402

ICON = "assets/icon.svg"
INTERVAL = re.compile(r"\[-?\d\.\d+, -?\d\.\d+\]")
# The page is shown at any address and depth, so it cannot link to files of the site.
NOT_FOUND = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found - Tandem</title>
<style>
:root { color-scheme: light dark }
body { font: 1.1rem/1.6 "Inter", "Segoe UI", system-ui, sans-serif; max-width: 34rem; margin: 18vh auto; padding: 0 1.5rem }
</style>
<h1>There is no such page</h1>
<p>It may have moved. Go back, or shorten the address to the folder of this documentation: its
first page leads to all others.</p>
"""  # noqa: E501


def on_startup(*, command: str, dirty: bool) -> None:
    """Count warnings with --quiet too: MkDocs drops them, so --strict would never fail."""
    logger = logging.getLogger("mkdocs")
    logger.setLevel(min(logger.level, logging.WARNING))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    for entry in config.nav or []:
        if isinstance(entry, dict) and "Reference" in entry:
            entry["Reference"] = [*entry["Reference"], *navigation()]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    for path, write in pages().items():
        files.append(File.generated(config, path, content=write()))
    for each in FORMAT_FILES.values():
        path = f"{FOLDER}/{each.name}"
        files.append(File.generated(config, path, abs_src_path=str(each.path)))
    # The site's own icon is used here, too.
    icon = ROOT / "static" / "icon.svg"
    files.append(File.generated(config, ICON, abs_src_path=str(icon)))
    return files


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Keep both ends of an interval in a table on one line."""
    return INTERVAL.sub(r'<span class="interval">\g<0></span>', html)


def on_post_template(output: str, *, template_name: str, config: MkDocsConfig) -> str:
    return NOT_FOUND if template_name == "404.html" else output
