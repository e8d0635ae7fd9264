"""Preparation by prompts as published: each form in which CRUX, Long²RAG and GaRAGe ask for texts.

The words of the prompts are our own. `../shared/paper-facts.md` names the forms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import User
from datasets.material import batch_rows
from datasets.models import Batch
from judging.backends.base import Answer
from judging.judge_file.document import read_file
from judging.judge_file.fixtures import asked_unit
from judging.models import JudgeCall, JudgeRun
from judging.parsers.base import ExpectedAnswer, UnreadError
from judging.parsers.written import WrittenParser
from tandem.files import rows
from tests.annotation.preparation.cast import TOPIC, Json, load, researcher
from tests.fake_openai.running import Running
from tests.judging.cast import command

pytestmark = pytest.mark.django_db

POINTED: Json = {
    "key_points": [
        {"id": "k1", "text": "The ferry sank in 1954.", "passage": "d1"},
        {"id": "k2", "text": "It went down in 1954.", "passage": "d1"},
        {"id": "k3", "text": "The bow door stood open.", "passage": "d2"},
    ]
}


@dataclass(frozen=True)
class Form:
    """A published form: the step, the prompt in our words, the parser, and a reply in that form."""

    step: str
    prompt: str
    answer: str
    reply: str | Mapping[str, float]
    params: str = ""
    more: Json | None = None

    def file(self) -> str:
        prompt = json.dumps(self.prompt)
        table = f"[answer]\n{self.answer}\n[params]\nmax_tokens = 900\n{self.params}\n"
        judge = f'[judge]\nprotocol = "prepare-{self.step}"\n'
        return f'{judge}\n[[messages]]\nrole = "user"\ntext = {prompt}\n\n{table}'


FORMS = {
    # CRUX, Figure 6: the prompt ends with the opening tag.
    "sub-questions": Form(
        "sub-questions",
        "Ask 3 different questions about this summary, each between q tags.\n"
        "Summary: {{ reference.text }}\n<q>",
        'parser = "tags"\ntag = "q"',
        "When did the Aurora sink?</q>\n<q>How many were aboard?</q>\n<q> Why did it sink? </q>",
    ),
    # CRUX, Figure 7.
    "passages": Form(
        "passages",
        "Divide the document into passages that stand alone, in p tags.\n{{ passage.text }}\n<p>",
        'parser = "tags"\ntag = "p"',
        "The Aurora sank off Tarn.</p><p>Its bow door was open.</p>",
    ),
    # CRUX, Figure 9.
    "report-request": Form(
        "report-request",
        "Write the request that this summary answers.\n{{ reference.text }}\n<r>",
        'parser = "tags"\ntag = "r"',
        "Please report on the loss of the Aurora.</r>",
    ),
    # Long²RAG, 3.1: a score in square brackets.
    "filter": Form(
        "question-score",
        "Give one point for each criterion met, as [3].\nQuestion: {{ query.text }}",
        'parser = "tags"\ntag = ["[", "]"]',
        "It is clear and open. [4]",
    ),
    # Long²RAG, 3.1: new questions, each in square brackets.
    "evolving": Form(
        "new-questions",
        "Make new questions about ships from this one, in brackets: {{ query.text }}",
        'parser = "tags"\ntag = ["[", "]"]',
        "created question 1: [Why do ferries sink?]\ncreated question 2: [Who inspects them?]",
    ),
    # Long²RAG, 3.2: inline JSON.
    "decomposition": Form(
        "decomposition",
        "Type the question and divide it: {{ query.text }}",
        'parser = "json"\n[answer.path]\nquestion_type = "$[\'Question Type\']"\n'
        'questions = "$.Sub-questions"\n'
        '[answer.map.question_type]\nSimple = "simple"\nComplex = "complex"\nVague = "vague"',
        'Here: {"Question Type": "Complex", "Sub-questions": ["When did it sink?", "Why?"]}',
    ),
    # Long²RAG, 3.3: points with their spans.
    "key points": Form(
        "key-points",
        "List the points of the text for the question, with the exact words.\n"
        "{{ query.text }}\n{{ passage.text }}",
        'parser = "tags"\nnone = ["(?i)no points"]\n[answer.tag]\n'
        'points = ["<point_start>", "<point_end>"]\nevidence = ["<span_start>", "<span_end>"]',
        "Point [1]: <point_start>A door was open.<point_end><span_start>had been left open"
        "<span_end>\nPoint [2]: <point_start>It sank in 1954.<point_end>"
        "<span_start>sank on 3 March 1954<span_end><span_start>off Tarn<span_end>",
        more={"passages": TOPIC["passages"][:1]},
    ),
    # Long²RAG, 3.3: merged points with the numbers of the originals.
    "deduplication": Form(
        "merging",
        "Join the points that mean the same.\n{{ key_points | numbered }}",
        'parser = "regex"\nmarker = "Point ["\n'
        "pattern = '(?m)^Point \\[\\d+\\]: *(?P<merged>.+?) *(?P<matches>(?:\\[[\\d, ]+\\] *)+)$'",
        "Point [1]: The ferry sank in 1954. [1, 2]\nPoint [2]: The bow door was open. [3]",
        more=POINTED,
    ),
    # Long²RAG, A.2: the share of YES among YES and NO at the first token.
    "score": Form(
        "scoring",
        "YES or NO: is this a key point?\n{{ query.text }}\n{{ key_point.text }}",
        'parser = "first-token"\n[answer.map.is_key]\nYES = "yes"\nNO = "no"',
        {"YES": 0.6, "NO": 0.2, "Well": 0.2},
        "logprobs = 20",
        more={"key_points": POINTED["key_points"][:1]},
    ),
    # GaRAGe, B.5: a numbered list within a tag, which the prompt may have opened.
    "research tasks": Form(
        "new-questions",
        "Which tasks would a researcher of this topic have? {{ query.text }}\n<research_tasks>",
        'parser = "lines"\nwithin = "research_tasks"',
        "\n1. Find the cause of the loss.\n2. Compare it with other losses\n   of that decade.\n"
        "</research_tasks>",
    ),
    # GaRAGe, B.5: three queries after an analysis.
    "search queries": Form(
        "decomposition",
        "Analyse the task, then give three search queries: {{ query.text }}",
        'parser = "tags"\n[answer.tag]\nquestions = "QUERY"',
        "<task_analysis>It is about a ferry.</task_analysis>\n<QUERY>Aurora 1954</QUERY>\n"
        "<QUERY>bow door losses</QUERY>\n<QUERY>Tarn inquiry</QUERY>",
    ),
    # GaRAGe, B.6: an unordered list.
    "questions": Form(
        "new-questions",
        "Ask short questions about {{ query.text }} from these results:\n{{ passages | cited }}",
        'parser = "lines"',
        "Here they are:\n\n- Why was the door open?\n- Who was blamed?\n\nAnything else?",
    ),
}


READ: Mapping[str, Sequence[Any]] = {
    "sub-questions": ["When did the Aurora sink?", "How many were aboard?", "Why did it sink?"],
    "passages": ["The Aurora sank off Tarn.", "Its bow door was open."],
    "report-request": ["Please report on the loss of the Aurora."],
    "evolving": ["Why do ferries sink?", "Who inspects them?"],
    "decomposition": ["When did it sink?", "Why?"],
    "key points": ["A door was open.", "It sank in 1954."],
    "deduplication": ["The ferry sank in 1954.", "The bow door was open."],
    "research tasks": [
        "Find the cause of the loss.",
        "Compare it with other losses of that decade.",
    ],
    "search queries": ["Aurora 1954", "bow door losses", "Tarn inquiry"],
    "questions": ["Why was the door open?", "Who was blamed?"],
}
MALFORMED = (
    ("sub-questions", "When did it sink?</q><q>Why?", "'<q>Why?' has no end"),
    ("sub-questions", "When?</q></q>", "</q> closes nothing"),
    ("sub-questions", "When?</q><q> </q>", "text 2 of the completion is empty"),
    ("report-request", "One.</r><r>Two.</r>", "the completion has 2 different texts"),
    ("evolving", "I cannot think of any.", "the completion has no text between [ and ]"),
    ("decomposition", '{"Question Type": "Complex"}', "the completion has no text at its path"),
    ("decomposition", '{"Question Type": "Odd", "Sub-questions": ["Why?"]}', "'Odd' is not a"),
    ("decomposition", '{"Question Type": "Vague", "Sub-questions": [1]}', "element 1 of"),
    ("key points", "<span_start>off Tarn<span_end>", "the quote 'off Tarn' comes before"),
    ("deduplication", "Point [1]: All. [1, 2, 3]\nPoint [2]: Door.", "'Point [2]: Door.' cannot"),
    ("deduplication", "Point [1]: It sank. [1, 2, 3, 4]", "the completion names number 4 of 3"),
    ("research tasks", "1. Find it.\n3. Compare.</research_tasks>", "the list has no number 2"),
    ("research tasks", "1. One.</research_tasks><research_tasks>1. Two.", "has no end"),
    ("questions", "Why was the door open?", "the completion has no numbered or bulleted list"),
)  # fmt: skip


def read(form: Form, reply: str) -> list[Mapping[str, Any]]:
    """What the form's parser reads from a reply, for the unit that is written for and three more.

    Raises UnreadError.
    """
    file = read_file(form.file())
    parser = file.parser
    assert isinstance(parser, WrittenParser)
    rule = file.protocol.listed
    more = [rule.match_kind] * 3 if rule and rule.match_kind else []
    units = [asked_unit(file, n, kind=kind) for n, kind in enumerate((parser.kind, *more))]
    found = parser.read(Answer(reply), ExpectedAnswer(tuple(units))).units
    return [found[unit.name] for unit in units]


class TestForms:
    @pytest.mark.parametrize("name", READ)
    def test_the_texts_of_a_published_form_are_read(self, name: str) -> None:
        form = FORMS[name]
        assert isinstance(form.reply, str)
        (entry, *_) = read(form, form.reply)
        (texts,) = (value for value in entry.values() if not isinstance(value, str))
        assert [each["text"] for each in (texts if isinstance(texts, list) else [texts])] == READ[
            name
        ]

    @pytest.mark.parametrize(("name", "reply", "wrong"), MALFORMED)
    def test_a_malformed_reply_cannot_be_read(self, name: str, reply: str, wrong: str) -> None:
        with pytest.raises(UnreadError, match=re.escape(wrong)):
            read(FORMS[name], reply)

    def test_reasoning_and_fences_around_texts_are_set_aside(self) -> None:
        reply = "<think>Point [9]: none</think>\n```\nPoint [1]: All. [1][2] [3]\n```"
        merged, *points = read(FORMS["deduplication"], reply)
        assert [each["text"] for each in merged["merged"]] == ["All."]
        assert points == [{"placed": "yes", "matches": [1]}] * 3

    def test_a_model_may_repeat_the_tag_that_the_prompt_opens(self) -> None:
        (entry,) = read(FORMS["report-request"], "<r>Please report.</r>")
        assert entry == {"usable": "yes", "request": {"text": "Please report.", "citations": []}}

    def test_a_list_may_be_the_elements_of_an_array_with_their_quotes(self) -> None:
        answer = (
            'parser = "json"\neach = "$.points"\n[answer.path]\n'
            'points = "$.text"\nevidence = "$.spans"'
        )
        form = Form("key-points", "{{ passage.text }}", answer, "")
        reply = '{"points": [{"text": "It sank.", "spans": ["off Tarn"]}]}'
        quoted = [{"quote": "off Tarn", "start": None}]
        assert read(form, reply) == [
            {"holds_points": "yes", "points": [{"text": "It sank.", "evidence": quoted}]}
        ]

    def test_a_whole_reply_may_be_the_text(self) -> None:
        answer = "parser = \"regex\"\npattern = '(?s)^(?P<request>.+)$'"
        (entry,) = read(
            Form("report-request", "{{ reference.text }}", answer, ""), "Report\non it."
        )
        assert entry["request"]["text"] == "Report\non it."


def judge_file(folder: Path, form: Form) -> Path:
    path = folder / f"{form.step}.toml"
    path.write_text(form.file(), "utf-8")
    return path


def written(folder: Path, server: Running, form: Form, *params: str, **more: Any) -> JudgeRun:
    """The run of a judge whose prompt and parser have a published form, over a fresh batch."""
    load(folder, {**TOPIC, **(form.more or {})})
    path = str(judge_file(folder, form))
    assert "fixtures are read" in command("create_judge", "--check", "--file", path)
    server.behave(reset=True, replies={"": form.reply}, **more)
    of = ("--backend", "openai", "--model", "m", "--base-url", server.url)
    command("create_judge", "author", *of, "--file", path, *params)
    command("prepare_batch", "--step", form.step, "--batch", "documents", "--judge", "author")
    return JudgeRun.objects.get()


def prepared(folder: Path, server: Running, form: Form, *build: str) -> list[rows.Query]:
    """The queries of the batch that is built from all accepted answers."""
    run = written(folder, server, form)
    assert run.failures == {}
    researcher()
    of = ("--step", form.step, "--batch", "documents")
    assert "problem" not in command("review_batch", *of, "--accept", "--by", "rosa")
    command("build_batch", *of, "--name", "prepared", *build)
    return list(batch_rows(Batch.objects.get(name="prepared")))


def failed(folder: Path, server: Running, name: str, reply: str, *params: str) -> JudgeRun:
    form = FORMS[name]
    return written(folder, server, Form(form.step, form.prompt, form.answer, reply, more=form.more))


class TestCrux:
    def test_sub_questions_in_tags_of_which_the_prompt_opens_the_first(
        self, tmp_path: Path, server: Running
    ) -> None:
        (query,) = prepared(tmp_path, server, FORMS["sub-questions"])
        assert [(q.id, q.text) for q in query.questions] == [
            ("t1:q1", "When did the Aurora sink?"),
            ("t1:q2", "How many were aboard?"),
            ("t1:q3", "Why did it sink?"),
        ]
        provenance = (query.questions[0].meta or {})["prepared"]["sub-questions"]
        assert (provenance["author"], provenance["verdict"]) == ("author", "accepted")
        assert server.stats()["last"]["messages"][-1]["content"].endswith("\n<q>")

    @pytest.mark.every_case
    def test_passages_need_no_quotes(self, tmp_path: Path, server: Running) -> None:
        (query,) = prepared(tmp_path, server, FORMS["passages"])
        assert [(p.id, p.text) for p in query.passages[:2]] == [
            ("t1/d1#1", "The Aurora sank off Tarn."),
            ("t1/d1#2", "Its bow door was open."),
        ]

    @pytest.mark.every_case
    def test_a_request_becomes_the_text_of_the_query(self, tmp_path: Path, server: Running) -> None:
        (query,) = prepared(tmp_path, server, FORMS["report-request"])
        assert query.text == "Please report on the loss of the Aurora."
        assert (query.meta or {})["text_before"] == "ferry"


class TestLong2Rag:
    @pytest.mark.first_case
    @pytest.mark.parametrize(("reply", "left"), [("[4]", 1), ("Weak. [3]", 0)])
    def test_a_score_in_brackets_keeps_a_question_or_leaves_it_out(
        self, tmp_path: Path, server: Running, reply: str, left: int
    ) -> None:
        form = FORMS["filter"]
        made = Form(form.step, form.prompt, form.answer, reply)
        if left:
            (query,) = prepared(tmp_path, server, made)
            assert (query.meta or {})["score"] == 4
        else:
            with pytest.raises(CommandError, match="leaves no query"):
                prepared(tmp_path, server, made)

    def test_new_questions_in_brackets_become_queries(
        self, tmp_path: Path, server: Running
    ) -> None:
        seed, *new = prepared(tmp_path, server, FORMS["evolving"])
        assert (seed.id, seed.text) == ("t1", "ferry")
        assert [(q.id, q.text, q.passages) for q in new] == [
            ("t1:n1", "Why do ferries sink?", ()),
            ("t1:n2", "Who inspects them?", ()),
        ]
        assert {(q.meta or {})["written_from"] for q in new} == {"t1"}
        assert [(q.meta or {})["desk"] for q in new] == ["ships", "ships"]

    @pytest.mark.every_case
    def test_seeds_can_be_left_out(self, tmp_path: Path, server: Running) -> None:
        found = prepared(tmp_path, server, FORMS["evolving"], "--set", "seeds=0")
        assert [query.id for query in found] == ["t1:n1", "t1:n2"]

    @pytest.mark.every_case
    def test_a_decomposition_in_json_gives_type_and_sub_questions(
        self, tmp_path: Path, server: Running
    ) -> None:
        (query,) = prepared(tmp_path, server, FORMS["decomposition"])
        assert (query.meta or {})["question_type"] == "complex"
        assert [q.text for q in query.questions] == ["When did it sink?", "Why?"]

    @pytest.mark.every_case
    def test_a_simple_question_has_an_empty_list(self, tmp_path: Path, server: Running) -> None:
        form = FORMS["decomposition"]
        reply = '{"Question Type": "Simple", "Sub-questions": []}'
        (query,) = prepared(tmp_path, server, Form(form.step, form.prompt, form.answer, reply))
        assert ((query.meta or {})["question_type"], query.questions) == ("simple", ())

    def test_key_points_have_their_spans(self, tmp_path: Path, server: Running) -> None:
        (query,) = prepared(tmp_path, server, FORMS["key points"])
        assert [(k.id, k.text, k.spans) for k in query.key_points] == [
            ("t1:k1", "A door was open.", ("had been left open",)),
            ("t1:k2", "It sank in 1954.", ("sank on 3 March 1954", "off Tarn")),
        ]

    @pytest.mark.every_case
    def test_a_reply_may_say_that_there_are_no_points(
        self, tmp_path: Path, server: Running
    ) -> None:
        form = FORMS["key points"]
        made = Form(form.step, form.prompt, form.answer, "There are no points.", more=form.more)
        (query,) = prepared(tmp_path, server, made)
        assert query.key_points == ()

    def test_each_original_goes_to_one_merged_point(self, tmp_path: Path, server: Running) -> None:
        (query,) = prepared(tmp_path, server, FORMS["deduplication"])
        assert [(k.id, k.text) for k in query.key_points] == [
            ("t1:m1", "The ferry sank in 1954."),
            ("t1:m2", "The bow door was open."),
        ]
        sources = [[s["id"] for s in (k.meta or {})["sources"]] for k in query.key_points]
        assert sources == [["k1", "k2"], ["k3"]]

    def test_a_score_is_the_share_of_yes_at_the_first_token(
        self, tmp_path: Path, server: Running
    ) -> None:
        (query,) = prepared(tmp_path, server, FORMS["score"])
        # exp(ln .6) / (exp(ln .6) + exp(ln .2)) = .6 / .8
        assert [k.score for k in query.key_points] == [pytest.approx(0.75)]


class TestGarage:
    @pytest.mark.every_case
    def test_research_tasks_are_a_numbered_list_in_a_tag(
        self, tmp_path: Path, server: Running
    ) -> None:
        _, *tasks = prepared(tmp_path, server, FORMS["research tasks"])
        assert [task.text for task in tasks] == [
            "Find the cause of the loss.",
            "Compare it with other losses of that decade.",
        ]

    @pytest.mark.every_case
    def test_search_queries_come_after_an_analysis(self, tmp_path: Path, server: Running) -> None:
        (query,) = prepared(tmp_path, server, FORMS["search queries"])
        assert [q.text for q in query.questions] == [
            "Aurora 1954",
            "bow door losses",
            "Tarn inquiry",
        ]
        assert "question_type" not in (query.meta or {})

    def test_questions_are_an_unordered_list(self, tmp_path: Path, server: Running) -> None:
        _, *new = prepared(tmp_path, server, FORMS["questions"])
        assert [query.text for query in new] == ["Why was the door open?", "Who was blamed?"]
        assert "[1] The loss of the Aurora" in server.stats()["last"]["messages"][-1]["content"]


class TestMalformed:
    def test_a_malformed_reply_is_a_failed_unit_with_a_reason(
        self, tmp_path: Path, server: Running
    ) -> None:
        run = failed(tmp_path, server, "sub-questions", "When did it sink?</q><q>Why?")
        assert (run.done, run.failures) == (0, {"unreadable": 1})

    @pytest.mark.first_case
    @pytest.mark.parametrize(
        ("reply", "problem"),
        [
            ("Point [1]: It sank. [1, 2]", "key point k3 is in no merged point"),
            (
                "Point [1]: It sank. [1, 2]\nPoint [2]: It was open. [2][3]",
                "key point k2 is in several merged points: [1, 2]",
            ),
        ],
    )
    def test_an_original_in_no_merged_point_or_in_several_is_named(
        self, tmp_path: Path, server: Running, reply: str, problem: str
    ) -> None:
        failed(tmp_path, server, "deduplication", reply)
        assert exported(tmp_path, "merging") == [problem]

    def test_a_span_that_is_not_in_the_document_is_named(
        self, tmp_path: Path, server: Running
    ) -> None:
        reply = "<point_start>It burnt.<point_end><span_start>caught fire in port<span_end>"
        failed(tmp_path, server, "key points", reply)
        (problem,) = exported(tmp_path, "key-points")
        assert problem == (
            "unit 't1/d1' points: point 1: 'caught fire in port' was not found in the passage"
        )

    @pytest.mark.every_case
    def test_a_point_without_a_span_is_named(self, tmp_path: Path, server: Running) -> None:
        failed(tmp_path, server, "key points", "<point_start>It sank.<point_end>")
        (problem,) = exported(tmp_path, "key-points")
        assert problem.endswith("points: point 1 has no quote of the passage; give one")

    @pytest.mark.first_case
    @pytest.mark.parametrize(("repair", "calls"), [("0", 1), ("1", 2)])
    def test_an_author_that_repairs_is_asked_once_more(
        self, tmp_path: Path, server: Running, repair: str, calls: int
    ) -> None:
        form = FORMS["deduplication"]
        wrong = Form(form.step, form.prompt, form.answer, "Point [1]: All. [1, 2]", more=POINTED)
        load(tmp_path, {**TOPIC, **POINTED})
        server.behave(reset=True, replies={"k3 is in no merged": form.reply, "": wrong.reply})
        of = ("--backend", "openai", "--model", "m", "--base-url", server.url)
        path = str(judge_file(tmp_path, wrong))
        command("create_judge", "author", *of, "--file", path, "--param", f"repair={repair}")
        command("prepare_batch", "--step", "merging", "--batch", "documents", "--judge", "author")
        assert JudgeCall.objects.count() == calls
        assert bool(exported(tmp_path, "merging")) == (repair == "0")


def exported(folder: Path, step: str) -> list[str]:
    """The problems of the first answer for review."""
    path = folder / "review.jsonl"
    command("review_batch", "--step", step, "--batch", "documents", "--export", str(path))
    problems: list[str] = json.loads(path.read_text("utf-8").splitlines()[0])["problems"]
    return problems


class TestReview:
    def test_an_answer_without_quotes_can_be_changed_on_its_page(
        self, tmp_path: Path, server: Running, client: Client
    ) -> None:
        written(tmp_path, server, FORMS["sub-questions"])
        client.force_login(User.objects.create_user("ada", role=User.Role.ADMIN))
        path = tmp_path / "review.jsonl"
        of = ("--step", "sub-questions", "--batch", "documents")
        command("review_batch", *of, "--export", str(path))
        line = json.loads(path.read_text("utf-8"))
        page = reverse("review", args=[line["id"]])
        units = client.get(page).context["units"]
        fields = {name: values for unit in units for name, values in unit.sent()}
        fields |= {"0.point.0": "When was it lost?", "verdict": "accepted", "seen": ""}
        assert client.post(page, fields).status_code == 302
        command("build_batch", *of, "--name", "changed")
        (query,) = batch_rows(Batch.objects.get(name="changed"))
        assert query.questions[0].text == "When was it lost?"


class TestFiles:
    @pytest.mark.parametrize(
        ("answer", "wrong"),
        [
            ('parser = "tags"\n[answer.tag]\nevidence = "s"', "belongs to the list points"),
            ('parser = "tags"\n[answer.tag]\npoints = "p"\nodd = "o"', "'odd' is nothing that"),
            ('parser = "tags"\ntag = "p"\nnone = ["("]', "none is not a pattern"),
            ('parser = "tags"\ntag = "p"\nas_published = true', "as_published is for verdicts"),
            ('parser = "tags"\ntag = "p"\nmarker = "Point:"', "marker is for verdicts"),
            ('parser = "json"\n[answer.path]\npoints = "points"', "is not a path"),
        ],
    )
    def test_a_wrong_table_is_refused_with_its_line(
        self, tmp_path: Path, answer: str, wrong: str
    ) -> None:
        path = judge_file(tmp_path, Form("key-points", "{{ passage.text }}", answer, ""))
        with pytest.raises(CommandError, match=rf"line \d+: .*{wrong}"):
            command("create_judge", "--check", "--file", str(path))

    def test_a_list_with_matches_owes_the_numbers(self, tmp_path: Path) -> None:
        form = Form("merging", "{{ key_points | numbered }}", 'parser = "tags"\ntag = "m"', "")
        with pytest.raises(CommandError, match="give matches, the numbers that stand with each"):
            command("create_judge", "--check", "--file", str(judge_file(tmp_path, form)))

    def test_a_file_that_reads_half_of_an_answer_is_no_author_of_the_step(
        self, tmp_path: Path, server: Running
    ) -> None:
        half = Form(
            "request", "{{ reference.text }}", 'parser = "tags"\n[answer.tag]\nquestions = "q"', ""
        )
        with pytest.raises(CommandError, match="does not read request, without which step request"):
            written(tmp_path, server, half)

    def test_fixtures_give_the_points_that_are_read(self, tmp_path: Path) -> None:
        form = FORMS["key points"]
        fixture = (
            "\n[[fixture]]\ncompletion = '<point_start>It sank.<point_end><span_start>off Tarn"
            "<span_end>'\nlabels = { holds_points = 'yes', points = [{ text = 'It sank.', "
            "evidence = ['off Tarn'] }] }\n[[fixture]]\ncompletion = 'no points'\n"
            "labels = { holds_points = 'no' }\n[[fixture]]\ncompletion = '<point_start>It'\n"
            "fault = 'unreadable'\n"
        )
        path = tmp_path / "judge.toml"
        path.write_text(form.file() + fixture, "utf-8")
        said = command("create_judge", "--check", "--file", str(path))
        assert "prepare-key-points, read by tags; 3 fixtures are read as expected" in said
