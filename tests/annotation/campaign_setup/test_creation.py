"""What a design creates from a batch: items, units, slots, samples; and what it refuses."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.campaigns.sampling import rank, share_of
from annotation.models import Campaign, Item, Unit
from annotation.presentation import present
from annotation.protocols import PROTOCOLS
from tests import cast
from tests.cast import Line, campaign_of, exported, run, write_lines

pytestmark = pytest.mark.usefixtures("batch")


@pytest.fixture
def many(db: None, tmp_path: Path) -> str:
    """A batch of 20 queries with one question and two reports each."""
    cast.load(tmp_path, map(simple, range(20)), "many")
    return "many"


def simple(n: int) -> Line:
    reports = [{"id": f"r{n}{x}", "text": "It is so.", "system": x} for x in "ab"]
    return {
        "id": f"q{n}",
        "text": "Is it?",
        "questions": [{"id": f"q{n}:0", "text": "So?"}],
        "reports": reports,
    }


def refusal(*arguments: str, protocol: str = "report-coverage", name: str = "c") -> str:
    with pytest.raises(CommandError) as error:
        campaign_of(protocol, *arguments, name=name)
    assert not Campaign.objects.filter(name=name).exists()
    assert "\n" not in str(error.value)
    return str(error.value)


def units_of(name: str = "c") -> list[tuple[str, str]]:
    found = Unit.objects.filter(item__campaign__name=name)
    return list(found.order_by("item__position", "position").values_list("item__key", "key"))


def relevance(folder: Path, *votes: tuple[str, str, str]) -> None:
    """A campaign `rel` in which raters called passages relevant or not."""
    campaign_of("grounding-relevance", name="rel")
    rows = [
        {
            "item": unit.rpartition("/")[0],
            "unit": unit,
            "variable": "relevant",
            "value": v,
            "rater": r,
        }
        for unit, r, v in votes
    ]
    run("import_labels", write_lines(folder / "rel.jsonl", rows), "--campaign", "rel")


class TestDesign:
    def test_the_command_reports_the_created_campaign(self) -> None:
        said = run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b",
                   "--raters-per-item", "2")  # fmt: skip
        assert said == "Created campaign 'c': 6 items, 14 units, 12 annotator slots.\n"

    def test_creating_the_same_campaign_again_changes_nothing(self) -> None:
        first = campaign_of("report-coverage", "--option", "variables=answerable,rating")
        items = list(Item.objects.values_list("id", flat=True))
        said = run("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b",
                   "--option", "variables=answerable,rating")  # fmt: skip
        assert said.startswith("Nothing to do: campaign 'c' exists already (6 items")
        assert list(Item.objects.values_list("id", flat=True)) == items
        assert Campaign.objects.get() == first

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        "other",
        [
            ("--raters-per-item", "2"),
            ("--overlap", "0.5"),
            ("--human-share", "0.5"),
            ("--option", "seed=1"),
            ("--option", "variables=rating"),
        ],
    )
    def test_another_design_of_the_same_name_is_refused(self, other: tuple[str, str]) -> None:
        campaign_of("report-coverage")
        with pytest.raises(CommandError, match="'c' has another design; choose a new name"):
            campaign_of("report-coverage", *other)

    def test_another_protocol_of_the_same_name_is_refused(self) -> None:
        campaign_of("report-coverage")
        with pytest.raises(CommandError, match="another design"):
            campaign_of("key-point-recall")

    def test_overlap_items_get_all_slots_and_others_one(self, many: str) -> None:
        design = ("--raters-per-item", "3", "--overlap", "0.25")
        campaign = campaign_of("report-coverage", *design, batch=many)
        quotas = list(campaign.items.values_list("quota", flat=True))
        assert (quotas.count(3), quotas.count(1)) == (10, 30)

    def test_human_share_asks_people_about_whole_queries_and_keeps_the_chance(
        self, many: str
    ) -> None:
        design = ("--human-share", "0.33", "--raters-per-item", "2")
        campaign = campaign_of("report-coverage", *design, batch=many)
        quotas: dict[str, set[int]] = {}
        for query, quota in campaign.items.values_list("query__key", "quota"):
            quotas.setdefault(query, set()).add(quota)
        assert sorted(map(tuple, quotas.values())) == [(0,)] * 13 + [(2,)] * 7
        assert set(campaign.items.values_list("probability", flat=True)) == {7 / 20}

    def test_overlap_is_a_share_of_the_items_that_people_are_asked(self, many: str) -> None:
        design = ("--human-share", "0.5", "--raters-per-item", "2", "--overlap", "0.5")
        campaign = campaign_of("report-coverage", *design, batch=many)
        quotas = list(campaign.items.values_list("quota", flat=True))
        assert [quotas.count(n) for n in (0, 1, 2)] == [20, 10, 10]

    def test_equal_seeds_give_equal_samples(self, many: str) -> None:
        drawn = {}
        for name, seed in (("one", 5), ("two", 5), ("three", 6)):
            options = ("--option", f"seed={seed}", "--human-share", "0.5")
            campaign = campaign_of("report-coverage", *options, name=name, batch=many)
            drawn[name] = set(campaign.items.filter(quota=1).values_list("key", flat=True))
        assert drawn["one"] == drawn["two"] != drawn["three"]

    def test_the_sample_can_be_recomputed_from_the_documented_rule(self) -> None:
        assert rank(0, "p", "ü").hex() == hashlib.sha256(b"0\0p\0\xc3\xbc").hexdigest()

    def test_a_share_samples_at_least_one(self) -> None:
        assert [share_of(10, x) for x in (0.0, 0.001, 0.25, 1.0)] == [0, 1, 2, 10]
        assert share_of(0, 0.5) == 0


class TestOptions:
    def test_variables_choose_what_is_asked(self) -> None:
        campaign_of("answer-rating", "--option", "variables=support")
        assert {unit["kind"] for unit in exported("c", "units")} == {"sentence"}

    def test_a_category_list_replaces_the_codes(self, tmp_path: Path) -> None:
        campaign_of("question-typing", "--option", "categories=art,sport and play")
        row = {"item": "q3", "unit": "q3", "variable": "category", "rater": "a"}
        path = write_lines(tmp_path / "l.jsonl", [row | {"value": "sport and play"}])
        assert "Imported 1 labels" in run("import_labels", path, "--campaign", "c")
        write_lines(path, [row | {"value": "transport"}])
        with pytest.raises(CommandError, match="give one of art, sport and play"):
            run("import_labels", path, "--campaign", "c")

    def test_sampled_units_are_two_per_passage_and_equal_for_all(self) -> None:
        campaign_of("rubric-passage")
        drawn = units_of()
        assert [item for item, _ in drawn].count("q/1/p") == 2
        campaign_of("rubric-passage", "--option", "sampling=shared", name="d")
        assert units_of("d") == drawn

    def test_per_passage_sets_the_number_of_sampled_units(self) -> None:
        campaign_of("rubric-passage", "--option", "per_passage=1")
        assert len(units_of()) == 4

    def test_sampling_all_asks_every_unit(self) -> None:
        campaign_of("rubric-passage", "--option", "sampling=all")
        assert len(units_of()) == 3 + 3 + 2 + 2

    def test_units_are_sampled_by_seed(self) -> None:
        found = set()
        for seed in range(6):
            name = f"c{seed}"
            options = ("--option", f"seed={seed}", "--option", "per_passage=1")
            campaign_of("rubric-passage", *options, name=name)
            found.add(tuple(units_of(name)))
        assert len(found) > 1

    def test_only_passages_called_relevant_by_the_batch_are_shown(self) -> None:
        campaign_of("grounding-relevance", "--option", "passages=relevant")
        assert [unit for _, unit in units_of()] == ["q/1/p", "q 2/p2", "q3/p3"]
        assert set(exported("c", "units")[0]["texts"]) == {"passage:p"}

    def test_only_passages_called_relevant_by_most_people_are_shown(self, tmp_path: Path) -> None:
        relevance(
            tmp_path,
            ("q/1/p", "ann", "yes"),
            ("q/1/p", "bo", "no"),
            ("q/1/p#1", "ann", "yes"),
            ("q 2/p2", "ann", "no"),
        )
        campaign_of("answer-rating", "--option", "passages=relevant:rel")
        first, second, _ = Item.objects.filter(campaign__name="c")
        assert [t.field for t in present(first).texts] == [
            "reference:1", "passage:p#1", "report:r", "report:r#1",
        ]  # fmt: skip
        assert [t.field for t in present(second).texts] == ["report:s one", "report:s/two"]

    def test_assisted_labels_decide_relevance_only_without_others(self, tmp_path: Path) -> None:
        relevance(tmp_path, ("q/1/p", "ann", "no"))
        assisted = {"item": "q/1", "variable": "relevant", "value": "yes", "assisted_by": "j"}
        rows = [
            {**assisted, "unit": unit, "rater": rater}
            for unit in ("q/1/p", "q/1/p#1")
            for rater in ("bo", "cy")
        ]
        run("import_labels", write_lines(tmp_path / "a.jsonl", rows), "--campaign", "rel")
        campaign_of("grounded-answer", "--option", "passages=relevant:rel")
        item = Item.objects.filter(campaign__name="c").first()
        assert item is not None
        assert [text.field for text in present(item).texts] == ["passage:p#1"]

    def test_later_relevance_labels_do_not_change_what_is_asked(self, tmp_path: Path) -> None:
        relevance(tmp_path, ("q/1/p", "ann", "yes"), ("q/1/p#1", "ann", "no"))
        campaign_of("grounded-answer", "--option", "passages=relevant:rel")
        before = exported("c", "units")
        rows = [
            {"item": "q/1", "unit": unit, "variable": "relevant", "value": value, "rater": "ann"}
            for unit, value in (("q/1/p", "no"), ("q/1/p#1", "yes"))
        ]
        run("import_labels", write_lines(tmp_path / "n.jsonl", rows), "--campaign", "rel")
        assert exported("c", "units") == before
        item = Item.objects.get(campaign__name="c", key="q/1")
        assert [text.field for text in present(item).texts] == ["passage:p"]


class TestRefusals:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("option", "said"),
        [
            ("variables=nope", "has no variable 'nope'; see the protocol's variables"),
            ("variables=", "option variables is a list such as a,b,c without repeats"),
            ("variables=rating,rating", "without repeats; correct it"),
            ("seed=-1", "option seed is a whole number, not '-1'"),
            ("seed=1.5", "option seed is a whole number"),
            ("seed=99999999999", "option seed is a whole number"),
            ("order=up", "option order is one of fixed, random, not 'up'"),
            ("sampling=some", "option sampling is one of own, shared, all"),
            ("sampling=shared", "option sampling does not apply to report-coverage; leave it out"),
            ("categories=a,b", "option categories does not apply to report-coverage"),
            ("passages=relevant", "option passages does not apply to report-coverage"),
            ("passages=relevantly", "option passages is all, relevant or relevant:CAMPAIGN"),
            ("passages=relevant:", "option passages is all, relevant or relevant:CAMPAIGN"),
            ("per_passage=0", "option per_passage is 0; give 1 or more"),
            (
                "colour=red",
                "option 'colour=red' is not K=V with K one of allotment, audit, categories",
            ),
            ("seed", "option 'seed' is not K=V"),
        ],
    )
    def test_an_invalid_option_is_refused(self, option: str, said: str) -> None:
        assert said in refusal("--option", option)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--raters-per-item", "-1"), "raters per item is not from 0 (judges only) to 1000"),
            (("--raters-per-item", "1001"), "raters per item is not from 0 (judges only) to 1000"),
            (("--overlap", "0"), "overlap is not above 0 and up to 1"),
            (("--overlap", "nan"), "overlap is not above 0 and up to 1"),
            (("--human-share", "1.01"), "human share is not above 0 and up to 1"),
        ],
    )
    def test_a_number_out_of_range_is_refused(self, arguments: tuple[str, str], said: str) -> None:
        assert said in refusal(*arguments)

    def test_a_repeated_option_is_refused(self) -> None:
        said = refusal("--option", "seed=1", "--option", "seed=2")
        assert "option seed is given twice; keep one" in said

    def test_passages_by_an_unknown_campaign_are_refused(self) -> None:
        said = refusal("--option", "passages=relevant:x", protocol="grounded-answer")
        assert "option passages names campaign 'x', which does not exist" in said

    def test_passages_by_a_campaign_without_relevance_are_refused(self) -> None:
        campaign_of("key-point-recall", name="other")
        said = refusal("--option", "passages=relevant:other", protocol="grounded-answer")
        assert "campaign 'other' does not ask which passages are relevant" in said

    def test_an_unknown_batch_is_refused(self) -> None:
        with pytest.raises(
            CommandError, match="There is no batch 'x'; load it with tandem batch load"
        ):
            campaign_of("report-coverage", batch="x")

    def test_a_batch_without_items_for_the_protocol_is_refused(self, many: str) -> None:
        with pytest.raises(CommandError, match="has nothing for key-point-recall; choose another"):
            campaign_of("key-point-recall", batch=many)
        assert not Campaign.objects.exists()

    @pytest.mark.parametrize("name", ["", "  ", "x" * 201])
    def test_a_name_too_long_for_the_database_is_refused(self, name: str) -> None:
        assert "its name is blank or longer than 200 characters" in refusal(name=name)

    def test_items_with_colliding_keys_are_refused(self, tmp_path: Path) -> None:
        lines = [
            {"id": "a", "text": "?", "questions": [{"id": "1", "text": "?"}],
             "passages": [{"id": "b/c", "text": "So."}]},
            {"id": "a/b", "text": "?", "questions": [{"id": "2", "text": "?"}],
             "passages": [{"id": "c", "text": "No."}]},
        ]  # fmt: skip
        cast.load(tmp_path, lines, "keys")
        with pytest.raises(CommandError, match="two items would have the key 'a/b/c'; rename"):
            campaign_of("rubric-passage", batch="keys")
        assert not Campaign.objects.exists()


@pytest.mark.every_case
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_gives_units_unique_names(tmp_path: Path, protocol: str) -> None:
    cast.load(tmp_path, cast.RICH, "rich")
    campaign = campaign_of(protocol, batch="rich")
    for item in campaign.items.all():
        names = [unit.name for unit in item.units.all()]
        assert names
        assert len(set(names)) == len(names)
        assert present(item).key == item.key
