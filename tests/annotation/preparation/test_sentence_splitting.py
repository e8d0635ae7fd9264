"""Split sentences contain every word of the answer once, in its own words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import Response, User
from annotation.preparation.base import Result
from annotation.preparation.steps.sentence_splitting import make_items, parts, problems
from annotation.registry import STEPS
from datasets.material import batch_rows
from datasets.models import Batch
from datasets.text import sentences
from judging.models import Review
from tandem.files import rows
from tests.annotation.preparation.cast import (
    PROVENANCE,
    TOPIC,
    Json,
    author,
    load,
    point,
    prepare,
    researcher,
    topic,
)
from tests.judging.cast import command

STEP = "sentences-by-author"
TEXT = "It sank. Dr. Lee said so. 🌊"
ALL = ("It sank.", "Dr. Lee said so. 🌊")
MIXED = "Zoe\u0308 said:\r\n“go” 👩‍👩‍👧.\r\n\r\nשלום, עולם. مرحبا؟\r\nIt held"
MIXED_SENTENCES = ["Zoe\u0308 said:\r\n“go” 👩‍👩‍👧.", "שלום, עולם.", "مرحبا؟", "It held"]
LONG = "".join(f"Line {n} says a. And b.\n" for n in range(1, 41))


def answer(*texts: str) -> Json:
    """The result for one answer: its sentences, or that the answer is a single sentence."""
    if not texts:
        return {"several": "no", "sentences": None}
    return {"several": "yes", "sentences": [point(text) for text in texts]}


def split(key: str, *texts: str, text: str = TEXT, **provenance: Any) -> Result:
    given = {("report", key): answer(*texts)}
    merged = PROVENANCE | provenance
    return Result(key, given, provenance=merged, texts={"report": text})


def answers(*reports: rows.Report) -> rows.Query:
    return topic(reports=reports)


def applied(query: rows.Query, *results: Result) -> tuple[rows.Report, ...]:
    made = STEPS[STEP].apply(query, results, {})
    assert isinstance(made, rows.Query)
    assert replace(made, reports=query.reports) == query
    return made.reports


class TestItems:
    def test_each_answer_is_an_item_that_does_not_name_its_system(self) -> None:
        (item,) = make_items(topic(), ())
        assert (item.key, item.report, item.system) == ("r1", "r1", "one")
        assert [(unit.kind, unit.key, unit.text) for unit in item.units] == [("report", "r1", TEXT)]
        assert [(text.field, text.text) for text in item.texts] == [("report", TEXT)]

    def test_empty_answers_and_those_with_sentences_are_not_asked_about(self) -> None:
        own = rows.Report("r2", "It sank.", sentences=("It sank.",))
        none = rows.Report("r3", "It sank.", sentences=())
        empty = rows.Report("r4", ""), rows.Report("r5", " \r\n\u00a0")
        assert list(make_items(answers(own, none, *empty), ())) == []

    def test_a_long_answer_is_split_into_parts_at_line_ends(self) -> None:
        found = parts(LONG)
        assert [len(sentences(part)) for part in found] == [50, 30]
        assert found[0].endswith("Line 25 says a. And b.")
        assert found[1].startswith("Line 26 says a.")
        items = list(make_items(answers(rows.Report("r", LONG)), ()))
        assert [(item.key, item.report) for item in items] == [("r#1", "r"), ("r#2", "r")]
        assert [item.texts[0].text for item in items] == found

    def test_parts_end_at_a_line_end_if_possible_and_else_at_a_sentence(self) -> None:
        assert parts("One. Two.\r\nThree. Four.", 3) == ["One. Two.", "Three. Four."]
        assert parts("One. Two. Three. Four.", 3) == ["One. Two. Three.", "Four."]
        assert parts("One. Two. Three.", 3) == ["One. Two. Three."]


class TestProblems:
    def test_sentences_that_cover_the_whole_answer_have_no_problem(self) -> None:
        assert list(problems(split("r1", *ALL))) == []
        assert list(problems(split("r1"))) == []

    def test_words_outside_all_sentences_are_reported_with_their_position(self) -> None:
        assert list(problems(split("r1", "sank.", "Lee said so."))) == [
            "no sentence contains the words before sentence 1: 'It'",
            "no sentence contains the words between sentences 1 and 2: 'Dr.'",
            "no sentence contains the words after sentence 2: '🌊'",
        ]

    def test_a_reworded_sentence_is_reported(self) -> None:
        assert list(problems(split("r1", "It sank.", "Dr. Lee told so.", "🌊"))) == [
            "sentence 2 is not in the answer: 'Dr. Lee told so.'",
            "no sentence contains the words between sentences 1 and 3: 'Dr. Lee said so.'",
        ]
        assert list(problems(split("r1", "It burnt."))) == [
            "sentence 1 is not in the answer: 'It burnt.'",
            f"no sentence contains the words of the answer: {TEXT!r}",
        ]

    @pytest.mark.parametrize(
        ("texts", "number"),
        [
            (("It sank.", "It sank.", ALL[1]), 2),
            (("It sank. Dr. Lee", "Dr. Lee said so. 🌊", "said so. 🌊"), 2),
            ((TEXT, "It sank."), 2),
        ],
    )
    def test_sentences_out_of_order_or_overlapping_are_reported(
        self, texts: tuple[str, ...], number: int
    ) -> None:
        message = f"sentence {number} is not after the sentences before it in the answer"
        assert list(problems(split("r1", *texts))) == [f"{message}: {texts[number - 1]!r}"]

    def test_two_swapped_sentences_are_reported(self) -> None:
        assert list(problems(split("r1", ALL[1], "It sank."))) == [
            "sentence 2 is not after the sentences before it in the answer: 'It sank.'",
            "no sentence contains the words before sentence 1: 'It sank.'",
        ]

    def test_long_texts_are_shortened_in_the_message(self) -> None:
        (message,) = problems(split("r1", "One.", text=f"One. {'word ' * 50}"))
        assert message.endswith(f"sentence 1: '{'word ' * 11}word…'")


class TestABatch:
    def test_a_batch_has_the_sentences_and_their_provenance(self) -> None:
        (report,) = applied(topic(), split("r1", *ALL))
        assert report.sentences == ALL
        assert report.meta == {"prepared": {STEP: PROVENANCE}}

    def test_sentences_are_stored_in_the_answers_own_characters(self) -> None:
        copied = ('Zoë said: "go" 👩‍👩‍👧.', *MIXED_SENTENCES[1:])
        (report,) = applied(answers(rows.Report("r", MIXED)), split("r", *copied, text=MIXED))
        assert report.sentences == tuple(MIXED_SENTENCES)
        assert list(problems(split("r", *copied, text=MIXED))) == []

    def test_an_answer_of_one_sentence_is_stored_without_surrounding_blanks(self) -> None:
        (report,) = applied(answers(rows.Report("r", " Dr. Lee\r\nsaid so \n")), split("r"))
        assert report.sentences == ("Dr. Lee\r\nsaid so",)

    def test_sentences_that_came_with_the_batch_are_kept(self) -> None:
        own = rows.Report("r1", TEXT, sentences=("It sank.",))
        assert applied(answers(own), split("r1", *ALL)) == (own,)

    def test_an_unaccepted_answer_stays_without_sentences(self) -> None:
        other = rows.Report("r2", TEXT)
        first, second = applied(answers(*topic().reports, other), split("r1", *ALL))
        assert (first.sentences, second) == (ALL, other)

    def test_the_parts_of_an_answer_are_stored_all_or_none(self) -> None:
        query, both = answers(rows.Report("r", LONG)), parts(LONG)
        of = [[part[start:end] for start, end in sentences(part)] for part in both]
        second = split("r#2", *of[1], text=both[1], verdict="changed")
        (report,) = applied(query, second, split("r#1", *of[0], text=both[0]))
        assert report.sentences == (*of[0], *of[1])
        assert (report.meta or {})["prepared"][STEP]["verdict"] == "changed"
        assert applied(query, second) == query.reports


SOME: Json = TOPIC | {
    "reports": [
        {"id": "r1", "text": TEXT, "system": "one"},
        {"id": "r2", "text": MIXED, "system": "two"},
        {"id": "r3", "text": "It sank.", "system": "two", "sentences": ["It sank."]},
        {"id": "r4", "text": "", "system": "three"},
    ]
}
WROTE: dict[str, Json] = {
    "Dr. Lee": {"r1": answer(*ALL)},
    "It held": {"r2": answer('Zoë said: "go" 👩‍👩‍👧.', *MIXED_SENTENCES[1:])},
}
LOST = {"r1": answer("It sank.", "Lee said so.")}


@pytest.mark.django_db
class TestEndToEnd:
    def test_an_authors_sentences_become_a_batch(self, tmp_path: Path) -> None:
        load(tmp_path, SOME)
        researcher()
        run = prepare(STEP, "documents", author(), WROTE)
        assert (run.done, run.failures) == (2, {})
        assert run.manifest["prompt"]["name"] == "prepare-sentences"
        of = ("--step", STEP, "--batch", "documents")
        assert "2 accepted" in command("review_batch", *of, "--accept", "--by", "rosa")
        command("build_batch", *of, "--name", "split", "--output", str(tmp_path / "split.jsonl"))
        (query,) = batch_rows(Batch.objects.get(name="split"))
        found = {report.id: report for report in query.reports}
        assert found["r1"].sentences == ALL
        assert found["r2"].sentences == tuple(MIXED_SENTENCES)
        assert found["r2"].text == MIXED
        provenance = (found["r2"].meta or {})["prepared"][STEP]
        assert (provenance["author"], provenance["prompt"]) == ("author", "prepare-sentences")
        assert provenance["run"] == run.pk
        assert (found["r3"].sentences, found["r3"].meta) == (("It sank.",), None)
        assert found["r4"].sentences is None

    def test_the_rule_splits_answers_that_no_author_was_asked_about(self, tmp_path: Path) -> None:
        load(tmp_path, SOME)
        researcher()
        prepare(STEP, "documents", author(), WROTE)
        of = ("--step", STEP, "--batch", "documents")
        command("review_batch", *of, "--accept", "--by", "rosa")
        command("build_batch", *of, "--name", "split")
        command("build_batch", "--step", "sentences", "--batch", "split", "--name", "both")
        (query,) = batch_rows(Batch.objects.get(name="both"))
        assert [len(report.sentences or ()) for report in query.reports] == [2, 4, 1, 0]
        prepared = [(report.meta or {}).get("prepared", {}) for report in query.reports]
        assert [list(steps) for steps in prepared] == [[STEP], [STEP], [], ["sentences"]]

    @pytest.mark.first_case
    @pytest.mark.parametrize(("params", "accepted", "calls"), [({}, 1, 2), ({"repair": 1}, 2, 3)])
    def test_an_answer_with_leftover_words_is_sent_back_if_the_author_repairs(
        self, tmp_path: Path, params: Json, accepted: int, calls: int
    ) -> None:
        load(tmp_path, SOME)
        researcher()
        again = "no sentence contains the words between sentences 1 and 2: 'Dr.'"
        table = {again: WROTE["Dr. Lee"], **WROTE, "Dr. Lee": LOST}
        run = prepare(STEP, "documents", author(params=params), table)
        assert (run.done, run.calls) == (2, calls)
        of = ("--step", STEP, "--batch", "documents")
        output = command("review_batch", *of, "--accept", "--by", "rosa")
        assert f"{accepted} accepted" in output

    def test_no_batch_is_built_while_an_answer_has_leftover_words(self, tmp_path: Path) -> None:
        load(tmp_path, SOME)
        researcher()
        prepare(STEP, "documents", author(), WROTE | {"Dr. Lee": LOST})
        of = ("--step", STEP, "--batch", "documents")
        command("review_batch", *of, "--accept", "--by", "rosa")
        with pytest.raises(CommandError, match="missing: 1 not reviewed"):
            command("build_batch", *of, "--name", "split")


@pytest.mark.django_db
class TestReview:
    @pytest.fixture
    def pages(self, tmp_path: Path, client: Client) -> list[str]:
        """The pages of two answers: one whose sentences leave words out, and one complete."""
        load(tmp_path, SOME)
        client.force_login(User.objects.create_user("ada", role=User.Role.ADMIN))
        prepare(STEP, "documents", author(), WROTE | {"Dr. Lee": LOST})
        rows_ = Response.objects.order_by("assignment__item__position")
        return [reverse("review", args=[each.assignment.uid]) for each in rows_]

    def sent(self, client: Client, page: str, **changes: Any) -> Json:
        units = client.get(page).context["units"]
        fields = {name: values for unit in units for name, values in unit.sent()}
        return fields | {"verdict": "accepted", "seen": ""} | changes

    def test_a_review_marks_each_sentence_and_names_leftover_words(
        self, pages: list[str], client: Client
    ) -> None:
        shown = client.get(pages[0]).content.decode()
        assert "<mark>It sank.</mark> Dr. <mark>Lee said so.</mark> 🌊" in shown
        assert "no sentence contains the words between sentences 1 and 2: &#x27;Dr.&#x27;" in shown
        assert "no sentence contains the words after sentence 2: &#x27;🌊&#x27;" in shown
        assert "Another quote" not in shown

    def test_an_unchanged_review_form_keeps_the_answers_own_characters(
        self, pages: list[str], client: Client
    ) -> None:
        shown = self.sent(client, pages[1])
        assert [shown[f"0.point.{n}"][0] for n in range(4)] == MIXED_SENTENCES
        as_browsers_do = {
            name: [v.replace("\r\n", "\n").replace("\n", "\r\n") for v in values]
            for name, values in shown.items()
            if isinstance(values, list)
        }
        client.post(pages[1], shown | as_browsers_do)
        assert Review.objects.get().verdict == "accepted"

    def test_an_answer_corrected_on_the_page_can_be_accepted(
        self, pages: list[str], client: Client
    ) -> None:
        refused = client.post(pages[0], self.sent(client, pages[0]))
        assert refused.status_code == 422
        mended = self.sent(client, pages[0], **{"0.point.1": "Dr. Lee said so. 🌊"})
        assert client.post(pages[0], mended).status_code == 302
        assert Review.objects.get().answer == {"r1": answer(*ALL)}

    def test_an_empty_line_splits_a_sentence_in_two(self, pages: list[str], client: Client) -> None:
        fields = {"0.point.0": "It\r\n\r\nsank.\r\n \r\nDr. Lee said so.", "0.point.1": "🌊"}
        client.post(pages[0], self.sent(client, pages[0], **fields))
        made = Review.objects.get().answer
        assert made == {"r1": answer("It", "sank.", "Dr. Lee said so.", "🌊")}

    def test_an_empty_line_of_the_answer_itself_does_not_split(
        self, pages: list[str], client: Client
    ) -> None:
        both = "Zoe\u0308 said:\r\n“go” 👩‍👩‍👧.\r\n\r\nשלום, עולם."
        fields = {"0.point.0": both, "0.point.1": ""}
        client.post(pages[1], self.sent(client, pages[1], **fields))
        made = Review.objects.get().answer
        assert made == {"r2": answer(both, *MIXED_SENTENCES[2:])}

    def test_several_sentences_can_be_changed_to_a_single_one(
        self, pages: list[str], client: Client
    ) -> None:
        client.post(pages[0], self.sent(client, pages[0], **{"0.several": "no"}))
        assert Review.objects.get().answer == {"r1": answer()}
