"""A conflict audit continues only from what was kept of the same members, with keys that can be compared."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobs.conflicts.origins import AskedMembers, MemberBlock, OriginLog
from jobs.conflicts.run import ConflictRun
from kafka_dr.clock import Stopwatch, SystemClock
from kafka_dr.conflicts.state import ConflictState
from kafka_dr.topology.conflicts import ConflictsSpec
from support.kept_list import CONTENT_KEYS

ASKED = AskedMembers(
    datetime(2026, 11, 29, tzinfo=UTC), {n: OriginLog(f"id-{n}", {}, {}, frozenset()) for n in ("east", "west")}, (), ()
)
SITES = (("east", "id-east"), ("west", "id-west"))
ENCRYPTION = CONTENT_KEYS.new()
KEPT = ConflictState(SITES, "hashed", 0, "20261129T000000Z-abcdef", (), (), ENCRYPTION)


@pytest.fixture
def run(tmp_path: Path) -> ConflictRun:
    nothing: Any = None
    block = MemberBlock("shop", nothing, {"east": "shop-east", "west": "shop-west"}, {}, ())
    watch = Stopwatch(SystemClock())
    records = tmp_path / "audits" / "shop" / "conflicts" / "all-members" / "records" / KEPT.kept
    records.mkdir(parents=True)
    (records / "_SUCCESS").touch()
    return ConflictRun(nothing, block, ConflictsSpec(skew_ms=1), {}, tmp_path, "", watch, CONTENT_KEYS)


def test_it_continues_with_the_key_of_the_audit_before(run: ConflictRun) -> None:
    assert run._continued(ASKED, KEPT) == (ENCRYPTION, KEPT, [])


def test_a_first_audit_and_one_from_the_beginning_say_nothing_about_it(run: ConflictRun) -> None:
    encryption, before, said = run._continued(ASKED, None)
    assert encryption is not None
    assert encryption.salt != ENCRYPTION.salt
    assert (before, said) == (None, [])


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        (replace(KEPT, sites=SITES[::-1]), "the members are other ones, or in another order"),
        (replace(KEPT, sites=(SITES[0], ("west", "another"))), "the members are other ones"),
        (replace(KEPT, key_form="plain"), "keys or values are kept in another form"),
        (replace(KEPT, key_form="hashed, with values"), "keys or values are kept in another form"),
        (replace(KEPT, encryption=None), "keys or values are kept in another form"),
        (replace(KEPT, encryption=replace(ENCRYPTION, check="0" * 32)), "keys were hashed with another key"),
        (replace(KEPT, kept="20261129T000000Z-000000"), "the records that the last audit has kept are gone"),
    ],
)
def test_it_begins_again_where_records_could_not_be_compared_and_says_why(
    run: ConflictRun, kept: ConflictState, why: str
) -> None:
    encryption, before, (said,) = run._continued(ASKED, kept)
    assert before is None
    assert encryption != kept.encryption
    assert said.startswith(f"it began again and read all that the logs hold: {why}")
