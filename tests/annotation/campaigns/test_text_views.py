"""Texts in Markdown are rendered by a job, within limits, and never by the page of a long item."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from annotation.campaigns import renderer, text_views
from annotation.campaigns.markdown import LONGEST, render
from annotation.campaigns.renderer import LARGE, PLAIN, SLOW, NotRenderedError, Renderer
from annotation.campaigns.text_views import (
    INLINE,
    MOST_HTML,
    NEVER,
    SOON,
    TextViews,
    digest_of,
    stored_texts,
    weight,
)
from annotation.models import Item, Rendering
from datasets.models import Job
from tests.annotation.campaigns.test_markdown import text_of
from tests.page_cast import Study, client_of, study_of

PROSE = "The **bridge** opened in [1901](https://example.org/a), *it* closed.\n\n- one\n- two\n\n"
LONG = PROSE * 600
HOSTILE = {
    "brackets": "**a** " + "[" * 190_000,
    "images": "**a** " + "![" * 90_000,
    "emphasis": "*a **b " * 28_000,
    "underscores": "_a" * 95_000,
    "a wide table": "|" + "a|" * 2000 + "\n|" + "-|" * 2000 + "\n" + "|a|\n" * 3000,
    "quotations": ">" * 190_000,
    "nested quotations": "\n".join("> " * n + "a" for n in range(400)),
    "nested lists": "\n".join("  " * n + "- a" for n in range(430)),
    "references": "**a** " + "[a][b]" * 30_000,
    "links": "[a](b(" * 30_000,
    "backticks": "`a``b```c" * 20_000,
    "entities": "**a** " + "&amp;" * 38_000,
}


def one_report(text: str) -> dict[str, Any]:
    return {
        "id": "q",
        "text": "What?",
        "questions": [{"id": "s", "text": "Is it?"}],
        "reports": [{"id": "r", "system": "x", "text": text}],
    }


def study_with(folder: Path, text: str) -> Study:
    return study_of("report-coverage", folder, lines=[one_report(text)])


def rendered_or_reason(renderer: Renderer, text: str) -> str:
    try:
        return renderer.render(text)
    except NotRenderedError as error:
        return str(error)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_takes_the_renderer_more_than_its_limits(text: str) -> None:
    assert len(text) <= LONGEST
    with Renderer() as with_limits:
        found = rendered_or_reason(with_limits, text)
        assert found in (SLOW, LARGE) or text_of(found) == text
        assert with_limits.render("Then **this**.") == render("Then **this**.")


def test_a_renderer_that_runs_out_of_time_or_memory_goes_on_with_the_next_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renderer, "PATIENCE", 0.0)
    with Renderer() as with_limits:
        with pytest.raises(NotRenderedError, match=SLOW):
            with_limits.render(HOSTILE["brackets"])
        monkeypatch.undo()
        with_limits._start().kill()
        with pytest.raises(NotRenderedError, match=LARGE):
            with_limits.render("Some **bold** words.")
        assert "<strong>" in with_limits.render("Some **bold** words.")


def test_a_text_without_signs_is_told_from_one_that_is_too_much() -> None:
    with Renderer() as with_limits, pytest.raises(NotRenderedError, match=PLAIN):
        with_limits.render("Only words.")


def test_half_a_surrogate_pair_is_rendered_like_any_other_character() -> None:
    with Renderer() as with_limits:
        assert "\ud800" in with_limits.render("**a** \ud800")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_a_page_renders_itself_takes_a_moment(text: str) -> None:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if weight([text[:middle]]) <= INLINE else (low, middle - 1)
    before = time.process_time()
    render(text[:low])
    assert time.process_time() - before < 1


def test_short_items_are_rendered_with_their_page_and_long_ones_by_a_job() -> None:
    assert stored_texts([PROSE] * 10) == []
    assert stored_texts([PROSE, LONG]) == [PROSE, LONG]
    assert stored_texts([PROSE, "a" * (LONGEST + 1)]) == [PROSE]


def test_a_long_text_is_plain_until_a_job_has_rendered_it(
    db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_with(tmp_path, LONG)
    client, address = client_of(study.ada), reverse("item", args=[study.assignment(study.ada).uid])
    monkeypatch.setattr(text_views, "_render", pytest.fail)
    settings.JOBS_EAGER = False
    monkeypatch.setattr("datasets.work.wake.wake", lambda *given: None)
    page = client.get(address).content.decode()
    assert SOON in page
    assert 'class="markdown' not in page
    job = Job.objects.get()
    assert (job.kind, job.state) == ("renderings", "waiting")
    client.get(address)
    assert Job.objects.count() == 1
    job.delete()
    settings.JOBS_EAGER = True
    client.get(address)
    page = client.get(address).content.decode()
    assert render(LONG) in page
    assert SOON not in page


def test_a_mended_renderer_reaches_old_texts_and_old_html_is_not_shown(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_with(tmp_path, LONG)
    item = Item.objects.get(campaign=study.campaign)
    assert TextViews(item, [LONG], study.ada).render(LONG) is None
    assert TextViews(item, [LONG]).render(LONG) == render(LONG)
    monkeypatch.setattr(text_views, "VERSION", "mended")
    monkeypatch.setattr("annotation.long_items.VERSION", "mended")
    views = TextViews(item, [LONG], study.ada)
    assert views.render(LONG) is None
    assert views.note(LONG) == SOON
    assert TextViews(item, [LONG]).render(LONG) == render(LONG)
    assert set(Rendering.objects.values_list("version", flat=True)) == {"mended"}


def test_poison_is_shown_plain_with_a_word_and_others_are_rendered(
    db: None, tmp_path: Path
) -> None:
    lines = [one_report(HOSTILE["brackets"]), one_report(LONG) | {"id": "q2"}]
    lines[1] |= {"questions": [], "reports": [{"id": "r2", "system": "x", "text": LONG}]}
    lines[1]["questions"] = [{"id": "s2", "text": "Is it?"}]
    study = study_of("report-coverage", tmp_path, lines=lines)
    bad, good = Item.objects.filter(campaign=study.campaign).order_by("query__position")
    text = HOSTILE["brackets"]
    TextViews(good, [LONG], study.ada).render(LONG)
    assert TextViews(good, [LONG]).render(LONG) == render(LONG)
    views = TextViews(bad, [text])
    assert views.render(text) is None
    assert views.note(text) == NEVER
    assert Job.objects.get().state == "done"


def test_a_text_beyond_the_limits_is_shown_plain_and_says_so(db: None, tmp_path: Path) -> None:
    text = PROSE * (LONGEST // len(PROSE) + 1)
    study = study_with(tmp_path, text)
    address = reverse("item", args=[study.assignment(study.ada).uid])
    page = client_of(study.ada).get(address).content.decode()
    assert NEVER in page
    assert 'class="markdown' not in page
    assert not Job.objects.exists()


def test_a_page_shows_a_limited_amount_of_html(db: None, tmp_path: Path) -> None:
    study = study_with(tmp_path, LONG)
    item = Item.objects.get(campaign=study.campaign)
    texts = [f"{n} {LONG}" for n in range(4)]
    html = "<b>" * (MOST_HTML // 9)
    text_views.Rendering.objects.bulk_create(
        Rendering(
            digest=digest_of(text),
            version=text_views.VERSION,
            html=text_views.zlib.compress(html.encode()),
        )
        for text in texts
    )
    views = TextViews(item, texts)
    assert [views.render(text) == html for text in texts] == [True, True, True, False]
    assert [views.note(text) for text in texts] == ["", "", "", NEVER]
