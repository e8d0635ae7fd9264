"""What a plan has proven is written down for others, who check it without the database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management.base import CommandError
from django.template.loader import render_to_string
from django.utils.html import escape

from annotation.models import TrustCertificate, TrustPlan
from audit.models import Event
from tandem.program.main import main
from tandem.trust.canonical import digest_of
from tandem.trust.certificate import certificate_page, verify, verify_bytes
from tandem.trust.envelope import sign
from tests.analysis.trust.cast import JUDGE, VARIABLE, all_answer, world
from tests.cast import run
from tests.trust.certified import issued

pytestmark = pytest.mark.django_db


def drawn(folder: Path) -> TrustPlan:
    world(folder)
    run("trust", "plan", "c", "--variable", VARIABLE, "--judge", JUDGE)
    run("trust", "draw", "c", "--queries", "60")
    return TrustPlan.objects.get()


def test_a_certificate_is_stored_and_written_and_checked_by_its_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = drawn(tmp_path)
    all_answer(plan, irrelevant={5}, queries=45)
    file = tmp_path / "certificate.json"
    said = run("trust", "certificate", "c", "--output", file)
    row = TrustCertificate.objects.get()
    assert "jude may decide 83.3 % of the 360 cells on relevant in these 60 queries" in said
    assert row.digest in said
    assert verify_bytes(file.read_bytes(), row.digest).genuine
    assert verify(row.document).wrong == []
    assert Event.objects.filter(event="trust.certified").count() == 1
    # Three people who always agree leave a faultless judge no risk.
    assert row.document["predicate"]["truth"]["floor"] == {"value": 0.0, "reason": None}
    assert main(["verify", str(file), "--digest", row.digest]) == 0
    assert "83.3 %" in capsys.readouterr().out
    assert main(["verify", str(file)]) == 1
    assert "consistent, not proven genuine" in capsys.readouterr().err
    key, signature = tmp_path / "key", tmp_path / "signature.json"
    key.write_bytes(b"k" * 32)
    signature.write_text(json.dumps(sign(row.document, b"k" * 32)))
    by_key = ["verify", str(file), "--key", str(key), "--signature", str(signature)]
    assert main(by_key) == 0
    assert main(by_key[:4]) == 1
    key.write_bytes(b"l" * 32)
    assert main(by_key) == 3
    file.write_bytes(file.read_bytes().replace(b'"wrong":[0', b'"wrong":[1', 1))
    assert main(["verify", str(file), "--digest", row.digest]) == 3


def test_nothing_is_certified_before_the_labels_prove_it(tmp_path: Path) -> None:
    plan = drawn(tmp_path)
    all_answer(plan, queries=5)
    with pytest.raises(CommandError, match="certify nothing: draw and label more"):
        run("trust", "certificate", "c")
    assert not TrustCertificate.objects.exists()


def test_a_stale_plan_has_no_certificate(tmp_path: Path) -> None:
    plan = drawn(tmp_path)
    all_answer(plan, queries=45)
    plan.campaign.batch.__class__.objects.update(digest="other")
    with pytest.raises(CommandError, match="the batch has changed since the commitment"):
        run("trust", "certificate", "c")


def test_the_page_to_print_is_made_from_the_document_alone() -> None:
    document = issued()
    document["predicate"]["plan"]["judge"]["name"] = "<b>jude</b>"
    page = render_to_string("results/certificate.html", certificate_page(document))
    stated = document["predicate"]
    assert f'<h1 class="statement">{escape(stated["statement"])}</h1>' in page
    for line in stated["not_established"]:
        assert escape(line) in page
    assert digest_of(document) in page
    assert "about 5.4 %, since people err too" in page
    assert "No system has a bound of its own" in page
    assert "tandem verify FILE --digest SHA-256" in page
    assert "<b>jude" not in page
