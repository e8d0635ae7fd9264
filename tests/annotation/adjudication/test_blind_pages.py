"""What adjudicators see of answers whose systems must stay hidden."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from django.urls import reverse

from annotation.answers.submission import submit
from annotation.models import Assignment, Decision, Rater, Unit, User
from annotation.people.membership import add_member
from annotation.presentation import present, schema
from tandem.protocols.base import name_units
from tests.annotation.adjudication.cast import REASON
from tests.annotation.adjudication.test_pages import opinions_on
from tests.blind_cast import SECRET, TEXTS, blind_study
from tests.page_cast import Study, client_of

pytestmark = pytest.mark.django_db


class TestBlindAnswers:
    """Answers whose ids name their systems."""

    def disputed(self, protocol: str, folder: Path) -> tuple[Study, list[Unit], User]:
        """Two raters who gave the first and the last code of everything; each item's first unit."""
        study = blind_study(protocol, folder)
        asked = schema(study.campaign)
        items = list(study.campaign.items.order_by("position"))
        for name, place in (("one", 0), ("two", -1)):
            rater = Rater.objects.create(name=f"{SECRET}-{name}")
            for item in items:
                units = name_units(present(item).units)
                made = Assignment.objects.create(item=item, rater=rater, asked=list(units))
                answer = {
                    key: {v.name: v.codes[place] for v in asked.variables_of(unit.kind)}
                    for key, unit in units.items()
                }
                submit(made, {"units": answer, "comment": None}, "api")
        dora = User.objects.create(username="dora", role="annotator")
        add_member(study.campaign, dora, "adjudicator")
        return study, [item.units.order_by("position")[0] for item in items], dora

    @pytest.mark.parametrize("protocol", ["answer-preference", "answer-rating"])
    def test_a_dispute_page_names_no_system(self, protocol: str, tmp_path: Path) -> None:
        study, (unit, *_), dora = self.disputed(protocol, tmp_path)
        client = client_of(dora)
        page = client.get(reverse("adjudication-unit", args=[study.campaign.pk, unit.pk]))
        bodies = [page.content]
        bodies.append(client.get(reverse("adjudication", args=[study.campaign.pk])).content)
        fields = {"unit-0": "u0", "comment": REASON, "seen": 0}
        place = reverse("decide", args=[study.campaign.pk, unit.pk])
        bodies.append(client.post(place, fields).content)
        for variable in schema(study.campaign).variables_of(unit.kind):
            fields[f"unit-0-{variable.name}"] = variable.codes[0]
        stored = client.post(place, fields)
        assert stored.status_code == 200
        bodies += [stored.content, client.post(place, {**fields, "comment": "x"}).content]
        decided = reverse("adjudication", args=[study.campaign.pk]) + "?state=decided"
        bodies.append(client.get(decided).content)
        assert b'class="outcome"' in bodies[-1]
        for body in bodies:
            assert SECRET not in html.unescape(body.decode())

    def test_a_guessed_id_is_refused_like_an_unknown_one(self, tmp_path: Path) -> None:
        study, (unit, *_), dora = self.disputed("answer-rating", tmp_path)
        place, client = reverse("decide", args=[study.campaign.pk, unit.pk]), client_of(dora)
        responses = [
            client.post(place, {"unit-0": name, "unit-1": name, "comment": REASON, "seen": 0})
            for name in (unit.name, "no-system-at-all")
        ]
        assert [answer.status_code for answer in responses] == [422, 422]
        assert responses[0].json() == responses[1].json()

    def test_the_code_first_means_the_answer_shown_first(self, tmp_path: Path) -> None:
        study, units, dora = self.disputed("answer-preference", tmp_path)
        client, turned = client_of(dora), set()
        for unit in units:
            place = [study.campaign.pk, unit.pk]
            page = client.get(reverse("adjudication-unit", args=place)).content.decode()
            first, second = (
                html.unescape(page).index(text[:20])
                for key, text in TEXTS.items()
                if key in unit.key
            )
            said = {each["preferred"] for each in opinions_on(html.unescape(page)).values()}
            fields = {"unit-0": "u0", "unit-0-preferred": "first", "comment": REASON, "seen": 0}
            assert client.post(reverse("decide", args=place), fields).status_code == 200
            (label,) = Decision.objects.get(unit=unit).response.labels.all()
            assert label.value == ("first" if first < second else "second")
            # One rater preferred the batch's first answer, and the other called it a tie.
            assert said == {"first" if first < second else "second", "tie-bad"}
            turned.add(first > second)
        assert turned == {True, False}
        # The list of decisions shows each unit as its page did.
        decided = reverse("adjudication", args=[study.campaign.pk]) + "?state=decided"
        shown = re.sub(r"<[^>]+>", "", client.get(decided).content.decode())
        lines = re.findall(r"Decided: (.+?) people: (.+?) ×1, (.+?) ×1by you", shown)
        assert [word for word, *_ in lines] == ["The first"] * len(units)
        assert all(len({one, other} & {"The first", "The second"}) == 1 for _, one, other in lines)
