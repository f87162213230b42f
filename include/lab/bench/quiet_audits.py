"""What the audit of a quiet group costs when many groups share one Spark application, as in ``dr_checksum_audit``.

An audit that has nothing to read costs its start. The application starts once, and each group pays its share.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from lab.api import Lab
from lab.bench import many_groups
from lab.bench.offsets import lab_clients
from lab.errors import LabError
from lab.submitted import audit_argv, audit_environ, done

#: As many as an application of ``dr_checksum_audit`` takes.
GROUPS = 25
_SIDE_BY_SIDE, _DEADLINE_SECONDS = 4, 600.0


def measure(lab: Lab, console: Console, *, count: int = GROUPS) -> dict[str, Any]:
    """Create and adopt groups without records, and audit them twice: the second time their audits are kept already.

    :returns: the seconds of one quiet audit alone, of all in one application, and the share of one
    :raises LabError: an audit did not end well
    """
    groups = many_groups.names(count)
    many_groups.create(lab, count)
    with lab_clients(lab, lambda topology: many_groups.declared(topology, count)) as clients:
        many_groups.adopt_all(clients, groups)
    declared = many_groups.written(Path(lab.environ["KAFKA_DR_TOPOLOGY"]), count, lab.home.root)
    folder = lab.home.root / "spark" / "bench" / "quiet"
    folder.mkdir(parents=True, exist_ok=True)
    environ = audit_environ(lab)

    def alone() -> None:
        arguments = ("--flow", _flow(groups[0]), "--out", str(folder / groups[0]))
        done(audit_argv(lab, *arguments, topology=declared), environ, expected=(0,))

    def together() -> None:
        requests = _requests(folder, groups)
        done(
            audit_argv(lab, "--requests", str(requests), job="shared_audits", topology=declared), environ, expected=(0,)
        )
        _require_ended(folder, groups)

    together()
    of_one, of_all = (_seconds(do) for do in (alone, together))
    console.print(
        f"quiet audit: {of_one:.1f} s alone; {of_all / count:.1f} s each when {count} groups share {of_all:.1f} s"
    )
    return {
        "groups": count,
        "side_by_side": _SIDE_BY_SIDE,
        "seconds_alone": round(of_one, 2),
        "seconds_of_all": round(of_all, 2),
        "seconds_of_one": round(of_all / count, 2),
    }


def _flow(group: str) -> str:
    return f"{group}.east-to-west"


def _seconds(do: Any) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began


def _requests(folder: Path, groups: Sequence[str]) -> Path:
    asked = [
        {
            "audit": "checksum",
            "flow": _flow(name),
            "deadline_seconds": _DEADLINE_SECONDS,
            "ended": str(_ended(folder, name)),
            "arguments": ["--out", str(folder / name)],
        }
        for name in groups
    ]
    for name in groups:
        _ended(folder, name).unlink(missing_ok=True)
    path = folder / "requests.json"
    path.write_text(json.dumps({"side_by_side": _SIDE_BY_SIDE, "requests": asked}))
    return path


def _ended(folder: Path, group: str) -> Path:
    return folder / f"{group}.json"


def _require_ended(folder: Path, groups: Sequence[str]) -> None:
    """Raise an error unless every audit found its copy equal: what is unknown at once costs nothing."""
    for name in groups:
        said = json.loads(_ended(folder, name).read_text())
        if said["code"]:
            raise LabError(f"the audit of {name} ended with {said['code']}: {said['said']}")
