"""Gold and practice items: mixed in or first, never in agreement, never revealed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from analysis.campaigns.reports import campaign_report
from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.gold.scoring import (
    Score,
    compare_with_gold,
    count_gold_to_come,
    count_remaining_gold,
    is_gold_turn,
    is_ready,
    practice_score,
    score,
    scores,
    scores_of_begun,
)
from annotation.models import (
    Admission,
    Assignment,
    Campaign,
    GoldAnswer,
    Item,
    Rater,
    rater_of,
)
from annotation.people.membership import end_membership
from annotation.presentation import present
from tandem.labels.selection import ReportOptions
from tests.api.cast import assert_error, place, script_of
from tests.cast import Line, campaign_of, exported, load, run, write_lines
from tests.page_cast import Study, client_of, page, study_of

LONGEST_REASON = 2000
MANY = 1000

REPORTS = 12


def query(n: int) -> Line:
    return {
        "id": f"q{n}",
        "text": "Is it so?",
        "questions": [{"id": f"q{n}:a", "text": "When?"}, {"id": f"q{n}:b", "text": "Who?"}],
        "reports": [{"id": f"r{n}", "text": f"It is so {n}.", "system": "one"}],
    }


@pytest.fixture
def folder(db: None, tmp_path: Path) -> Path:
    load(tmp_path, [query(n) for n in range(REPORTS)])
    return tmp_path


def known(folder: Path, *items: int, code: str = "no", **more: Any) -> Path:
    lines = [
        {"item": f"r{n}", "unit": f"q{n}:{x}", "variable": "answerable", "value": code,
         "rater": "judge of it", **more}
        for n in items
        for x in "ab"
    ]  # fmt: skip
    return write_lines(folder / "known.jsonl", lines)


def set_known(path: Path, use: str, name: str = "c") -> str:
    return run("set_known", path, "--campaign", name, "--use", use)


def rater(name: str) -> Rater:
    return Rater.objects.get_or_create(name=name)[0]


def answer(assignment: Assignment, code: str = "no") -> None:
    said: dict[str, Any] = {"answerable": code, "evidence": []}
    if code == "yes":
        said["evidence"] = [{"quote": "It is", "start": 0}]
    units = {name: dict(said) for name in assignment.asked}
    submit(assignment, {"units": units, "comment": None}, "page")
    assignment.refresh_from_db()


def work(campaign: Campaign, who: Rater, codes: Mapping[str, str] | None = None) -> list[Item]:
    """Answer every item a person gets, with `codes` or else no; return the items in order."""
    got = []
    while (held := next_assignment(campaign, who)) is not None:
        answer(held, (codes or {}).get(held.item.key, "no"))
        got.append(held.item)
    return got


class TestTurns:
    def test_one_item_of_each_run_is_gold(self) -> None:
        for every in (2, 5, 10):
            turns = [is_gold_turn(3, "ann", n, every) for n in range(10 * every)]
            runs = [sum(turns[n : n + every]) for n in range(0, len(turns), every)]
            assert runs == [1] * 10

    def test_each_person_gets_gold_items_at_other_positions(self) -> None:
        places = {
            name: [n for n in range(100) if is_gold_turn(0, name, n, 10)]
            for name in ("ann", "bo", "cy")
        }
        assert len({tuple(each) for each in places.values()}) == 3

    def test_no_gold_comes_if_none_is_set(self) -> None:
        assert not any(is_gold_turn(0, "ann", n, 0) for n in range(20))
        assert count_gold_to_come(0, "ann", 0, 0, 5, 5) == 0

    @pytest.mark.every_case
    @pytest.mark.parametrize("every", [2, 3, 7])
    @pytest.mark.parametrize("others", [0, 1, 4, 9, 30])
    def test_the_predicted_number_of_gold_items_matches_what_comes(
        self, every: int, others: int
    ) -> None:
        for number in range(9):
            for gold in (0, 1, 3, 20):
                left, came, at = others, 0, number
                while left:
                    if is_gold_turn(1, "ann", at, every) and came < gold:
                        came += 1
                    else:
                        left -= 1
                    at += 1
                assert count_gold_to_come(1, "ann", number, every, gold, others) == came


class TestGold:
    def test_gold_items_leave_the_study_and_go_to_everybody(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--gold-every", "3")
        assert "4 gold answers to 2 gold items" in set_known(known(folder, 2, 5), "gold")
        gold = campaign.items.filter(use="gold")
        assert set(gold.values_list("key", "quota")) == {("r2", MANY), ("r5", MANY)}
        campaign.refresh_from_db()
        first, second = work(campaign, rater("ann")), work(campaign, rater("bo"))
        assert {item.key for item in first} == {f"r{n}" for n in range(REPORTS)}
        assert [item.key for item in second] == []

    def test_gold_items_are_not_recognisable(self, tmp_path: Path, db: None) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(4)])
        path = known(tmp_path, 1, meta={"reason": "planted-reason"})
        set_known(path, "gold", "Study")
        Campaign.objects.update(gold_every=2)
        study.campaign.refresh_from_db()
        client, contents = client_of(study.ada), []
        while (held := next_assignment(study.campaign, _rater_of(study))) is not None:
            addresses = (page("item", held), "/tasks/", page("progress", held))
            contents += [(held.item.use, client.get(each).content.decode()) for each in addresses]
            answer(held)
            assert client.get(page("feedback", held)).status_code == 404
            contents.append((held.item.use, client.get(page("item", held)).content.decode()))
        assert {use for use, _ in contents} == {"study", "gold"}
        assert not any("gold" in text or "planted" in text for _, text in contents)
        assert not any("Practice" in text for _, text in contents)

    def test_totals_do_not_reveal_gold_items(self, tmp_path: Path, db: None) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(9)])
        set_known(known(tmp_path, 0, 4, 7), "gold", "Study")
        Campaign.objects.update(gold_every=3)
        study.campaign.refresh_from_db()
        client, totals = client_of(study.ada), []
        while (held := next_assignment(study.campaign, _rater_of(study))) is not None:
            totals.append(_total(client.get(page("progress", held)).content.decode()))
            answer(held)
        assert set(totals) == {len(totals)}

    def test_gold_items_are_left_out_of_agreement_and_exports(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--raters-per-item", "2", "--gold-every", "2")
        set_known(known(folder, 2, 5), "gold")
        campaign.refresh_from_db()
        for name in ("ann", "bo"):
            work(campaign, rater(name), {"r2": "yes"})
        report = campaign_report(campaign, ReportOptions(resamples=2))
        assert report["variables"]["answerable"]["agreement"]["units"] == 2 * (REPORTS - 2)
        assert report["inputs"]["labels"] == 2 * 2 * (REPORTS - 2)
        lines = exported("c", "labels")
        assert {line["item"] for line in lines}.isdisjoint({"r2", "r5"})

    @pytest.mark.postgresql
    def test_overviews_count_first_answers_to_gold_items(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--gold-every", "2")
        set_known(known(folder, 2, 5), "gold")
        campaign.refresh_from_db()
        ann, bo = rater("ann"), rater("bo")
        work(campaign, ann, {"r2": "yes"})
        result = score(campaign, ann, "gold")
        assert (result.right, result.asked) == (2, 4)
        for code in ("no", "yes", "no"):
            answer(Assignment.objects.get(item__key="r2"), code)
        both = (ann.pk, bo.pk)
        assert scores(campaign, both, "gold") == {ann.pk: result, bo.pk: Score(0, 2, 0, 0)}
        assert scores_of_begun(campaign, both, "gold") == {ann.pk: result}
        assert score(campaign, bo, "gold") == Score(0, 2, 0, 0)

    def test_answers_to_repeats_and_to_parts_of_an_item_do_not_count(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--gold-every", "2")
        set_known(known(folder, 2), "gold")
        campaign.refresh_from_db()
        ann, item = rater("ann"), campaign.items.get(key="r2")
        names = list(item.units.order_by("position").values_list("name", flat=True))
        asked = {"item": item, "rater": ann, "asked": names}
        answer(Assignment.objects.create(replicate=1, **asked))
        answer(Assignment.objects.create(scope=names[0], **asked))
        none = Score(0, 1, 0, 0)
        assert score(campaign, ann, "gold") == none
        assert scores(campaign, [ann.pk], "gold") == {ann.pk: none}
        assert scores_of_begun(campaign, [ann.pk], "gold") == {}

    def test_only_asked_gold_answers_are_checked(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--gold-every", "2")
        set_known(known(folder, 2), "gold")
        campaign.refresh_from_db()
        ann, item = rater("ann"), campaign.items.get(key="r2")
        answer(Assignment.objects.create(item=item, rater=ann, asked=["q2:b"]), "yes")
        result = Score(1, 1, 0, 1)
        assert score(campaign, ann, "gold") == result
        assert scores(campaign, [ann.pk], "gold") == scores_of_begun(campaign, [ann.pk], "gold")
        assert scores_of_begun(campaign, [ann.pk], "gold") == {ann.pk: result}

    def test_answered_gold_items_do_not_come_again(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--gold-every", "2")
        set_known(known(folder, 2, 5), "gold")
        campaign.refresh_from_db()
        ann = rater("ann")
        before = count_remaining_gold(campaign, ann, 10)
        assert before == (0, 2)
        had = Assignment.objects.create(item=campaign.items.get(key="r2"), rater=ann, asked=[])
        assert count_remaining_gold(campaign, ann, 10) == (0, 1)
        Assignment.objects.filter(pk=had.pk).update(status="cancelled", reason="expired")
        assert count_remaining_gold(campaign, ann, 10) == (0, 2)
        assert count_remaining_gold(campaign, rater("bo"), 10) == (0, 2)

    def test_a_removed_person_gets_no_gold_items(self, tmp_path: Path, db: None) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(4)])
        set_known(known(tmp_path, 1), "gold", "Study")
        Campaign.objects.update(gold_every=2)
        study.campaign.refresh_from_db()
        assert next_assignment(study.campaign, _rater_of(study))
        end_membership(study.campaign, study.ada)
        assert next_assignment(study.campaign, _rater_of(study)) is None

    def test_feedback_compares_the_first_answer_even_after_a_revision(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage", "--gold-every", "2")
        set_known(known(folder, 2), "gold")
        campaign.refresh_from_db()
        work(campaign, rater("ann"), {"r2": "yes"})
        mended = Assignment.objects.get(item__key="r2")
        answer(mended, "no")
        assert [(each.answer, each.gold) for each in compare_with_gold(mended)] == [
            ("yes", "no")
        ] * 2

    def test_gold_items_have_no_counted_slots(self, folder: Path) -> None:
        campaign_of("report-coverage")
        set_known(known(folder, 2), "gold")
        from annotation.progress.counts import with_counts

        row: Any = with_counts(Campaign.objects.all()).get()
        assert (row.items_total, row.places) == (REPORTS - 1, REPORTS - 1)


def _rater_of(study: Study) -> Rater:
    from annotation.models import rater_of

    return rater_of(study.ada)


def _total(html: str) -> int:
    found = re.search(r'max="(\d+)"', html)
    assert found is not None
    return int(found[1])


class TestPractice:
    @pytest.fixture
    def campaign(self, folder: Path) -> Campaign:
        campaign = campaign_of("report-coverage", "--raters-per-item", "2", "--qualify", "0.75")
        set_known(known(folder, 3, 6, meta={"reason": "It says so."}), "practice")
        campaign.refresh_from_db()
        return campaign

    def test_failing_the_practice_ends_the_items(self, campaign: Campaign) -> None:
        got = work(campaign, rater("ann"), {"r3": "yes"})
        assert [item.key for item in got] == ["r3", "r6"]
        assert not is_ready(campaign, rater("ann"))
        result = practice_score(campaign, rater("ann"))
        assert result is not None
        assert (result.right, result.asked) == (2, 4)

    def test_revising_a_practice_answer_does_not_change_the_score(self, campaign: Campaign) -> None:
        work(campaign, rater("ann"), {"r3": "yes"})
        answer(Assignment.objects.get(item__key="r3"), "no")
        assert next_assignment(campaign, rater("ann")) is None

    def test_a_researcher_may_admit_a_person_who_failed(self, campaign: Campaign) -> None:
        work(campaign, rater("ann"), {"r3": "yes"})
        run("admit", "ann", "--campaign", "c", "--reason", "read too fast")
        assert Admission.objects.get().reason == "read too fast"
        assert len(work(campaign, rater("ann"))) == REPORTS - 2

    def test_practice_items_are_left_out_of_agreement(self, campaign: Campaign) -> None:
        for name in ("ann", "bo"):
            work(campaign, rater(name))
        report = campaign_report(campaign, ReportOptions(resamples=2))
        assert report["variables"]["answerable"]["agreement"]["units"] == 2 * (REPORTS - 2)


class TestFeedback:
    def test_feedback_shows_gold_answers_only_after_answering(
        self, tmp_path: Path, db: None
    ) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(3)])
        set_known(known(tmp_path, 1, meta={"reason": "It says so."}), "practice", "Study")
        study.campaign.refresh_from_db()
        held, client = study.assignment(study.ada), client_of(study.ada)
        assert held.item.key == "r1"
        assert "<b>Practice.</b>" in client.get(page("item", held)).content.decode()
        assert client.get(page("feedback", held)).status_code == 404
        form = {"version": "0", "seen": "0", "key": "8a3c7a1e-5f6b-4f0a-9a57-3f0f7d1b1a11"}
        for n, (name, code) in enumerate(zip(held.asked, ("no", "invalid"), strict=True)):
            form |= {f"unit-{n}": name, f"unit-{n}-answerable": code, f"unit-{n}-evidence": "[]"}
        reply = client.post(page("submit", held), form).json()
        assert reply["next"] == page("feedback", held)
        assert client.post(page("submit", held), form).json() == reply, "sent again, it leads there"
        html = client.get(reply["next"]).content.decode()
        assert "1 of 2 correct" in html
        assert html.count("It says so.") == 2
        assert "Correct" in html
        assert "Incorrect" in html
        assert client_of(study.ben).get(reply["next"]).status_code == 404
        # The person has got no other item in the meantime.
        assert Assignment.objects.get(rater__user=study.ada) == held

    def test_score_and_pass_mark_are_shown_in_percent(self, tmp_path: Path, db: None) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(3)])
        set_known(known(tmp_path, 1, 2), "practice", "Study")
        Campaign.objects.update(qualify=0.85)
        study.campaign.refresh_from_db()
        work(study.campaign, rater_of(study.ada))
        done = Assignment.objects.get(item__key="r2")
        context = client_of(study.ada).get(page("feedback", done)).context
        assert (context["percent"], context["pass_mark"], context["passed"]) == (100, 85, True)
        assert context["texts"] == (("", present(done.item).texts[0]),)

    def test_the_api_gives_the_same_feedback(self, tmp_path: Path, db: None) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(3)])
        set_known(known(tmp_path, 1, meta={"reason": "It says so."}), "practice", "Study")
        Campaign.objects.update(qualify=0.5)
        study.campaign.refresh_from_db()
        held, ada = study.assignment(study.ada), script_of(study.ada)
        assert_error(ada.get(place(held, "feedback/")), 404)
        codes = zip(held.asked, ("no", "invalid"), strict=True)
        sent = {name: {"answerable": code, "evidence": []} for name, code in codes}
        assert ada.put(place(held, "response/"), {"units": sent}).status_code == 201
        reply = ada.get(place(held, "feedback/")).json()
        first, second = held.asked
        right = {"variable": "answerable", "known": "no", "reason": "It says so."}
        assert reply["answers"] == [
            {"unit": first, "said": "no", "is_right": True} | right,
            {"unit": second, "said": "invalid", "is_right": False} | right,
        ]
        assert reply["score"] == {"right": 1, "asked": 2, "items": 1, "of": 1}
        assert (reply["qualify"], reply["passed"]) == (0.5, True)
        assert_error(script_of(study.ben).get(place(held, "feedback/")), 404)

    def test_my_work_says_that_items_wait_for_practice(self, tmp_path: Path, db: None) -> None:
        study = study_of("report-coverage", tmp_path, lines=[query(n) for n in range(3)])
        set_known(known(tmp_path, 1), "practice", "Study")
        Campaign.objects.update(qualify=0.8)
        html = client_of(study.ada).get("/tasks/").content.decode()
        assert "0 of 3 · 2 waiting" in html
        assert "2 items wait for the practice to be passed with 80% correct" in html


class TestRefusals:
    def said(self, path: Path, use: str = "gold") -> str:
        with pytest.raises(CommandError) as error:
            set_known(path, use)
        assert not GoldAnswer.objects.exists()
        return str(error.value)

    def test_two_gold_answers_to_one_question_are_refused(self, folder: Path) -> None:
        campaign_of("report-coverage")
        line = {"item": "r1", "unit": "q1:a", "variable": "answerable", "value": "no"}
        lines = [{**line, "rater": "a"}, {**line, "value": "yes", "rater": "b"}]
        path = write_lines(folder / "two.jsonl", lines)
        assert "known in two ways; keep one, or name a rater" in self.said(path)
        assert "1 gold answers" in run(
            "set_known", path, "--campaign", "c", "--use", "gold", "--rater", "b"
        )
        assert GoldAnswer.objects.get().value == "yes"

    def test_gold_answers_of_other_items_are_kept(self, folder: Path) -> None:
        campaign = campaign_of("report-coverage")
        set_known(known(folder, 1, 2), "gold")
        other = campaign_of("report-coverage", name="other")
        set_known(known(folder, 1, code="yes"), "gold", "other")
        set_known(known(folder, 2, code="invalid"), "practice")
        answers = GoldAnswer.objects.values_list("unit__item__campaign", "unit__item__key", "value")
        assert set(answers) == {
            (campaign.pk, "r1", "no"), (campaign.pk, "r2", "invalid"), (other.pk, "r1", "yes"),
        }  # fmt: skip
        uses = Item.objects.filter(key__in=("r1", "r2")).order_by("campaign", "key")
        assert list(uses.values_list("use", flat=True)) == ["gold", "practice", "gold", "study"]

    def test_a_line_without_a_value_and_an_unknown_rater_are_refused(self, folder: Path) -> None:
        campaign_of("report-coverage")
        line = {"item": "r1", "unit": "q1:a", "variable": "answerable", "missing": "refused",
                "rater": "a"}  # fmt: skip
        path = write_lines(folder / "none.jsonl", [line])
        assert "a gold answer needs a value" in self.said(path)
        with pytest.raises(CommandError, match="there is no label by 'b'"):
            run("set_known", path, "--campaign", "c", "--use", "gold", "--rater", "b")

    def test_a_reason_is_cut_to_its_maximum_length(self, folder: Path) -> None:
        campaign_of("report-coverage")
        long = "x" * (LONGEST_REASON + 1)
        set_known(known(folder, 1, meta={"reason": long}), "gold")
        assert set(GoldAnswer.objects.values_list("reason", flat=True)) == {long[:-1]}
        set_known(known(folder, 1, meta={"reason": 7}), "gold")
        assert set(GoldAnswer.objects.values_list("reason", flat=True)) == {""}

    def test_practice_of_a_campaign_without_practice_is_refused(self, folder: Path) -> None:
        campaign_of("report-coverage")
        with pytest.raises(CommandError, match="'c' has no practice items"):
            campaign_of("report-coverage", "--practice-of", "c", name="d")


def test_a_labels_export_can_be_used_as_gold_answers(folder: Path) -> None:
    first = campaign_of("report-coverage", name="first")
    work(first, rater("ann"))
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(x) + "\n" for x in exported("first", "labels")), "utf-8")
    campaign_of("report-coverage")
    assert "24 gold answers to 12 gold items" in set_known(path, "gold")
