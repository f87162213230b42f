"""Fetch what another standby holds more than the target, before the target is opened: so no survivor's record is lost.

Which standby holds more is decided by positions in the log of the lost cluster, partition by partition, once nothing is
copied to any of them any more. Where the target's copy ends in the donor's log, content says, exactly or not at all.
This process writes the records itself, and no flow: each batch in one transaction with its ledger. It has
``fetch_seconds``; what is left then stays on the donor, and nothing is copied over it there.

A failover does not fail because something cannot be fetched. It is said what stays where, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_dr.clusters import OffsetRange, TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.planned.fence_source import stable_ends
from kafka_dr.failover.unplanned.donors import Donor, Donors
from kafka_dr.failover.unplanned.fetch_plan import Best, begun, by_content, with_most
from kafka_dr.failover.unplanned.fetch_writing import (
    Wanted,
    Why,
    copies_of_lost,
    fetch_until,
    ledger_of,
    named_on,
)
from kafka_dr.named_rows import positions_from_json, positions_to_json
from kafka_dr.offsets.translate.read_logs import held_by
from kafka_dr.rescue.copy_reached import UNVERIFIED, CopyReached
from kafka_dr.rescue.fetch_ledger import Ledger, transactional_id
from kafka_dr.rescue.fetching import OVER
from kafka_dr.runs import background
from kafka_dr.runs.record import first_few
from kafka_dr.runs.run import Run

Offsets = Mapping[TopicPartition, int]
#: The fact that says what came of a fetch.
FETCHED = "fetched"
#: How long the last transaction may take to end, in seconds.
_STABLE_SECONDS = 8.0
#: How many partitions a sentence names.
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Target:
    """What the target holds.

    :param held: of each partition, what its log holds
    """

    ledger: Ledger
    held: Mapping[TopicPartition, OffsetRange]
    reached: CopyReached

    @classmethod
    def seen(cls, run: Run, by_flow: Offsets) -> _Target:
        """Look at it. Nobody writes to it meanwhile: the transactional id of a fetch was taken over."""
        ledger, held = ledger_of(run), held_by(run.copies_by(run.flow), run.copied_by(run.flow))
        return cls(ledger, held, CopyReached.of(by_flow, ledger, {p: each.end for p, each in held.items()}))


def is_possible(run: Run) -> bool:
    """Return whether there is another standby from which something can be, or was, fetched."""
    return run.record().has_several


def is_wanted(run: Run) -> bool:
    """Return whether something is to be fetched, if another standby holds more."""
    return is_possible(run) and run.group.timing.fetch_seconds > 0


def intent(run: Run) -> Sequence[str]:
    """Say what fetching means; nothing for a pair."""
    if not is_wanted(run):
        return ()
    return (
        f"fence every other standby, and fetch to {run.target} what one of them has copied more, for at most "
        f"{duration(run.group.timing.fetch_seconds)}",
    )


def act(run: Run, by_flow: Offsets | None, donors: Donors) -> dict[str, Any]:
    """Fetch, and journal after it where the lost cluster's log and the target's correspond.

    :param by_flow: next to copy for the target's own flow, which is fenced; ``None`` if that is not known
    :returns: what was fetched and what was left, for the evidence
    """
    began = run.clock.monotonic()
    run.write_fact("other_standbys", {"standbys": [_row(name, each) for name, each in sorted(donors.items())]})
    mine = by_flow or {}
    target = _Target.seen(run, mine)
    best = {} if by_flow is None else with_most(target.reached, donors)
    why: Why = {}
    if best:
        why = _fetched(run, best, target, donors, began + run.group.timing.fetch_seconds)
        # What another process had begun cannot be committed after this.
        run.operator(run.target).transactions.take_over([transactional_id(run.group.name)])
        stable_ends(run, run.target, copies_of_lost(run, run.target), seconds=_STABLE_SECONDS)
        target = _Target.seen(run, mine)
        _journal(run, target)
    stays = {p: each for p, each in sorted(best.items()) if target.reached.copied.get(p, 0) < each[1]}
    fetched = {p: entry for p, entry in target.ledger.items() if entry.records}
    found = {
        "records": sum(entry.records for entry in fetched.values()),
        "standbys": sorted({entry.donor for entry in fetched.values()}),
        "seconds": round(run.clock.monotonic() - began, 1),
        "left": [{"standby": name, "partition": str(p), "why": why.get(p, OVER)} for p, (name, _) in stays.items()],
        "left_until": positions_to_json({p: offset for p, (_, offset) in stays.items()}),
        "unknown": [
            *([f"it is not known how much {run.target} holds, so nothing was fetched"] if by_flow is None else []),
            *(
                f"it is not known how much {name} holds: {each}"
                for name, each in sorted(donors.items())
                if isinstance(each, KafkaDrError)
            ),
        ],
    }
    run.write_fact(FETCHED, found)
    return found


def _journal(run: Run, target: _Target) -> None:
    """Journal how far the target's copy has come, and where its log ends then."""
    before, called = run.fact("target_ends"), named_on(run, run.target).at_target
    ends = positions_from_json(before["ends"]) | {called(p): each.end for p, each in target.held.items()}
    run.write_fact(UNVERIFIED, {**run.fact(UNVERIFIED), **target.reached.to_json()})
    run.write_fact("target_ends", {**before, "ends": positions_to_json(ends)})


def _row(name: str, donor: Donor | KafkaDrError) -> dict[str, Any]:
    return {"standby": name, **({"unknown": str(donor)} if isinstance(donor, KafkaDrError) else donor.to_json())}


def _fetched(run: Run, best: Best, target: _Target, donors: Donors, deadline: float) -> Why:
    """Fetch what the other standbys hold more, and return why something of it may be left, by partition."""
    answering = {name: each for name, each in donors.items() if isinstance(each, Donor)}
    why = dict.fromkeys(best.keys() - target.held.keys(), f"{run.target} has no such partition")
    wanted = begun(best, target.ledger, target.reached, answering, target.held)
    left = best.keys() & target.held.keys() - wanted.keys()
    others = {p: best[p] for p in left & target.reached.copied.keys()}
    # Its log holds something that its flow has not copied.
    why |= dict.fromkeys(left - others.keys(), f"it is not known how far the copy of {run.target} has come")
    if others:
        asked = partial(by_content, run, others, target.ledger, target.reached, answering)
        said = f"content does not show where the copy of {run.target} ends there"
        try:
            wanted |= background.ask("what both copies hold", asked, seconds=deadline - run.clock.monotonic())
        except KafkaDrError as error:
            said = f"it is not known where the copy of {run.target} ends there: {error}"
        why |= {p: said for p in others if p not in wanted}
    if not wanted:
        return why
    run.write_fact("fetch", {"wanted": _rows(wanted)})
    return why | fetch_until(run, wanted, deadline)


def _rows(wanted: Wanted) -> list[dict[str, Any]]:
    return [
        {"partition": str(p), "standby": each.entry.donor, "from": each.left.start, "until": each.left.end}
        for p, each in sorted(wanted.items())
    ]


def copied_by_survivors(fetched: Mapping[str, Any], copied: Offsets) -> Offsets:
    """Return how far the lost cluster was copied to any standby that answered: what stays on one is not lost.

    :param fetched: what a run journaled of its fetch; empty if there was none
    :param copied: how far the target's copy has come
    """
    return {**copied, **positions_from_json(fetched.get("left_until", ()))}


def sentences(run: Run, fetched: Mapping[str, Any]) -> list[str]:
    """Say what was fetched, what stays where and why, and of which standby that is not known."""
    said = list(fetched.get("unknown", ()))
    if records := fetched.get("records"):
        named = " and ".join(fetched["standbys"])
        said.insert(0, f"{records} records were fetched from {named} in {duration(fetched['seconds'])}")
    for name in sorted({each["standby"] for each in fetched.get("left", ())}):
        rows = [f"{each['partition']}: {each['why']}" for each in fetched["left"] if each["standby"] == name]
        shown = "; ".join(first_few(rows, _MOST_NAMED))
        said.append(
            f"{name} holds records of {len(rows)} partitions that {run.target} lacks, and keeps them ({shown}). "
            + (f"Nothing is copied to {name}" if run.opens_copy else f"They arrive late, once {run.source} is back")
        )
    return said
