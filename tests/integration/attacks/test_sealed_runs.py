"""Whoever can write the evidence, and has no signing key, can neither change a sealed run nor remove one unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.evidence.store import EvidenceStore
from kafka_dr.runs.request import StepName
from kafka_dr.runs.sealing import SEALED, seal_run
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


@pytest.fixture
def own_group(protection: Protection) -> SwitchedGroup:
    """Return a stable group."""
    return SwitchedGroup.adopt(protection)


def _sealed(group: SwitchedGroup, cluster: str) -> dict[str, Any]:
    """Return what a register knows of the group's seals, by run."""
    with group.protection.clients() as clients:
        history = clients.register(cluster).history(group.name)
    return {run: facts[SEALED] for run, facts in history.items() if SEALED in facts}


def test_each_run_is_signed_linked_to_the_one_before_and_known_to_both_registers(own_group: SwitchedGroup) -> None:
    request = own_group.go(StepName.REPORT)
    known = _sealed(own_group, "east")
    assert known == _sealed(own_group, "west")
    assert [fact["sequence"] for fact in known.values()] == list(range(1, len(known) + 1))
    runs = Path(own_group.protection.folder) / "evidence" / "runs" / own_group.name
    trusted = known[request.run]["public_key"]
    found = check_sealed_run(runs / request.run, trusted=trusted)
    assert (found.verdict, found.changed, found.unproven) == ("sound", (), ())
    assert list(found.chain) == [run for run in reversed(known) if run != request.run]

    first = found.chain[-1]
    (runs / first).rename(runs / "elsewhere")
    assert any(first in said for said in check_sealed_run(runs / request.run, trusted=trusted).changed)
    (runs / "elsewhere").rename(runs / first)
    _forge(runs, own_group.name, request.run)
    assert check_sealed_run(runs / request.run, trusted=trusted).verdict == "changed"


def test_a_run_that_is_sealed_again_without_news_changes_no_register(own_group: SwitchedGroup) -> None:
    (run,) = _sealed(own_group, "east")
    before = _sealed(own_group, "west")
    with own_group.protection.clients() as clients:
        seal_run(clients, own_group.name, run)
    assert _sealed(own_group, "west") == _sealed(own_group, "east") == before


def _forge(runs: Path, group: str, run: str) -> None:
    """Edit the claim, throw every proof away, and seal it again with another key."""
    folder = runs / run
    for proof in ("manifest*", "report*", "SHA256SUMS*", "signer*"):
        for file in folder.glob(proof):
            file.unlink()
    claim = next(folder.glob("*-claim.1.json"))
    claim.write_text(claim.read_text().replace("alice", "mallory"))
    EvidenceStore(runs.parents[1]).seal(group, run, key=SigningKey.generate())
