from __future__ import annotations

import subprocess
import sys
from pathlib import Path

INCLUDE = Path(__file__).parents[3] / "include"


def test_a_step_does_not_load_what_only_archives_and_reports_need() -> None:
    """Each step is a process of its own, and applications wait for it: Arrow alone takes half a second to import."""
    seen = "import sys, kafka_dr.verbs.runner; print([name for name in ('pyarrow', 'pandas') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", seen], cwd=INCLUDE, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"
