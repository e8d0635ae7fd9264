"""Pages contain what they need, and stay small."""

from __future__ import annotations

import gzip
import html
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.template import Context, Template
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.campaigns.rendering import render
from tests.page_cast import OPEN_TO, TEXT, Study, answers, client_of, make_study, page, plant

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


def test_texts_reach_the_browser_unchanged() -> None:
    shown = Template("{% load annotation_tags %}{{ text|verbatim }}").render(
        Context({"text": TEXT + "\r"})
    )
    assert "\r" not in shown
    assert "<b>" not in shown
    assert html.unescape(shown) == TEXT + "\r"


def test_a_step_of_a_scale_is_drawn_before_its_script_runs_and_reads_as_one() -> None:
    def shown(word: str) -> str:
        return Template("{% load annotation_tags %}{{ word|as_step }}").render(
            Context({"word": word})
        )

    step = shown("3 – the <main> part")
    assert step.startswith('<span class="step"><b>3</b>')
    assert html.unescape(re.sub(r"<[^>]*>", "", step)) == "3 – the <main> part"
    assert shown("Yes & no") == "<span>Yes &amp; no</span>"


def test_the_guideline_is_rendered_and_its_html_tags_are_escaped(study: Study) -> None:
    mine = study.assignment(study.ada)
    shown = client_of(study.ada).get(page("guideline", mine)).content.decode()
    assert "<h2>Report coverage</h2>" in shown
    assert "<strong>Yes</strong>" in shown
    hostile = (
        "# A <script>x</script>\n\n- one\n  more\n- **two** <img onerror=x>\n1. `a*b*`\n\ntail"
    )
    assert render(hostile) == (
        "<h2>A &lt;script&gt;x&lt;/script&gt;</h2>\n"
        "<ul><li>one more</li><li><strong>two</strong> &lt;img onerror=x&gt;</li></ul>\n"
        "<ol><li><code>a*b*</code></li></ol>\n<p>tail</p>"
    )


def test_lists_show_progress_of_campaigns_and_the_queries_of_batches(study: Study) -> None:
    plant(study)
    listed = client_of(study.rita).get("/campaigns/").content.decode()
    assert "1 of 4" in listed
    assert "harbour" in listed
    assert f"/campaigns/{study.campaign.pk}/results/" in listed
    batch = client_of(study.root).get(reverse("batch", args=[study.campaign.batch_id]))
    assert "What of the harbour? ⛵" in batch.content.decode()


@pytest.mark.first_case
@pytest.mark.parametrize("role", ["annotator", "researcher", "admin"])
def test_every_page_forbids_foreign_and_inline_scripts(study: Study, role: str) -> None:
    user = {"annotator": study.ada, "researcher": study.rita, "admin": study.root}[role]
    client = client_of(user)
    for name in (name for name, roles in OPEN_TO.items() if role in roles and name != "login"):
        pk = study.campaign.pk
        one = {"finished": [pk], "campaign": [pk], "batch": [study.campaign.batch_id]}
        answer = client.get(reverse(name, args=one.get(name, [])), follow=True)
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'self'" in policy
        body = answer.content.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|https?://", body)


def test_an_item_page_takes_few_queries() -> None:
    study = make_study(tuple(f"Question {n}?" for n in range(15)))
    mine, client = study.assignment(study.ada), client_of(study.ada)
    client.post(page("draft", mine), answers(*[None] * 15, version=0))
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(page("item", mine)).status_code == 200
    assert len(captured) < 13, [q["sql"] for q in captured]


def test_an_item_page_is_small() -> None:
    question = "Why was the outer breakwater rebuilt, and who decided on its new length? Question"
    study = make_study(tuple(f"{question} {n}" for n in range(15)))
    client = client_of(study.ada)
    body = client.get(page("item", study.assignment(study.ada))).content
    sources = set(re.findall(r'(?:src|href)="/static/([^"]+)"', body.decode()))
    files = {"page": body} | loaded(sources)
    sizes = {path: len(gzip.compress(content)) for path, content in files.items()}
    assert "js/saving.js" in sizes
    assert sum(sizes.values()) < 77_500, (sum(sizes.values()), sizes)


def loaded(sources: set[str]) -> dict[str, bytes]:
    """The static files that a page loads, with what its modules import."""
    found: dict[str, bytes] = {}
    waiting = sorted(sources)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = Path(str(finders.find(path))).read_bytes()
            imports = re.findall(r'^import .*"\./(.+)"', found[path].decode(), re.MULTILINE)
            waiting += [f"js/{name}" for name in imports]
    return found
