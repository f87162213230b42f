"""Evidence of a run, as its steps would have written it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.demo.run_evidence import RunEvidence

RUN = "demo-1"


def wrote(root: Path, name: str, **changes: Any) -> None:
    folder = root / "runs" / "orders" / RUN
    folder.mkdir(parents=True, exist_ok=True)
    payload = {"outcome": "done", "seconds": 1.5, "finished_at": "2026-11-20T14:00:00Z", "facts": {}, "proofs": []}
    (folder / name).write_text(json.dumps(payload | changes))


def evidence(root: Path) -> RunEvidence:
    return RunEvidence(root, group="orders", run=RUN)
