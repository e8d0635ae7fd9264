"""A certificate says what was proven, and whoever reads it can compute it again."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from hashlib import sha256
from pathlib import Path

import pytest

from tandem.trust import check_certificate
from tandem.trust.canonical import canonical, digest_of
from tandem.trust.certificate import (
    NOT_CLAIMED,
    CertificateError,
    certificate,
    certificate_page,
    verify,
    verify_bytes,
)
from tandem.trust.plan import plan_of
from tandem.trust.state import WrongOrderError, state_of
from tandem.types import JSON
from tests.extent import Extent
from tests.trust.certified import LOOKS, commitment, issued, issued_by_system, labels, made

SCRIPT = Path(check_certificate.__file__)
AT = "2026-11-10T09:00:00+00:00"


def run_alone(file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script in an interpreter without any installed package."""
    command = [sys.executable, "-I", "-S", str(SCRIPT), str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def assert_no_byte_changes(content: bytes) -> None:
    """With its digest, a file with any byte changed is refused."""
    digest = sha256(content).hexdigest()
    assert verify_bytes(content, digest).genuine
    step = 1 if Extent.everything else len(content) // 97
    for place in range(0, len(content), step):
        for other in (content[place] ^ 1, content[place] ^ 32):
            changed = content[:place] + bytes([other]) + content[place + 1 :]
            assert verify_bytes(changed, digest).wrong


class TestWhatItSays:
    def test_the_statement_in_words_and_numbers(self) -> None:
        document, of = issued(), made()
        stated, cells = document["predicate"], int(of.plan.cells.sum())
        share = f"{round(100 * stated['share'], 1):g}"
        assert stated["certified"] > 0
        assert stated["statement"] == (
            f"jude 🌉 may decide {share} % of the {cells} cells on relevant in these 120 queries: "
            "at most 10 % of them are wrong, with confidence 95 %."
        )

    def test_it_is_an_in_toto_statement_about_the_batch_and_the_verdicts(self) -> None:
        document = issued()
        assert document["_type"] == "https://in-toto.io/Statement/v1"
        digests = {each["name"]: each["digest"]["sha256"] for each in document["subject"]}
        assert digests == {"batch": "b" * 64, "verdicts": "v" * 64}

    def test_it_names_what_is_not_established(self) -> None:
        lines = issued()["predicate"]["not_established"]
        assert [line.partition(".")[0] for line in lines[:5]] == [
            "Rankings of systems",
            "Other systems",
            "Other texts",
            "Evidence spans",
            "Future queries",
        ]
        assert "may differ by 20 %" in lines[0]
        assert lines[5] == "Queries that were left out: 12, because they are for development."
        assert NOT_CLAIMED.endswith("other texts, evidence spans or future queries.")

    def test_its_numbers_are_those_of_the_state(self) -> None:
        stated = issued()["predicate"]
        of = made()
        plan = commitment(of)
        state = state_of(plan_of(plan), labels(plan, of.wrong))
        assert [cut["certified_after"] for cut in stated["cuts"]][: state.certified] == list(
            state.decided_after
        )
        assert stated["cuts"][0]["bound"] == state.bound(0) <= 0.1
        assert stated["share"] == state.share
        assert stated["truth"]["floor"] == {"value": 0.054, "reason": None}

    def test_systems_have_their_shares_and_no_bounds(self) -> None:
        stated = issued()["predicate"]
        at = stated["certified"] - 1
        shares = {"anna": [0.4, 0.6, 0.8], "bob": [0.6, 0.8, 1.0]}
        assert stated["systems"] == {
            name: {"share": own[at], "bound": None} for name, own in shares.items()
        }

    def test_nothing_is_issued_where_nothing_is_certified(self) -> None:
        of = made()
        plan = commitment(of)
        looks = [LOOKS[0] | {"labelled": 10}]
        with pytest.raises(CertificateError, match="certify nothing"):
            certificate(plan, labels(plan, of.wrong, 10), looks, AT)

    def test_labels_out_of_order_are_refused(self) -> None:
        of = made()
        plan = commitment(of)
        swapped = labels(plan, of.wrong)
        swapped[3:5] = reversed(swapped[3:5])
        with pytest.raises(WrongOrderError, match="before its turn"):
            certificate(plan, swapped, [LOOKS[1] | {"labelled": len(swapped)}], AT)


Change = Callable[[JSON], object]
CHANGES: dict[str, tuple[Change, str]] = {
    "a larger share": (lambda d: d["predicate"].update(share=0.99), "share is 0.99"),
    "other words": (lambda d: d["predicate"].update(statement="All is well."), "All is well"),
    "fewer wrong cells": (
        lambda d: [each.update(wrong=[0, 0, 0]) for each in d["predicate"]["draws"][:5]],
        "",
    ),
    "a query left out": (lambda d: d["predicate"]["draws"].pop(2), "look"),
    "queries swapped": (
        lambda d: d["predicate"]["draws"].insert(0, d["predicate"]["draws"].pop(1)),
        "before its turn",
    ),
    "another seed": (lambda d: d["predicate"]["plan"].update(seed="77"), "before its turn"),
    "the whole level": (lambda d: d["predicate"]["plan"].update(level=0.05), "not the level"),
    "a larger risk": (lambda d: d["predicate"]["plan"].update(risk=0.2), ""),
    "another batch": (lambda d: d["subject"][0]["digest"].update(sha256="c" * 64), "subject.0"),
    "another plan": (lambda d: d["predicate"]["plan"].update(campaign="x"), "plan_sha256"),
    "nothing excluded": (lambda d: d["predicate"]["not_established"].pop(), "not_established"),
    "a bound for a system": (
        lambda d: d["predicate"]["systems"]["anna"].update(bound=0.01),
        "systems.anna.bound",
    ),
    "a sentence more": (lambda d: d["predicate"].update(ranking="A > B"), "ranking"),
    "no plan": (lambda d: d["predicate"].pop("plan"), "not a certificate"),
    "a list": (lambda d: d.update(predicate=[]), "not a certificate"),
    "a huge number": (
        lambda d: d["predicate"]["draws"][0].update(wrong=[10**30] * 3),
        "",
    ),
    "a cell more": (lambda d: d["predicate"]["draws"][0]["wrong"].append(1), "nested"),
    "a look before": (lambda d: d["predicate"]["looks"].reverse(), "looks"),
}


class TestVerification:
    def test_without_a_digest_it_is_consistent_and_not_proven_genuine(self) -> None:
        found = verify(issued())
        assert (found.wrong, found.genuine) == ([], False)
        assert found.verdict == "consistent, not proven genuine"

    def test_with_its_digest_from_elsewhere_it_is_genuine(self) -> None:
        document = issued()
        assert verify(document, digest_of(document)).verdict == "genuine"
        found = verify(document, "0" * 64)
        assert (found.verdict, found.wrong) == (
            "wrong",
            ["its SHA-256 is not the one that was given"],
        )

    def test_the_digest_is_that_of_the_file(self) -> None:
        content = canonical(issued())
        assert verify_bytes(content, sha256(content).hexdigest()).genuine

    @pytest.mark.parametrize("number", [1, 3])
    def test_later_plans_have_their_level(self, number: int) -> None:
        assert verify(issued(number)).wrong == []

    @pytest.mark.every_case
    @pytest.mark.parametrize("what", CHANGES)
    def test_a_changed_document_is_refused_even_without_a_digest(self, what: str) -> None:
        change, words = CHANGES[what]
        document = json.loads(canonical(issued()))
        change(document)
        found = verify(document)
        assert found.verdict == "wrong"
        assert words in " ".join(found.wrong)

    def test_a_file_that_was_written_again_is_refused(self) -> None:
        (wrong,) = verify_bytes(json.dumps(issued(), indent=1).encode()).wrong
        assert "canonical" in wrong
        twice = canonical(issued())[:-1] + b',"_type":"x"}'
        assert verify_bytes(twice).wrong

    def test_one_byte_changed_is_refused(self) -> None:
        assert_no_byte_changes(canonical(issued()))


def by_system(document: JSON) -> JSON:
    return document["predicate"]["plan"]["by_system"]


CHANGES_BY_SYSTEM: dict[str, Change] = {
    "a smaller bound": lambda d: d["predicate"]["systems"]["anna"].update(bound=0.05),
    "no bound": lambda d: d["predicate"]["systems"]["bob"].update(bound=None),
    "a larger level": lambda d: by_system(d).update(level=0.04),
    "a larger part": lambda d: by_system(d).update(part=0.9),
    "a negative part": lambda d: (
        by_system(d).update(part=-0.5),
        d["predicate"]["plan"].update(level=0.06),
    ),
    "errors of the other system": lambda d: [
        each["by_system"].update(anna=each["by_system"]["bob"], bob=each["by_system"]["anna"])
        for each in d["predicate"]["draws"]
    ],
    "fewer errors": lambda d: [
        each["by_system"].update(anna=[0, 0, 0]) for each in d["predicate"]["draws"]
    ],
    "more errors than cells": lambda d: d["predicate"]["draws"][0]["by_system"].update(
        anna=[0, 0, 99]
    ),
    "a query less": lambda d: by_system(d)["accepted"]["anna"].pop(),
    "more cells": lambda d: by_system(d)["accepted"]["anna"][0].__setitem__(2, 99),
    "no such plan": lambda d: d["predicate"]["plan"].pop("by_system"),
}


class TestBoundsBySystem:
    def test_they_are_beside_the_statement_and_say_how_far_systems_may_be_apart(self) -> None:
        document = issued_by_system()
        stated = document["predicate"]
        bounds = [own["bound"] for own in stated["systems"].values()]
        assert all(0.05 < bound < 0.2 for bound in bounds)
        apart = f"{round(100 * sum(bounds), 1):g} %"
        assert f"Two equal systems may differ by {apart} if" in stated["not_established"][0]
        assert verify(document).wrong == []
        assert check_certificate.differences(json.loads(canonical(document))) == []
        shown = certificate_page(document)
        assert shown["part"] == "50 %"
        assert [name for name, _, bound in shown["systems"] if bound] == ["anna", "bob"]

    @pytest.mark.every_case
    @pytest.mark.parametrize("what", CHANGES_BY_SYSTEM)
    def test_a_changed_one_is_refused_by_the_library_and_the_script(self, what: str) -> None:
        document = json.loads(canonical(issued_by_system()))
        CHANGES_BY_SYSTEM[what](document)
        if "plan" in document["predicate"]:
            document["predicate"]["plan_sha256"] = digest_of(document["predicate"]["plan"])
        assert verify(document).verdict == "wrong"
        try:
            wrong = check_certificate.differences(document)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            wrong = [str(error)]
        assert wrong

    def test_one_byte_changed_is_refused(self) -> None:
        assert_no_byte_changes(canonical(issued_by_system()))


class TestTheScript:
    def test_it_is_at_most_200_lines_and_imports_the_standard_library_alone(self) -> None:
        text = SCRIPT.read_text("utf-8")
        assert len(text.splitlines()) <= 200
        nodes = list(ast.walk(ast.parse(text)))
        imported = {
            each.name for node in nodes if isinstance(node, ast.Import) for each in node.names
        }
        imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        assert "json" in imported <= {*sys.stdlib_module_names, "collections.abc"}

    @pytest.mark.parametrize("seed", range(4))
    def test_it_computes_the_same_as_the_library(self, seed: int) -> None:
        assert check_certificate.differences(json.loads(canonical(issued(1, seed)))) == []

    def test_a_bare_interpreter_checks_a_file(self, tmp_path: Path) -> None:
        content = canonical(issued())
        digest = sha256(content).hexdigest()
        file = tmp_path / "certificate.json"
        file.write_bytes(content)
        genuine = run_alone(file, digest)
        assert (genuine.returncode, genuine.stderr) == (0, "")
        assert issued()["predicate"]["statement"] in genuine.stdout
        alone = run_alone(file)
        assert alone.returncode == 1
        assert "not proven genuine" in alone.stdout
        assert run_alone(file, "0" * 64).returncode == 3
        file.write_bytes(content.replace(b'"wrong":[0', b'"wrong":[1', 1))
        changed = run_alone(file)
        assert (changed.returncode, changed.stderr) == (3, "")

    def test_what_is_wrong_for_the_library_is_wrong_for_the_script(self) -> None:
        # It computes the statement, and not the explanations beside it.
        beside = ("nothing excluded", "a bound for a system", "a sentence more")
        for what, (change, _) in CHANGES.items():
            document = deepcopy(issued())
            change(document)
            try:
                wrong = check_certificate.differences(document)
            except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
                wrong = [str(error)]
            assert bool(wrong) != (what in beside), what


def test_the_page_has_the_statement_and_what_it_does_not_say() -> None:
    document = issued()
    shown = certificate_page(document)
    assert shown["certificate"]["statement"] == document["predicate"]["statement"]
    assert shown["digest"] == digest_of(document)
    assert shown["floor"] == "5.4 %"
    assert [cut["bound"] is None for cut in shown["cuts"]] == [
        cut["bound"] is None for cut in document["predicate"]["cuts"]
    ]
