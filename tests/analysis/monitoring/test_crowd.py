"""People's agreement with each other while they work, person by person, and flags."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.core.cache import caches
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from statsmodels.stats.inter_rater import cohens_kappa

from analysis.monitoring.agreement import (
    NO_OTHERS,
    NOBODY,
    ONE_CATEGORY,
    VariableLabels,
    WithOthers,
    newest_labels,
    with_others,
)
from analysis.monitoring.flags import (
    _is_far_off,
    flag_low_kappa,
    flag_one_sided,
    longest_run,
    quality,
)
from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Campaign, Label, Rater, rater_of
from annotation.people.membership import exclude
from annotation.progress.flags import Flag
from tests.api.cast import assert_error, script_of
from tests.cast import run
from tests.page_cast import Study, client_of, make_study, payload

CODES = {"y": 0, "n": 1, ".": -1}
NAMES = {1: "ann", 2: "bo", 3: "cy", 4: "di"}


def codes_of(*columns: str) -> Any:
    """Codes (U, R) from a string for each rater."""
    return np.array([[CODES[code] for code in column] for column in columns], np.int64).T


def compared(*columns: str, out: tuple[int, ...] = (), clusters: Any = None) -> list[WithOthers]:
    codes = codes_of(*columns)
    queries = np.arange(len(codes)) if clusters is None else clusters
    raters = list(range(1, codes.shape[1] + 1))
    return with_others(raters, codes, queries, 2, values=None, out=out)


class TestAgreement:
    def test_two_people_have_their_kappa_and_their_share(self) -> None:
        ann, bo = compared("yynnyynynn.", "ynnnyyyynny")
        assert ann.units == bo.units == 10
        assert ann.percent.value == bo.percent.value == 0.8
        # Both say yes 4 times, both no 4 times, and each says yes alone once.
        expected = cohens_kappa(np.array([[4, 1], [1, 4]]), return_results=False)
        assert ann.kappa.value == pytest.approx(expected)
        assert bo.kappa.value == pytest.approx(ann.kappa.value)
        assert ann.others.value is None
        assert ann.others.reason == NO_OTHERS

    def test_agreement_of_three_people_is_that_worked_by_hand(self) -> None:
        # Ann agrees with 2, 1, 0 and 1 of the others; both of these agree on units 0 and 2.
        ann, _, _ = compared("yyyn", "yynn", "ynny")
        assert ann.percent.value == pytest.approx((1 + 0.5 + 0 + 0.5) / 4)
        # Pairs: y-y 3, y-n 3, n-n 1, n-y 1 of 8; expected (6 * 4 + 2 * 4) / 64 = 1/2.
        assert ann.kappa.value == pytest.approx((4 / 8 - 1 / 2) / (1 - 1 / 2))
        # The others, each pair in both orders: y-y 2, n-n 2, y-n 2, n-y 2: half, as by chance.
        assert ann.others.value == pytest.approx(0.0)
        assert ann.others.n == 4

    def test_ranks_far_apart_weigh_more(self) -> None:
        rows = np.array([[0, 0], [1, 2], [2, 2], [3, 0], [1, 1]])
        ann, _ = with_others([1, 2], rows, np.arange(5), 4, values=np.arange(4.0))
        table = np.zeros((4, 4))
        np.add.at(table, (rows[:, 0], rows[:, 1]), 1)
        expected = cohens_kappa(table, wt="quadratic", return_results=False)
        assert ann.kappa.value == pytest.approx(expected)
        assert "quadratic" in ann.kappa.method
        far = np.array([0.0, 1, 2, 9])
        ann, _ = with_others([1, 2], rows, np.arange(5), 4, values=far)
        expected = cohens_kappa(table, far, wt="quadratic", return_results=False)
        assert ann.kappa.value == pytest.approx(expected)

    def test_an_excluded_person_is_compared_with_others_but_never_the_reverse(self) -> None:
        ann, bo, cy = compared("yynn", "yynn", "nnyy", out=(3,))
        assert (ann.percent.value, bo.percent.value) == (1.0, 1.0)
        assert cy.percent.value == 0.0
        assert (cy.others.value, ann.others.value) == (1.0, None)

    def test_undefined_agreement_is_null_with_a_reason(self) -> None:
        ann, bo = compared("yy..", "..yn")
        assert (ann.units, ann.percent.value, ann.percent.reason) == (0, None, NOBODY)
        assert (bo.kappa.value, bo.kappa.reason) == (None, NOBODY)
        ann, _ = compared("yyyy", "yyyy")
        assert (ann.kappa.value, ann.kappa.reason) == (None, ONE_CATEGORY)

    def test_the_interval_resamples_whole_queries(self) -> None:
        columns = "yn" * 12, "yy" * 12
        many, _ = compared(*columns)
        assert many.percent.low is not None
        few, _ = compared(*columns, clusters=np.arange(24) // 12)
        assert few.percent.value == 0.5
        assert few.percent.low is None


def low_kappas(of: VariableLabels) -> list[Flag]:
    def among(out: Collection[int]) -> list[WithOthers]:
        return with_others(of.raters, of.codes, of.queries, 2, values=None, out=out)

    return list(flag_low_kappa(of, among(()), NAMES, among))


def said(*columns: str, escape: bool = False) -> VariableLabels:
    codes = codes_of(*columns)
    labels = np.arange(codes.size).reshape(codes.shape) + 1
    values = ["yes", "invalid" if escape else "no"]
    units = np.arange(len(codes))
    return VariableLabels("v", values, list(NAMES)[: codes.shape[1]], units, codes, labels, units)


def standing_out(of: VariableLabels, *out: int) -> list[Flag]:
    return list(flag_one_sided(of, ("invalid",), NAMES, out))


MIXED = "yynnynnyynynynnyynynyynn"


class TestFlags:
    def test_a_person_who_always_gives_one_answer_is_flagged(self) -> None:
        (found,) = standing_out(said("y" * 24, MIXED, MIXED))
        assert (found.code, found.name) == ("one_answer", "ann")
        assert found.text == (
            "“yes” on 24 of 24 units. On the same units the others gave it in 24 of 48 labels."
        )
        assert found.labels == {"variable": "v", "value": "yes"}

    def test_a_constant_answer_is_not_flagged_if_others_give_it_too(self) -> None:
        assert standing_out(said("y" * 24, "y" * 24, "y" * 23 + "n")) == []

    def test_one_deviating_person_does_not_make_others_stand_out(self) -> None:
        found = standing_out(said("y" * 24, "y" * 24, "n" * 24, escape=True))
        assert {(each.code, each.name) for each in found} == {
            ("one_answer", "cy"),
            ("escapes", "cy"),
        }

    def test_few_labels_raise_no_flag(self) -> None:
        assert standing_out(said("y" * 19, MIXED[:19], MIXED[:19])) == []
        alone = "y" * 10 + "." * 14
        assert standing_out(said("y" * 24, alone, "." * 24)) == []

    def test_a_long_run_of_one_answer_is_flagged(self) -> None:
        (found,) = standing_out(said("nnyn" + "y" * 15 + "nynnn", MIXED, MIXED))
        assert (found.code, found.name) == ("in_a_row", "ann")
        assert "“yes” 15 times in a row" in found.text
        # The labels of the first rater of two others are numbered 1, 4, 7 and so on.
        assert found.labels == {"variable": "v", "first": "13", "last": "55"}

    def test_a_run_is_counted_in_the_order_of_answering(self) -> None:
        of = said("nnyn" + "y" * 15 + "nynnn", MIXED, MIXED)
        shuffled = np.argsort(np.tile([1, 0, 2], 8)[:24], kind="stable")
        of.labels[:, 0] = of.labels[shuffled, 0]
        assert standing_out(of) == []

    def test_a_person_who_skips_far_more_often_than_others_is_flagged(self) -> None:
        (found,) = standing_out(said("y" * 18 + "n" * 6, "y" * 24, "y" * 23 + "n", escape=True))
        assert (found.code, found.labels) == ("escapes", {"variable": "v", "value": "invalid"})
        assert "“invalid” on 6 of 24 units" in found.text
        assert "1 of 48 labels" in found.text

    def test_an_excluded_person_is_no_evidence_against_others(self) -> None:
        of = said("y" * 24, MIXED, MIXED)
        assert standing_out(of, 2, 3) == []

    def test_a_person_who_agrees_far_less_than_others_is_flagged(self) -> None:
        others = MIXED * 2
        own = "".join({"y": "n", "n": "y"}[c] if n % 2 else c for n, c in enumerate(others))
        of = said(own, others, others)
        (found,) = low_kappas(of)
        assert (found.code, found.name) == ("apart", "ann")
        assert "on 48 units. The others have 1.00 with each other" in found.text
        assert found.labels == {"of": "others", "variable": "v"}

    def test_sharing_units_only_with_a_careless_person_raises_no_flag(self) -> None:
        turned = MIXED.translate(str.maketrans("yn", "ny"))
        of = said(MIXED + "." * 48, "." * 24 + MIXED * 2, turned * 3, "." * 24 + MIXED * 2)
        agreement = with_others(of.raters, of.codes, of.queries, 2, values=None)
        far = [each.rater for each in agreement if _is_far_off(each)]
        assert [NAMES[rater] for rater in far] == ["ann", "cy"]
        assert [each.name for each in low_kappas(of)] == ["cy"]

    def test_of_two_people_neither_is_flagged_as_careless(self) -> None:
        turned = MIXED.translate(str.maketrans("yn", "ny"))
        of = said(MIXED + "." * 24, "." * 24 + MIXED, turned + "." * 24, "." * 24 + MIXED)
        assert [each.name for each in low_kappas(of)] == ["ann", "cy"]

    def test_counts_in_flags_have_commas_and_the_protocols_noun(self) -> None:
        of = replace(said("y" * 1200, MIXED * 50, MIXED * 50), noun="questions")
        (found,) = standing_out(of)
        assert found.text == (
            "“yes” on 1,200 of 1,200 questions. On the same questions the others gave it in "
            "1,200 of 2,400 labels."
        )

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("codes", "run_"),
        [([], (0, 0)), ([1], (0, 1)), ([0, 1, 1, 0, 0], (1, 3)), ([0, 1, 1, 1], (1, 4))],
    )
    def test_the_longest_run_of_equal_answers_is_found(
        self, codes: list[int], run_: tuple[int, int]
    ) -> None:
        assert longest_run(np.array(codes, np.int64)) == run_


@pytest.fixture
def study(db: None) -> Iterator[Study]:
    """Ada and Ben agree on eight reports, Rita calls every unit senseless."""
    caches["reports"].clear()
    study = make_study(reports=8, people=3)
    for user, code in ((study.ada, "no"), (study.ben, "no"), (study.rita, "invalid")):
        for _ in range(8):
            submit(study.assignment(user), payload(code), "page")
    yield study
    caches["reports"].clear()


def of_codes(study: Study) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for hint in quality(study.campaign).hints:
        found.setdefault(hint.name, set()).add(hint.code)
    return found


class TestStoredLabels:
    def test_escapes_do_not_count_as_agreement_but_are_flagged(self, study: Study) -> None:
        rita = rater_of(study.rita)
        made = quality(study.campaign)
        own = made.agreement_of(rita.pk)["answerable"]
        assert (own.units, own.percent.value) == (0, None)
        assert own.percent.reason == "the person gave no label of a category"
        assert made.agreement_of(rater_of(study.ada).pk)["answerable"].percent.value == 1.0
        assert of_codes(study) == {rita.name: {"one_answer", "escapes"}}

    def test_an_excluded_person_no_longer_counts_in_the_agreement_of_others(
        self, study: Study
    ) -> None:
        before = quality(study.campaign).agreement_of(rater_of(study.ada).pk)["answerable"]
        exclude(study.campaign, rater_of(study.ben), "guessed")
        after = quality(study.campaign).agreement_of(rater_of(study.ada).pk)["answerable"]
        assert (before.units, after.units) == (24, 0)
        assert after.percent.reason == NOBODY

    def test_only_independent_answers_of_people_are_read(self, study: Study) -> None:
        Assignment.objects.filter(rater=rater_of(study.ada)).update(assisted_by="model")
        Rater.objects.filter(pk=rater_of(study.ben).pk).update(kind="judge", user=None)
        read = newest_labels(study.campaign)
        assert read.labels == 24
        assert list(read.variables["answerable"].raters) == [rater_of(study.rita).pk]

    def test_only_the_newest_of_many_labels_are_read(self, study: Study) -> None:
        read = newest_labels(study.campaign, most=30)
        assert (read.labels, read.is_part) == (30, True)
        newest = Label.objects.order_by("-pk").values_list("pk", flat=True)[:30]
        assert set(newest) == set(read.variables["answerable"].labels.ravel()) - {0}
        assert not newest_labels(study.campaign).is_part

    def test_the_number_of_database_queries_does_not_grow_with_people_and_items(
        self, db: None
    ) -> None:
        study = make_study(reports=20, people=10)
        counts = []
        for people, items in ((1, 1), (9, 10)):
            for n in range(people):
                who = Rater.objects.create(name=f"p {people} {n}")
                for _ in range(items):
                    held = next_assignment(study.campaign, who)
                    assert held is not None
                    submit(held, payload("no"), "page")
            with CaptureQueriesContext(connection) as captured:
                quality(study.campaign)
            counts.append(len(captured))
        assert counts[0] == counts[1] <= 14


class TestPages:
    def test_each_flag_links_to_exactly_its_labels(self, study: Study) -> None:
        client = client_of(study.root)
        page = client.get(reverse("campaign-quality", args=[study.campaign.pk]))
        assert {each["title"] for each in page.context["flags"]} == {
            "One answer nearly always",
            "Escapes far more often",
        }
        # A phone hides the heads of tables, so the variable's name has to be elsewhere too.
        assert "<caption>answerable</caption>" in page.content.decode()
        for each in page.context["flags"]:
            rows = client.get(each["labels"]).context["rows"]
            assert {row.label.value for row in rows} == {"invalid"}
            assert len(rows) == 24
            assert all(row.others == [("no", 2)] for row in rows)

    def test_a_persons_page_shows_only_their_own_part(self, study: Study) -> None:
        client = client_of(study.root)
        for user, hints in ((study.ada, 0), (study.rita, 2)):
            where = reverse("rater-quality", args=[study.campaign.pk, rater_of(user).pk])
            page = client.get(where)
            assert len(page.context["flags"]) == hints
            names = {rater_of(each).name for each in (study.ada, study.ben, study.rita)}
            text = page.content.decode()
            assert not any(name in text for name in names - {rater_of(user).name})

    def test_agreement_is_hidden_from_a_reader_with_an_open_item(self, study: Study) -> None:
        Assignment.objects.filter(rater=rater_of(study.rita)).first().delete()  # type: ignore[union-attr]
        item = study.campaign.items.first()
        assert item is not None
        Assignment.objects.get_or_create(
            item=item, rater=rater_of(study.rita), defaults={"asked": []}
        )
        Assignment.objects.filter(rater=rater_of(study.rita), item=item).update(status="open")
        client, args = client_of(study.rita), [study.campaign.pk]
        ada = rater_of(study.ada)
        for where in (
            reverse("campaign-quality", args=args),
            reverse("rater-quality", args=[*args, ada.pk]),
        ):
            text = client.get(where).content.decode()
            assert "open item" in text
            assert "labels" not in text
        assert_error(script_of(study.rita).get(f"campaigns/{args[0]}/quality/"), 403)

    def test_the_api_gives_the_same_agreement_and_flags(self, study: Study) -> None:
        answer = script_of(study.root).get(f"campaigns/{study.campaign.pk}/quality/").json()
        assert (answer["labels"], answer["is_part"]) == (72, False)
        people = {each["name"]: each for each in answer["people"]}
        rita, ada = people[rater_of(study.rita).name], people[rater_of(study.ada).name]
        assert rita["agreement"]["answerable"]["percent"]["value"] is None
        assert rita["agreement"]["answerable"]["percent"]["reason"]
        assert ada["agreement"]["answerable"]["percent"]["value"] == 1.0
        assert [each["code"] for each in rita["hints"]] == ["escapes", "one_answer"]
        assert ada["hints"] == []
        assert client_of(study.root).get(rita["hints"][0]["labels"]).status_code == 200

    def test_the_command_prints_flags_below_each_person(self, study: Study) -> None:
        Campaign.objects.update(deadline=None)
        lines = run("progress", "Pilot").splitlines()
        at = next(n for n, line in enumerate(lines) if line.startswith(rater_of(study.rita).name))
        assert "answerable kappa none (the person gave no label of a category)" in lines[at]
        assert lines[at + 1].startswith("  flag: escapes far more often (answerable): “invalid”")
