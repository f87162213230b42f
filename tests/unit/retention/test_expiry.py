"""What a topology keeps for a time only: when it goes, what stays, and dying in between."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.approvals.journaled import BY_NOBODY
from kafka_dr.audit.erasure import erasures_in
from kafka_dr.errors import Refused
from kafka_dr.evidence.expired_run import EvidenceExpired
from kafka_dr.evidence.sealed_run_check import check_sealed_run
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.register import Phase
from kafka_dr.rescue.kept import missing_from
from kafka_dr.retention.expiry import Expired, Expiry, expire_daily
from kafka_dr.runs.sealing import seal_run
from support.kept_list import RUN
from support.kept_world import KeptWorld, KilledHere

KEY = SigningKey.generate()
DAY = timedelta(days=1).total_seconds()
STABLE: dict[str, Any] = {"phase": Phase.STABLE, "active": "west", "standby": "east", "epoch": 1001, "run": "now"}


@pytest.fixture
def world(tmp_path: Path) -> KeptWorld:
    return at_rest(tmp_path)


def at_rest(folder: Path) -> KeptWorld:
    """Return a group whose failback has ended, with three sealed runs, and a dry run."""
    world = KeptWorld(folder)
    world.set_state(**STABLE)
    clients = world.clients(key=KEY)
    for run in ("run-1", "run-2", "run-3"):
        at = world.clock.now().isoformat()
        clients.evidence.write("orders", run, 1, "preflight", {"outcome": "done", "finished_at": at, "seen": "alice"})
        clients.evidence.write("orders", run, 12, "report", {"outcome": "done", "finished_at": at})
        seal_run(clients, "orders", run)
    clients.evidence.write("orders", "dry", 1, "preflight", {"outcome": "would_do", "finished_at": at})
    return world


def runs_in(folder: Path) -> dict[str, set[str]]:
    return {path.name: {file.name for file in path.iterdir()} for path in (folder / "runs" / "orders").iterdir()}


def removed(world: KeptWorld, **days: int) -> Expired:
    return Expiry(world.clients(key=KEY, **days), "orders").remove()


def test_without_a_rule_nothing_ever_expires(world: KeptWorld) -> None:
    world.clock.advance(10_000 * DAY)
    before = world.content()
    assert expire_daily("orders", world.clients()).sentences == ()
    assert not removed(world).anything
    assert world.content() == before


def test_kept_payloads_are_erased_by_the_rule_and_the_record_names_it(world: KeptWorld) -> None:
    world.clock.advance(29 * DAY - 1)
    assert not removed(world, payloads_days=30).anything
    world.clock.advance(1)
    before = world.content()
    found = Expiry(world.clients(payloads_days=30), "orders").look()
    assert (found.lists[0].matches.total, world.content()) == (7, before)
    assert removed(world, payloads_days=30).lists[0].erasure is not None
    (erasure,) = erasures_in(world.journal())
    assert (erasure.by, erasure.reason) == (
        "the topology",
        "evidence.retention.payloads_days: 30, needed until 2026-01-02",
    )
    kept = world.store.read()
    assert kept is not None
    assert missing_from(kept, world.store.folder, (erasure,)) == ""
    assert b"secret of" not in world.content()
    assert not removed(world, payloads_days=30).anything


def test_the_days_of_a_payload_begin_when_its_failback_has_ended(world: KeptWorld) -> None:
    world.clock.advance(40 * DAY)
    world.registers.by_cluster["west"].write_fact("orders", "home", "claim", {"left_by": RUN})
    at = (world.clock.now() - timedelta(days=5)).isoformat()
    world.registers.by_cluster["west"].write_fact("orders", "home", "caught_up", {"at": at})
    assert not removed(world, payloads_days=30).anything
    world.clock.advance(25 * DAY)
    assert removed(world, payloads_days=30).lists


def test_what_a_job_wrote_that_died_goes_with_the_payload_it_holds(world: KeptWorld) -> None:
    for name in ("records-20260110T000000Z-old", "records-20260228T000000Z-new"):
        (world.store.folder / name).mkdir()
    world.clock.advance(60 * DAY)
    removed(world, payloads_days=30)
    left = {path.name for path in world.store.folder.glob("records-*")}
    assert left == {"records-20260102T000000Z-aa", "records-20260228T000000Z-new"}


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.STABLE])
def test_nothing_expires_while_a_run_or_a_failback_may_need_it(world: KeptWorld, phase: Phase) -> None:
    world.set_state(**STABLE | {"phase": phase, "run": "disaster", "epoch": 2000})
    world.clock.advance(1000 * DAY)
    before = world.content()
    with pytest.raises(Refused, match=f"orders is {phase} by run disaster"):
        removed(world, payloads_days=30, runs_days=30)
    assert expire_daily("orders", world.clients(payloads_days=30)).outcome == "ok"
    assert world.content() == before


def test_nothing_expires_while_a_register_is_silent(world: KeptWorld) -> None:
    world.clock.advance(1000 * DAY)
    world.registers.silent = {"east"}
    with pytest.raises(Refused, match="the register of east does not answer"):
        removed(world, payloads_days=30, runs_days=30)


def test_old_runs_lose_their_evidence_and_their_seals_still_verify(world: KeptWorld) -> None:
    world.clock.advance(31 * DAY)
    found = removed(world, runs_days=30)
    # The newest seal stays whole; a dry run left nothing but its evidence.
    assert {each.run for each in found.runs.expired} == {"run-1", "run-2", "dry"}
    after = runs_in(world.folder)
    assert after["run-1"] == {"expired.json", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig", "signer.pem"}
    assert "report.html" in after["run-3"]
    assert "dry" not in after
    runs = world.folder / "runs" / "orders"
    for run in ("run-1", "run-2", "run-3", found.recorded_by):
        checked = check_sealed_run(runs / run, trusted=KEY.public_pem)
        assert (checked.verdict, checked.changed) == ("sound", ()), run
    assert "evidence.retention.runs_days: 30" in check_sealed_run(runs / "run-1").expired
    assert checked.chain == ("run-3", "run-2", "run-1")
    with pytest.raises(EvidenceExpired, match="recorded by run retention__"):
        world.clients().evidence.page("orders", "run-1")
    assert world.clients().evidence.sealed_step("orders", "run-1", "report") is None
    # What is missing without a record is still an attack.
    shutil.rmtree(runs / "run-1")
    assert "run run-1: its seal manifest.json came before this one and is missing" in (
        check_sealed_run(runs / "run-3", trusted=KEY.public_pem).changed
    )


def test_records_of_erasures_and_removals_never_expire(world: KeptWorld) -> None:
    world.clock.advance(31 * DAY)
    removed(world, payloads_days=30, runs_days=30)
    world.clock.advance(1000 * DAY)
    again = removed(world, payloads_days=30, runs_days=30)
    assert {each.run.partition("__")[0] for each in again.runs.expired} == {"run-3"}
    assert len([run for run, files in runs_in(world.folder).items() if any("92-erase" in name for name in files)]) == 1


def test_a_run_that_was_changed_or_waits_for_a_review_is_kept(world: KeptWorld) -> None:
    world.clock.advance(31 * DAY)
    (world.folder / "runs" / "orders" / "run-1" / "01-preflight.1.json").write_text("{}")
    world.registers.by_cluster["west"].write_fact("orders", "run-2", "answer.approval", {"verified": BY_NOBODY})
    found = removed(world, runs_days=30)
    assert [each.run for each in found.runs.expired] == ["dry"]
    assert "run run-1 is older than that, and is kept: its evidence is not what was sealed" in found.problems[0]
    assert expire_daily("orders", world.clients(key=KEY, runs_days=30)).outcome == "unknown"


def test_whatever_it_dies_after_no_run_is_taken_for_an_attack_and_the_next_call_finishes(tmp_path: Path) -> None:
    after = 0
    while True:
        after += 1
        world = at_rest(tmp_path / str(after))
        world.clock.advance(31 * DAY)
        try:
            Expiry(world.clients(dies_after=after, key=KEY, runs_days=30), "orders").remove()
            break
        except KilledHere:
            runs = world.folder / "runs" / "orders"
            for run in ("run-1", "run-2", "run-3"):
                assert check_sealed_run(runs / run, trusted=KEY.public_pem).verdict == "sound", (after, run)
        removed(world, runs_days=30)
        left = runs_in(world.folder)
        # The record is the group's newest seal by then, unless it died before.
        assert {run for run, names in left.items() if "01-preflight.1.json" in names} <= {"run-3"}, after
    assert after > 10


def test_it_looks_once_a_day(world: KeptWorld) -> None:
    clients = world.clients(key=KEY, runs_days=1)
    assert expire_daily("orders", clients).sentences == ("nothing has expired",)
    world.clock.advance(DAY - 1)
    assert expire_daily("orders", clients).sentences == ()
    world.clock.advance(2)
    assert "was removed" in expire_daily("orders", clients).sentences[0]
