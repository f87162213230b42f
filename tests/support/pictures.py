"""Takes the pictures of the status page for the README, on a lab that runs and is well.

``PYTHONPATH=include:tests python3 -m support.pictures LAB_HOME``, for example after ``include/lab demo --keep``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from lab.api import Lab
from lab.layout import PROJECT
from support.airflow_lab import AirflowSession
from support.browser import chromium

PICTURES = PROJECT / "include" / "screenshots"
#: What has to have looked once before the page can be green; then readiness judges what these found.
FIRST = ("flows", "canary", "checksum_audit", "lag_audit", "config_sync", "offsets", "offset_syncs", "health")
#: Name, width and height of each picture, in CSS pixels.
SIZES = (("status.png", 900, 760), ("phone.png", 390, 760))
VERDICT = "document.querySelector('.verdict')?.innerText === 'WELL'"


def main(folder: Path) -> None:
    """Let every watch look, wait until the page says that all is well, and keep what a person sees."""
    session = AirflowSession(Lab(folder), "admin")
    for dag in (f"dr_{name}" for name in (*FIRST, "readiness")):
        assert session.ended(dag, run := session.trigger(dag)) == "success", session.why(dag, run)
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as page:
        url = str(session.http.base_url)
        page.log_in(url, session.token)
        for name, width, height in SIZES:
            page.resize(width, height)
            page.go(f"{url}/kafka-dr/status?reload=false")
            page.wait(VERDICT)
            page.picture(PICTURES / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
