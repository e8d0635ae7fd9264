"""The pages of grounding relevance and question typing, as rendered by the server."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.assignments.queue import order_for
from annotation.campaigns.design import Design
from annotation.item_context import with_button_words
from annotation.models import Assignment
from annotation.presentation import schema
from annotation.protocols import PROTOCOLS
from annotation.views.protocol_pages.question_typing import definitions
from tandem.protocols.shipped import FILES
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db

TOPICS = FILES["question-typing"].variable("category").meanings


def passage(number: int, **facts: Any) -> dict[str, Any]:
    return {"id": f"p/{number}#", "text": f"Text {number}.\r\nשלום 🌉", **facts}


DATED: dict[str, Any] = {
    "id": "q/1",
    "text": "Who runs the harbour? 🛶",
    "asked_at": "2024-03-01",
    "passages": [
        passage(0, title="Leap", source="web", published_at="2024-02-29"),
        passage(1, source="private", published_at="2024-03-02"),
        passage(2, published_at="spring 2019"),
        passage(3, published_at="2020-01-01", age="as the batch says"),
        passage(4),
        passage(5, title="Zone", published_at="2024-02-29T23:30:00-04:00"),
    ],
}


def shown(study: Study, assignment: Assignment) -> str:
    return client_of(study.ada).get(page("item", assignment)).content.decode()


def cards_of(content: str) -> list[str]:
    return re.findall(
        r'<li class="unit card".*?</li>(?=<li class="(?:unit|comment))', content, re.S
    )


def words_of(card: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", card)).split())


def dated(folder: Path, **design: Any) -> Study:
    return study_of("grounding-relevance", folder, Design(**design), (DATED,))


def test_cards_are_shown_in_the_recorded_order_each_with_its_own_text(tmp_path: Path) -> None:
    study = dated(tmp_path)
    mine = study.assignment(study.ada)
    cards = cards_of(shown(study, mine))
    keys = [re.search(r'value="(q/1/[^"]*)"', card)[1] for card in cards]  # type: ignore[index]
    assert keys == mine.asked
    for key, card in zip(keys, cards, strict=True):
        number = key.removeprefix("q/1/p/").rstrip("#")
        assert f">Text {number}.&#13;\nשלום 🌉</div>" in card
        assert f'data-text="passage:p/{number}#"' in card


def test_the_order_is_random_for_each_rater_and_recorded(
    tmp_path: Path,
) -> None:
    study = dated(tmp_path, raters_per_item=2)
    one, two = study.assignment(study.ada), study.assignment(study.ben)
    assert sorted(one.asked) == sorted(two.asked)
    assert one.asked != two.asked
    for mine in (one, two):
        assert [f"q/1/{field.removeprefix('passage:')}" for field in mine.shown] == mine.asked
        assert order_for(mine.item, mine.rater) == (mine.asked, mine.shown)


def test_a_campaign_may_keep_the_order_of_the_batch(tmp_path: Path) -> None:
    study = dated(tmp_path, order="fixed")
    mine = study.assignment(study.ada)
    assert mine.asked == [f"q/1/p/{number}#" for number in range(6)]
    assert len(cards_of(shown(study, mine))) == 6


def test_each_card_says_its_source_date_and_age_in_words(tmp_path: Path) -> None:
    study = dated(tmp_path, order="fixed")
    content = shown(study, study.assignment(study.ada))
    facts = [words_of(card) for card in cards_of(content)]
    assert "Leap Source web Date 29 February 2024 Age 1 day Text 0." in facts[0]
    assert "Source private Date 2 March 2024 Age 1 day after the question" in facts[1]
    assert "Passage 3 Source unknown Date spring 2019 Age unknown" in facts[2]
    assert "Date 1 January 2020 Age as the batch says" in facts[3]
    assert "Source unknown Date unknown Age unknown" in facts[4]
    assert "Date 29 February 2024, 23:30 UTC-04:00 Age 1 day" in facts[5]
    assert '<time datetime="2024-03-01">1 March 2024</time>' in content


def test_a_question_without_a_date_says_so(tmp_path: Path) -> None:
    undated = {name: value for name, value in DATED.items() if name != "asked_at"}
    study = study_of("grounding-relevance", tmp_path, lines=(undated,))
    content = shown(study, study.assignment(study.ada))
    assert "Date unknown" in content
    assert "Age unknown" in words_of(cards_of(content)[0])


def test_only_relevant_passages_become_cards_if_the_campaign_says_so(tmp_path: Path) -> None:
    study = study_of("grounding-relevance", tmp_path, Design(passages="relevant"))
    mine = study.assignment(study.ada)
    assert mine.asked == ["q/1/p"]
    assert len(cards_of(shown(study, mine))) == 1


def typing(folder: Path, **design: Any) -> str:
    study = study_of("question-typing", folder, Design(**design))
    return shown(study, study.assignment(study.ada))


def test_every_code_of_question_typing_is_shown_with_its_meaning(tmp_path: Path) -> None:
    content = html.unescape(typing(tmp_path))
    meant = definitions(PROTOCOLS["question-typing"].guideline)
    for variable in PROTOCOLS["question-typing"].variables:
        if variable.codes == ("yes", "no"):
            assert f'id="meaning-{variable.name}">{meant[variable.name]}</p>' in content
            continue
        for code in variable.codes:
            meaning = TOPICS[code] if variable.name == "category" else meant[code]
            assert f"{variable.word(code)}</span><small>{meaning}</small>" in content


def test_the_seven_questions_are_in_order_and_the_last_four_wait_for_the_gate(
    tmp_path: Path,
) -> None:
    content = typing(tmp_path)
    asked = re.findall(r'data-variable="(\w+)"( data-if=)?', content)
    names = [variable.name for variable in PROTOCOLS["question-typing"].variables]
    assert [name for name, _ in asked] == names
    assert [bool(late) for _, late in asked] == [False] * 3 + [True] * 4
    assert content.count('id="gate"') == 1
    assert content.index('id="gate"') < content.index('data-variable="sensitivity"')
    assert content.count("data-filter") == 1
    assert "Asked on" in content
    assert "3 May 2024" in content


def test_a_campaigns_own_categories_do_not_get_tandems_meanings(tmp_path: Path) -> None:
    content = typing(tmp_path, categories=("health", "Ärger & <b>mehr</b>"))
    assert "Ärger &amp; &lt;b&gt;mehr&lt;/b&gt;" in content
    assert TOPICS["health"] not in content
    assert "data-filter" not in content


def test_without_a_gate_nothing_waits(tmp_path: Path) -> None:
    content = typing(tmp_path, variables=("complexity", "category"))
    assert 'id="gate"' not in content
    assert "data-if" not in content
    assert content.count("data-filter") == 1


def test_every_default_category_is_described_once() -> None:
    assert len(TOPICS) == len(set(TOPICS.values())) == 25
    assert all(meaning.strip() for meaning in TOPICS.values())


def test_a_guideline_names_variables_by_the_pages_questions(tmp_path: Path) -> None:
    """A name such as `false_premise` is on no button, and is English in every language."""
    asked = schema(study_of("question-typing", tmp_path).campaign)
    text = "- **valid**: **yes** or **no**.\n- **false_premise** (falsch): **no**.\n"
    text += "\nfalse_premise **no**"
    assert with_button_words(text, asked, {}) == (
        "- **Is the question valid?** (valid): **Yes** or **No**.\n"
        "- **Does it rest on a false premise?** (falsch): **No**.\n\nfalse premise **No**"
    )


def test_a_guideline_shows_codes_with_their_button_words(tmp_path: Path) -> None:
    asked = schema(study_of("answer-rating", tmp_path).campaign)
    text = with_button_words("From **1** (no) to **4** (yes, all of it).", asked, {})
    assert text == "From **1 – no** to **4 – yes** (yes, all of it)."
