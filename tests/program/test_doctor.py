"""`tandem doctor` says what is wrong while Django cannot even start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.once


@pytest.mark.every_case
@pytest.mark.parametrize("setting", ["SECRET_KEY", "DATABASE_URL", "secret_key"])
def test_an_unusable_setting_is_a_line_with_its_mend(setting: str, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "TANDEM_DATA_DIR": str(tmp_path), "TANDEM_PROXIES": "1"}
    if setting == "DATABASE_URL":
        env |= {"DATABASE_URL": "mysql://x", "DEBUG": "1"}
    if setting == "secret_key":  # a key that cannot be read
        (tmp_path / setting).mkdir()
        env |= {"TANDEM_PLAIN_HTTP": "1"}
    command = [sys.executable, "-m", "tandem", "doctor"]
    lines = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert lines.returncode == 1
    assert lines.stdout.startswith("mend    settings: ")
    assert setting in lines.stdout
    assert "Traceback" not in lines.stdout + lines.stderr
    done = subprocess.run(
        [*command, "--json"], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["well"]) == (1, False)
    assert setting in answer["checks"][0]["says"]
