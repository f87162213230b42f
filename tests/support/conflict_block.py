"""A block whose conflicts are audited, in the lab's topology, and reports of such audits."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from kafka_dr.conflicts.report import ConflictCount, ConflictReport, OriginRead
from kafka_dr.conflicts.rules import Certainty

_KEYS = ("principals", "operator_principal", "probe_principal", "audit_principal", "replicator_principal", "approvers")


def declared_block(lab_topology: Path, folder: Path) -> Path:
    """Write the lab's topology with a block instead of its group."""
    topology = yaml.safe_load(lab_topology.read_text())
    group = topology.pop("protection_groups")["orders"]
    block = {key: group[key] for key in (*_KEYS, "objectives", "timing")}
    block["flow"] = {**group["flow"], "naming": "default"}
    members = {name: {"route": {"kind": "file", "path": f"/srv/route/{name}.json"}} for name in ("east", "west")}
    topology["active_active"] = {
        "shop": {**block, "members": members, "topics": ["baskets"], "conflicts": {"skew_ms": 500}}
    }
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump(topology))
    return path


def conflict_report(certainty: Certainty | None = None, *, expired: int = 0) -> dict[str, Any]:
    """Return what an audit reports that found three conflicts, or none."""
    counts = (ConflictCount("baskets", "east", "west", "write_write", certainty, False, True, 3),) if certainty else ()
    shown = {
        "kind": "write_write", "certainty": certainty, "topic": "baskets", "key": "0a1b", "equal": False,
        "earlier_origin": "east", "earlier_partition": 0, "earlier_offset": 7, "earlier_deletes": False,
        "later_origin": "west", "later_partition": 0, "later_offset": 3, "later_deletes": True,
        "winner": "west", "margin_ms": 12, "within_skew": True,
    }  # fmt: skip
    return ConflictReport(
        "shop",
        datetime(2026, 11, 29, tzinfo=UTC),
        False,
        ("east", "west"),
        500,
        "hashed",
        counts,
        (OriginRead("east", "baskets", 0, 0, 9, 9, expired),),
        shown=(shown,) if certainty else (),
        table="t",
    ).to_json()
