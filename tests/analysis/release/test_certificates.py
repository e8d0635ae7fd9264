"""A release carries what was certified, and the script that checks it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis.release.verify import verify
from annotation.models import Campaign, TrustCertificate, TrustPlan
from tandem.trust.canonical import canonical, digest_of
from tandem.trust.certificate import certificate
from tests.analysis.release.conftest import FREEZE, write_study
from tests.cast import run
from tests.trust.certified import LOOKS, commitment, labels, made

pytestmark = pytest.mark.django_db


def certified(campaign: Campaign, **changed: Any) -> TrustCertificate:
    of = made()
    plan = commitment(of, 1, **({"batch": campaign.batch.digest} | changed))
    of_plan = labels(plan, of.wrong)
    looks = [LOOKS[1] | {"labelled": len(of_plan)}]
    document = certificate(plan, of_plan, looks, "2026-11-10T09:00:00+00:00")
    row = TrustPlan.objects.create(
        campaign=campaign, kind="certify", number=1, document=plan, digest=digest_of(plan)
    )
    return TrustCertificate.objects.create(plan=row, document=document, digest=digest_of(document))


def test_a_release_with_a_certificate_is_checked_by_the_command_and_the_script(
    tmp_path: Path,
) -> None:
    study, release = write_study(tmp_path / "study"), tmp_path / "release"
    campaign = Campaign.objects.get()
    row = certified(campaign)
    run("freeze_study", study, "--output", release, *FREEZE)
    (name,) = (
        each["file"] for each in json.loads((release / "release.json").read_text())["certificates"]
    )
    file = release / name
    assert file.read_bytes() == canonical(row.document)
    found = verify(release)
    assert found.wrong == []
    assert f"{name}, consistent, not proven genuine ({row.digest})" in found.checked
    script = [sys.executable, "-I", "-S", str(release / "check_certificate.py")]
    done = subprocess.run(
        [*script, str(file), row.digest], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    file.write_bytes(file.read_bytes().replace(b'"wrong":[0', b'"wrong":[1', 1))
    wrong = verify(release).wrong
    assert f"{name} differs from its checksum" in wrong
    assert f"{name}: its SHA-256 is not the one that was given" in wrong


def test_a_certificate_of_another_batch_is_named(tmp_path: Path) -> None:
    study, release = write_study(tmp_path / "study"), tmp_path / "release"
    certified(Campaign.objects.get(), batch="d" * 64)
    run("freeze_study", study, "--output", release, *FREEZE)
    (wrong,) = verify(release).wrong
    assert wrong.endswith("is about a batch that is not in the release")
