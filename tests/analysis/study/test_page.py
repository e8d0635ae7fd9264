"""The page of a study: its chain with counts, why parts were left out, and who does what next."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from django.urls import reverse

from analysis.models import Study
from annotation.models import Campaign, Look, User
from datasets.models import Batch, Team
from tests.analysis.study.test_chain import CHAIN, DROPPED, POINTS, chain, verified
from tests.api.cast import script_of
from tests.cast import run, write_lines
from tests.page_cast import client_of

__all__ = ["chain"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(db: None) -> User:
    user = User.objects.create_user("rita", role=User.Role.RESEARCHER)
    assert user.teams.exists()
    return user


def applied(chain: Path) -> Study:
    # One person who is asked about recall has not answered yet.
    text = CHAIN.replace('"recall.jsonl"]', '"recall.jsonl"]\nraters_per_item = 2')
    text = text.replace("protocol =", 'pool = "open"\nprotocol =')
    (chain / "study.toml").write_text(text, "utf-8")
    with pytest.raises(Exception, match="People give"):
        run("apply_study", chain)
    return Study.objects.get()


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_each_number_links_to_the_list_behind_it(chain: Path, rita: User) -> None:
    study, client = applied(chain), client_of(rita)
    page = client.get(reverse("study", args=[study.pk])).content.decode()
    text = text_of(page)
    assert f"Key points in: {len(POINTS)} → out: {len(POINTS) - 1}" in text
    assert "1 not grounded" in text
    assert "</a> answers by people" in page
    assert "Verified key points from verify, decided by the Reference" in text
    out = re.search(r'href="([^"]+left-out/\?reason=not\+grounded)"', page)
    assert out
    assert DROPPED in client.get(out[1]).content.decode()
    for address in set(re.findall(r'class="(?:held|kept)?"? ?href="([^"#]+)"', page)):
        assert client.get(address).status_code == 200, address
    assert Look.objects.filter(user=rita, kind="derived").exists()


def test_the_page_says_who_has_to_do_what_next(chain: Path, rita: User) -> None:
    study, client = applied(chain), client_of(rita)
    place = reverse("study", args=[study.pk])
    step = client.get(place).context["chain"].steps[0]
    assert (step.who, step.action) == ("people", "My work")
    assert "in campaign 'recall'" in step.what
    more = write_lines(chain / "more.jsonl", verified("ben", "disagree"))
    run("import_labels", more, "--campaign", "verify")
    steps = client.get(place).context["chain"].steps
    assert "Batch points is behind: 4 units have other labels" in steps[0].what
    assert client.get(steps[0].address).status_code == 200
    text = study.text + '\n[batch.later]\nrule = "reports"\nfrom = ["answers"]\n'
    text += '\n[campaign.answers]\nprotocol = "grounded-answer"\nbatch = "points"\n'
    Study.objects.update(text=text)
    cards = {card.name: card for card in client.get(place).context["chain"].cards}
    assert (cards["answers"].state, cards["later"].state) == ("missing", "blocked")
    assert cards["later"].how.startswith("after campaign answers: derive it by reports")


def test_cards_link_to_what_begins_there_and_the_first_page_is_one_click_away(
    chain: Path, rita: User
) -> None:
    study, client = applied(chain), client_of(rita)
    cards = {
        card.name: {link.label: link.address for link in card.links}
        for card in client.get(reverse("study", args=[study.pk])).context["chain"].cards
    }
    assert list(cards["points"]) == ["New campaign"]
    assert list(cards["recall"])[:4] == ["Results", "Disagreements", "Add people", "Run a judge"]
    for links in cards.values():
        for address in links.values():
            assert client.get(address).status_code == 200, address
    Campaign.objects.filter(name="recall").update(is_open=False)
    page = client.get(reverse("study", args=[study.pk])).content.decode()
    assert 'Run a judge<span class="sr"> over verify</span>' in page
    assert "over recall</span>" not in page


def test_a_chain_created_by_hand_is_drawn_from_its_lineage(chain: Path, rita: User) -> None:
    study = applied(chain)
    study.delete()
    client, points = client_of(rita), Batch.objects.get(name="points")
    assert client.get("/", follow=True).redirect_chain[-1][0].endswith("/chain/")
    page = client.get(reverse("batch-chain", args=[points.pk]))
    assert [card.name for card in page.context["chain"].cards] == [
        "documents", "verify", "points", "recall",
    ]  # fmt: skip
    # If there are many campaigns, the page shows the latest, and the API returns all.
    with patch("analysis.study_pages.views.MOST_CAMPAIGNS", 1):
        short = client.get(reverse("batch-chain", args=[points.pk]))
    assert [card.name for card in short.context["chain"].cards] == ["documents", "points", "recall"]
    assert "1 earlier one among" in short.content.decode()
    found = script_of(rita).get(f"batches/{points.pk}/chain/").json()
    assert found["links"][1]["batch"]["flows"][0]["left_out"] == {"not grounded": 1}


def test_a_single_study_is_the_first_page_of_its_own_team_only(chain: Path, rita: User) -> None:
    study = applied(chain)
    client = client_of(rita)
    assert client.get("/", follow=True).redirect_chain[-1][0] == f"/studies/{study.pk}/"
    assert study.name in client.get(reverse("studies")).content.decode()
    assert script_of(rita).get("studies/").json()["results"][0]["name"] == "chain"
    olga = User.objects.create_user("olga", role=User.Role.RESEARCHER)
    Team.objects.create(name="other").members.create(user=olga, role="owner")
    olga.teams.exclude(team__name="other").delete()
    assert client_of(olga).get(reverse("study", args=[study.pk])).status_code == 404
    assert client_of(olga).get("/", follow=True).redirect_chain[-1][0] == "/campaigns/"


def test_a_reader_with_an_open_item_sees_no_reasons(chain: Path, rita: User) -> None:
    study = applied(chain)
    client, verify = client_of(rita), Campaign.objects.get(name="verify")
    verify.items.update(quota=5)
    client.post(reverse("take-next", args=[verify.pk]))
    text = text_of(client.get(reverse("study", args=[study.pk])).content.decode())
    assert "not grounded" not in text
    assert "You have an open item in verify" in text
