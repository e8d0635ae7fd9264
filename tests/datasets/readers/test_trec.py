"""Material of TREC's RAG Track, in the published forms of three years, becomes a batch.

The sentences are ours; each form is that of the track's guidelines of its year, the tools' own
files, or the AutoJudge kit, as `datasets.readers.trec` says.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from datasets.loading import load_batch
from datasets.models import Batch
from datasets.readers import READERS, read, recognise
from tandem.files.jsonl import MAX_DEPTH
from tandem.files.rows import InputError, Nugget, Query, Question, Ranking, ReadNotes
from tests.cast import run
from tests.datasets.helpers import jsonl, refusal

Row = dict[str, Any]
BRIDGE, BAKERS = "How was the footbridge built?", "Which flour do the bakers use?"

OF_2024: Row = {
    "run_id": "heron",
    "topic_id": "31",
    "topic": BRIDGE,
    "references": ["doc_01#2_11", "doc_02#0_7"],
    "response_length": 11,
    "answer": [
        {"text": "It was built of oak.", "citations": [1, 0]},
        {"text": "It opened in spring, with music.", "citations": []},
    ],
}
OF_2025: Row = {
    "metadata": {
        "team_id": "lock",
        "run_id": "otter",
        "type": "automatic",
        "narrative_id": 31,
        "narrative": BRIDGE,
        "prompt": "Answer at length.",
    },
    "references": ["doc_02#0_7", "doc_09#1_3"],
    "answer": [{"text": "Oak beams carry it.", "citations": [0]}],
}
OF_2025_BY_ID: Row = {
    **OF_2025,
    "metadata": {**OF_2025["metadata"], "run_id": "otter-2"},
    "answer": [{"text": "Oak beams carry it.", "citations": ["doc_09#1_3", "doc_02#0_7"]}],
}
OF_2026: Row = {
    "metadata": {
        "team_id": "lock",
        "narrative_id": "rag2026-4",
        "narrative": BAKERS,
        "run_id": "stork",
        "run_desc": "BM25, then a model.",
    },
    "references": ["shard_00001_5", "shard_00002_6"],
    "answer": [{"text": "Most of them use rye.", "citations": [1]}],
}
KIT: Row = {
    "metadata": {"team_id": "lock", "run_id": "kit", "narrative_id": "31"},
    "answer": [{"text": "It is oak.", "citations": {"doc_02#0_7": 0.2, "doc_01#2_11": 0.9}}],
}
"""As the AutoJudge kit writes runs of 2025 again: ids with confidences, no references."""


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., list[Path]]:
    """Writes files by name: rows as JSON Lines, text as it is."""

    def write(**contents: Any) -> list[Path]:
        found = []
        for name, content in contents.items():
            path = tmp_path / name.replace("_", ".")
            if isinstance(content, str):
                path.write_bytes(content.encode())
            else:
                jsonl(path, *content)
            found.append(path)
        return found

    return write


def loaded(paths: list[Path]) -> tuple[list[Query], ReadNotes]:
    notes = ReadNotes()
    assert recognise(paths) == "trec-rag"
    return [located.query for located in read(paths, None, notes)], notes


def refused(paths: list[Path], line: int | None, file: int = 0) -> InputError:
    return refusal(lambda: read(paths, "trec-rag", ReadNotes()), paths[file], line)


def test_an_answer_of_2024_cites_by_positions_from_0(files: Callable[..., list[Path]]) -> None:
    (query,), notes = loaded(files(run=[OF_2024]))
    (report,) = query.reports
    assert (query.id, query.text, report.id, report.system) == ("31", BRIDGE, "heron:31", "heron")
    assert report.text == "It was built of oak. It opened in spring, with music."
    assert report.sentences == ("It was built of oak.", "It opened in spring, with music.")
    assert report.sentence_citations == (("doc_02#0_7", "doc_01#2_11"), ())
    assert report.citations == ("doc_02#0_7", "doc_01#2_11")
    assert report.context == ("doc_01#2_11", "doc_02#0_7")
    assert report.meta == {"response_length": 11}
    assert notes == ReadNotes()


def test_both_formats_of_2025_say_the_same(files: Callable[..., list[Path]]) -> None:
    (query,), notes = loaded(files(a=[OF_2025], b=[OF_2025_BY_ID]))
    first, second = query.reports
    assert (query.id, query.text) == ("31", BRIDGE)
    assert (first.system, first.sentence_citations) == ("otter", (("doc_02#0_7",),))
    assert (second.system, second.sentence_citations) == (
        "otter-2",
        (("doc_09#1_3", "doc_02#0_7"),),
    )
    assert first.meta == {"team_id": "lock", "type": "automatic", "prompt": "Answer at length."}
    assert notes == ReadNotes()


def test_an_answer_of_2026_describes_its_run(files: Callable[..., list[Path]]) -> None:
    (query,), _ = loaded(files(run=[OF_2026]))
    (report,) = query.reports
    assert (query.id, query.text, report.id) == ("rag2026-4", BAKERS, "stork:rag2026-4")
    assert report.sentence_citations == (("shard_00002_6",),)
    assert report.meta == {"team_id": "lock", "run_desc": "BM25, then a model."}


def test_citations_with_confidences_are_in_falling_order(files: Callable[..., list[Path]]) -> None:
    (query,), _ = loaded(files(run=[KIT], topics_tsv=f"31\t{BRIDGE}\n"))
    assert query.reports[0].sentence_citations == (("doc_01#2_11", "doc_02#0_7"),)
    assert query.reports[0].context is None


def test_runs_of_all_years_become_one_batch_by_topic(files: Callable[..., list[Path]]) -> None:
    queries, _ = loaded(files(a=[OF_2024], b=[OF_2025], c=[OF_2026]))
    assert [(q.id, [r.system for r in q.reports]) for q in queries] == [
        ("31", ["heron", "otter"]),
        ("rag2026-4", ["stork"]),
    ]


@pytest.mark.parametrize(
    "topics",
    [
        f"rag2026-4\t{BAKERS}\n31\t{BRIDGE}\nmute\tWho is it?\n",
        [{"id": "rag2026-4", "title": BAKERS}, {"id": "31", "title": BRIDGE},
         {"id": "mute", "title": "Who is it?"}],
        [{"id": "rag2026-4", "narrative": BAKERS}, {"id": 31, "narrative": BRIDGE},
         {"id": "mute", "narrative": "Who is it?"}],
        [{"request_id": "rag2026-4", "title": BAKERS}, {"request_id": "31", "title": BRIDGE},
         {"request_id": "mute", "title": "Who is it?"}],
    ],
    ids=["2024 and 2026", "2025", "2025, first version", "AutoJudge kit"],
)  # fmt: skip
def test_topics_give_order_and_text_also_of_topics_without_an_answer(
    files: Callable[..., list[Path]], topics: Any
) -> None:
    queries, notes = loaded(files(run=[OF_2024], topics=topics, other=[OF_2026]))
    assert [(q.id, q.text, len(q.reports)) for q in queries] == [
        ("rag2026-4", BAKERS, 1), ("31", BRIDGE, 1), ("mute", "Who is it?", 0),
    ]  # fmt: skip
    assert notes.warnings == []


NUGGETIZER: Row = {
    "query": BRIDGE,
    "qid": "31",
    "nuggets": [
        {"text": "The footbridge is of oak.", "importance": "vital", "sources": ["doc_01#2_11"]},
        {"text": "It opened in spring.", "importance": "okay", "mapped_sub_narrative": "opening"},
        {"text": "It was painted.", "importance": "failed"},
    ],
}
KIT_BANK: Row = {
    "query_id": "31",
    "title_query": BRIDGE,
    "format_version": "v3",
    "nugget_bank": {
        "Who built it?": {
            "question": "Who built it?",
            "question_id": "0a1b",
            "query_id": "31",
            "importance": "vital",
            "answers": {"Anna": {"answer": "Anna"}},
        }
    },
    "claim_bank": {
        "It is of oak.": {
            "claim": "It is of oak.",
            "claim_id": "9f",
            "query_id": "31",
            "importance": "okay",
            "references": [{"doc_id": "doc_01#2_11", "collection": "c"}],
        }
    },
}


def test_nuggets_keep_importance_and_sources(files: Callable[..., list[Path]]) -> None:
    (query,), notes = loaded(files(run=[OF_2024], bank=[NUGGETIZER]))
    assert query.nuggets == (
        Nugget("31:n1", "The footbridge is of oak.", "vital", ("doc_01#2_11",)),
        Nugget("31:n2", "It opened in spring.", "okay", meta={"mapped_sub_narrative": "opening"}),
        Nugget("31:n3", "It was painted.", meta={"importance": "failed"}),
    )
    (warning,) = notes.warnings
    assert "line 1 and on: 1 nuggets have an importance other than vital and okay" in warning


def test_claims_of_the_kits_bank_are_nuggets_and_its_questions_sub_questions(
    files: Callable[..., list[Path]],
) -> None:
    (query,), _ = loaded(files(bank=[KIT_BANK]))
    assert (query.id, query.text) == ("31", BRIDGE)
    meta = {"claim_id": "9f", "query_id": "31"}
    assert query.nuggets == (Nugget("31:n1", "It is of oak.", "okay", ("doc_01#2_11",), meta),)
    asked = {
        "question_id": "0a1b",
        "query_id": "31",
        "answers": {"Anna": {"answer": "Anna"}},
        "importance": "vital",
    }
    assert query.questions == (Question("31:q1", "Who built it?", meta=asked),)


MSMARCO = {
    "docid": "doc_01#2_11",
    "url": "https://example.org/bridge",
    "title": "The footbridge",
    "headings": "The footbridge\n",
    "segment": "The footbridge is of oak.",
    "start_char": 0,
    "end_char": 25,
}


@pytest.mark.parametrize(
    "document",
    [
        MSMARCO,
        {"docid": "doc_01#2_11", "rank": 1, "score": 12.5, "doc": "The footbridge is of oak."},
        {"id": "doc_01#2_11", "contents": "The footbridge is of oak."},
        {"docid": "doc_01#2_11", "doc": {"segment": "The footbridge is of oak."}},
    ],
    ids=["MS MARCO segment", "ClimbMix search", "Pyserini", "candidate"],
)
def test_of_a_collection_only_the_named_documents_are_kept(
    files: Callable[..., list[Path]], document: Row
) -> None:
    other = {"docid": "doc_77", "segment": "Plum cake."}
    (query,), _ = loaded(files(run=[OF_2024], documents=[document, other]))
    ((passage),) = query.passages
    assert (passage.id, passage.text) == ("doc_01#2_11", "The footbridge is of oak.")
    if document is MSMARCO:
        assert passage.title == "The footbridge"
        assert passage.meta == {
            k: MSMARCO[k] for k in ("url", "headings", "start_char", "end_char")
        }


def test_retrieved_lists_bring_topics_and_documents(files: Callable[..., list[Path]]) -> None:
    """The input of the task of augmented generation, 2024 and 2025."""
    doc = {key: value for key, value in MSMARCO.items() if key != "docid"}
    listed = {
        "query": {"qid": "31", "text": BRIDGE},
        "candidates": [{"docid": "doc_01#2_11", "score": 18.3, "doc": doc}],
    }
    (query,), _ = loaded(files(run=[{**KIT, "references": []}], lists=[listed]))
    assert query.text == BRIDGE
    assert query.passages[0].text == "The footbridge is of oak."
    assert query.passages[0].title == "The footbridge"


def test_ranked_lists_are_read_by_rank(files: Callable[..., list[Path]]) -> None:
    lists = "31 Q0 d2 2 8.5 bm25\n31 Q0 d1 1 9.5 bm25\n31\tQ0\td1\t1\t0.5\tdense\n99 Q0 d 1 1 x\n"
    (query,), notes = loaded(files(lists_run=lists, answers=[OF_2024]))
    assert query.rankings == (Ranking("bm25", ("d1", "d2")), Ranking("dense", ("d1",)))
    assert notes.skipped == {"rankings of topics that are not in the batch": 1}


def test_ranks_against_their_scores_cause_a_warning(files: Callable[..., list[Path]]) -> None:
    lists = "31 Q0 d1 1 1.0 bm25\n31 Q0 d2 2 9.5 bm25\n"
    _, notes = loaded(files(lists=lists, answers=[OF_2024]))
    assert "1 ranks are not in the order of their scores" in notes.warnings[0]


SLIPS: list[tuple[Row, str]] = [
    ({"text": "A.", "citations": [2]}, "1 citations are positions outside `references`"),
    ({"text": "A.", "citations": [-1]}, "1 citations are positions outside `references`"),
    ({"text": "A.", "citations": [0, 0]}, "1 citations repeat one of their sentence"),
    (
        {"text": "A.", "citations": ["far"]},
        "1 citations are not among `references`",
    ),
    ({"text": " \n", "citations": [0]}, "1 sentences are blank"),
]


@pytest.mark.parametrize(("sentence", "says"), SLIPS)
def test_slips_of_a_run_are_counted_with_their_first_place(
    files: Callable[..., list[Path]], sentence: Row, says: str
) -> None:
    (path,) = paths = files(run=[{**OF_2024, "answer": [sentence]}])
    (query,), notes = loaded(paths)
    assert notes.warnings == [next(w for w in notes.warnings if says in w)]
    assert notes.warnings[0].startswith(f"{path}, line 1 and on: ")
    expected = () if "blank" in says else (("far",) if "far" in str(sentence) else ())
    if "repeat" in says:
        expected = ("doc_01#2_11",)
    assert query.reports[0].citations == expected


def test_an_empty_answer_is_a_report_without_text(files: Callable[..., list[Path]]) -> None:
    (query,), _ = loaded(files(run=[{**OF_2024, "answer": []}]))
    assert (query.reports[0].text, query.reports[0].sentences) == ("", ())


REFUSED: list[tuple[Row, str]] = [
    ({"run_id": None}, '"run_id" is null'),
    ({"narrative_id": "33"}, "names two topics"),
    ({"references": [3]}, 'entry 1 of "references" is a number'),
    ({"answer": ["It is."]}, "sentence 1 is a string, not an object"),
    ({"answer": [{"citations": []}]}, '"text" of sentence 1 is missing'),
    ({"answer": [{"text": "A.", "citations": 1}]}, '"citations" of sentence 1 is a number'),
    ({"answer": [{"text": "A.", "citations": [True]}]}, 'entry 1 of "citations" of sentence 1'),
    ({"answer": [{"text": "A.", "citations": {"d": "x"}}]}, "is a string, not a number"),
    ({"answer": [{"text": "A.", "citations": [0] * 1001}]}, "sentence 1 has 1,001 citations"),
    ({"answer": [{"text": "A."}] * 10_001}, "the answer has 10,001 sentences"),
    ({"run_id": "x" * 255}, "has 258 characters"),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("change", "says"), REFUSED)
def test_a_wrong_answer_is_refused_with_its_line(
    files: Callable[..., list[Path]], change: Row, says: str
) -> None:
    second = {**OF_2024, "topic_id": "32", "topic": BAKERS, **change}
    assert says in refused(files(run=[OF_2024, second]), 2).wrong


def test_two_answers_of_a_run_to_a_topic_are_refused(files: Callable[..., list[Path]]) -> None:
    error = refused(files(a=[OF_2024], b=[OF_2024]), 1, file=1)
    assert 'the run "heron" has an answer to the topic "31" already, at' in error.wrong


def test_a_topic_without_a_text_names_the_way_to_take(files: Callable[..., list[Path]]) -> None:
    error = refused(files(run=[KIT]), 1)
    assert (error.wrong, error.remedy) == (
        'the topic "31" has no text',
        "name the file of topics, too",
    )


def test_a_document_with_two_texts_is_refused(files: Callable[..., list[Path]]) -> None:
    paths = files(run=[OF_2024], a=[MSMARCO], b=[{**MSMARCO, "segment": "Of pine."}])
    assert 'the document "doc_01#2_11" has another text than at' in refused(paths, 1, 2).wrong


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("dragun", [{"metadata": {"run_id": "x", "topic_id": "y"}, "responses": []}], "RAGTIME or"),
        ("zebra", [{"zebra": 1}], "holds neither answers of TREC's RAG Track nor"),
        ("mixed", [MSMARCO, OF_2024], "holds answers, where the file began with passages"),
        ("ranked", "31 Q0 d x 1.0 r\n", 'the rank is "x"'),
        ("rated", "31 Q0 d 1 nan r\n", 'the score is "nan"'),
        ("twice", "31 Q0 d 1 2 r\n31 Q0 d 2 1 r\n", 'the document "d" is already ranked at'),
        ("topics", f"31\t{BRIDGE}\n31\t{BRIDGE}\n", 'the topic "31" is already at'),
        ("blank", f"31\t{BRIDGE}\n32\t\n", "is not a topic"),
        ("banks", [NUGGETIZER, NUGGETIZER], "has a nugget bank already, at"),
    ],
)
def test_a_wrong_companion_is_refused_with_its_line(
    files: Callable[..., list[Path]], name: str, content: Any, says: str
) -> None:
    paths = files(run=[OF_2024], **{name: content})
    with pytest.raises(InputError) as caught:
        list(read(paths, "trec-rag", ReadNotes()))
    assert says in caught.value.wrong
    assert caught.value.place.file == str(paths[1])
    assert caught.value.place.line


def test_a_deeply_nested_answer_is_refused_at_once(files: Callable[..., list[Path]]) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    line = json.dumps(OF_2024)[:-1] + f', "extra": {deep}}}\n'
    before = perf_counter()
    assert f"deeper than {MAX_DEPTH}" in refused(files(run=line), 1).wrong
    assert perf_counter() - before < 1


def test_an_answer_with_100_000_citations_is_refused_at_once(
    files: Callable[..., list[Path]],
) -> None:
    sentence = {"text": "A.", "citations": [0] * 100_000}
    paths = files(run=[{**OF_2024, "answer": [sentence]}])
    before = perf_counter()
    assert "has 100,000 citations" in refused(paths, 1).wrong
    assert perf_counter() - before < 2


def test_memory_grows_with_identifiers_and_not_with_texts(
    files: Callable[..., list[Path]],
) -> None:
    """Sixty runs of twenty topics with 40 kB of answer each: 48 MB of text, one topic at a time."""

    def answers(number: int) -> list[Row]:
        text = f"{number} " + "oak " * 10_000
        return [
            {**OF_2024, "run_id": f"run-{number}", "topic_id": f"t{n}",
             "answer": [{"text": text, "citations": [0]}]}
            for n in range(20)
        ]  # fmt: skip

    paths = files(**{f"run{number}": answers(number) for number in range(60)})
    tracemalloc.start()
    try:
        count = sum(len(located.query.reports) for located in read(paths, "trec-rag"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 1200
    assert peak < 16e6


def test_a_folder_of_runs_is_read_with_its_topics(
    files: Callable[..., list[Path]], tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    jsonl(folder / "heron", OF_2024)
    jsonl(folder / "otter", OF_2025)
    (query,), _ = loaded([folder, *files(topics=f"31\t{BRIDGE}\n")])
    assert [report.system for report in query.reports] == ["heron", "otter"]


@pytest.mark.django_db
def test_the_command_loads_runs_with_all_that_belongs_to_them(
    files: Callable[..., list[Path]],
) -> None:
    paths = files(
        run=[OF_2024, OF_2026],
        topics_tsv=f"31\t{BRIDGE}\nrag2026-4\t{BAKERS}\n",
        bank=[NUGGETIZER],
        documents=[MSMARCO],
        lists_run="31 Q0 doc_01#2_11 1 9.5 bm25\n",
    )
    output = run("load_batch", *paths, "--name", "t")
    assert "Loaded batch 't' (trec-rag): 2 queries, 1 passages" in output
    assert "3 nuggets" in output
    assert load_batch(paths, "t").unchanged
    assert Batch.objects.get().format == "trec-rag"


def test_a_native_line_with_nuggets_is_none_of_trec(files: Callable[..., list[Path]]) -> None:
    assert recognise(files(native=[{"id": "q", "text": "Why?", "nuggets": []}])) == "native"


def test_the_reader_is_registered_before_those_with_a_looser_recognition() -> None:
    assert next(iter(READERS)) == "trec-rag"
