"""How long a group was without service, and what that time was spent on.

A person counts from the moment when the service was last seen to work, not from an approval. Before an unplanned
failover that is the newest record that was copied, or the last look at the source; in a planned one it is the fence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from kafka_dr.clusters import OffsetRange
from kafka_dr.errors import KafkaDrError
from kafka_dr.failover.unplanned import last_known
from kafka_dr.named_rows import positions_from_json
from kafka_dr.runs import admitted_writes
from kafka_dr.runs.run import Run

#: Control records take offsets, too, so the last data record may be a few offsets before the end.
_LOOK_BACK = 200
#: The parts of a recovery, in their order.
RecoveryPart = Literal["detection", "people", "switch", "applications"]


@dataclass(frozen=True, slots=True)
class ProvenService:
    """When the service was last seen to work.

    :param at: ``None`` if nothing shows it
    :param seen: what shows it, or why nothing does
    """

    at: datetime | None
    seen: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """From the last proven service to verified traffic; all times are aware.

    :param asked_at: when a person was asked first; ``None`` where nobody had to notice anything
    :param opened_at: when applications were let in on the target
    :param verified_at: when it was seen to work
    """

    service: ProvenService
    asked_at: datetime | None
    approved_at: datetime
    opened_at: datetime
    verified_at: datetime

    @property
    def since_fault(self) -> float | None:
        """The seconds without proven service; ``None`` if nobody knows when it was proven last."""
        return None if self.service.at is None else _between(self.service.at, self.verified_at)

    @property
    def since_approval(self) -> float:
        """The seconds from the last approval."""
        return _between(self.approved_at, self.verified_at)

    def seconds(self, rto_from: Literal["fault", "approval"]) -> float | None:
        """Return what is compared with the objective."""
        return self.since_fault if rto_from == "fault" else self.since_approval

    @property
    def parts(self) -> dict[RecoveryPart, float]:
        """What the time was spent on, in seconds; without the parts that are not known, or that there were not."""
        begins: list[tuple[RecoveryPart, datetime | None]]
        if self.asked_at is None:
            begins = [("switch", self.service.at), ("applications", self.opened_at)]
        else:
            begins = [
                ("detection", self.service.at),
                ("people", self.asked_at),
                ("switch", self.approved_at),
                ("applications", self.opened_at),
            ]
        ends = [at for _, at in begins[1:]] + [self.verified_at]
        known = ((part, begin, end) for (part, begin), end in zip(begins, ends, strict=True))
        return {part: _between(begin, end) for part, begin, end in known if begin is not None and end is not None}

    def to_json(self) -> dict[str, Any]:
        """Return what the report keeps."""
        return {
            "last_service_at": self.service.at and self.service.at.astimezone(UTC).isoformat(),
            "last_service_seen": self.service.seen,
            "since_fault_seconds": self.since_fault,
            "since_approval_seconds": self.since_approval,
            "parts": dict(self.parts),
        }


def of_planned(run: Run, verified_at: datetime) -> Recovery:
    """Return the recovery of a planned failover: the service worked until the fence."""
    fenced = datetime.fromisoformat(run.fact("fence_begun")["at"])
    return _recovery(run, ProvenService(fenced, f"{run.source} took writes until its fence"), None, verified_at)


def of_unplanned(run: Run, verified_at: datetime) -> Recovery:
    """Return the recovery of an unplanned failover."""
    asked = [
        datetime.fromisoformat(fact["asked_at"]) for name, fact in run.journal.items() if name.startswith("question.")
    ]
    service = _last_service(run, before=datetime.fromisoformat(run.fact("claim")["approved_at"]))
    # Where a person was asked before the source fell silent, nothing had to be detected any more.
    asked_at = max(filter(None, (min(asked, default=None), service.at)), default=None)
    return _recovery(run, service, asked_at, verified_at)


def _recovery(run: Run, service: ProvenService, asked_at: datetime | None, verified_at: datetime) -> Recovery:
    approved_at = datetime.fromisoformat(run.fact("claim")["approved_at"])
    return Recovery(service, asked_at, approved_at, admitted_writes.began(run), verified_at)


def _last_service(run: Run, *, before: datetime) -> ProvenService:
    """Return when the source was last seen to work: the newest of its records that was copied, or the last look at it.

    :param before: when somebody decided that it does not work
    """
    look = last_known.look(run)
    found: list[tuple[datetime, str]] = []
    if look is not None:
        found.append((look.at, f"the last look at {run.source}, which wrote a canary there"))
    try:
        found += [(at, f"the newest record that was copied from {run.source}") for at in _newest_copies(run, before)]
    except KafkaDrError as error:
        if not found:
            return ProvenService(None, f"nobody looked at {run.source}, and its copy cannot be read: {error}")
    proven = [each for each in found if each[0] <= before]
    if not proven:
        return ProvenService(None, f"nobody looked at {run.source} while it worked, and no record was copied from it")
    return ProvenService(*max(proven))


def _newest_copies(run: Run, before: datetime) -> Iterable[datetime]:
    """Return the times of the newest copied record; records with a later time than the decision show nothing."""
    ends = positions_from_json(run.fact("target_ends")["ends"])
    starts = run.operator(run.target).topics.log_starts(ends)
    ranges = {p: OffsetRange(max(starts[p], end - _LOOK_BACK), end) for p, end in ends.items() if end > starts[p]}
    records = run.clients.cluster(run.target, "audit").log.read(ranges)
    times = (datetime.fromtimestamp(each.timestamp_ms / 1000, UTC) for each in records if each.timestamp_ms > 0)
    newest = max((at for at in times if at <= before), default=None)
    return () if newest is None else (newest,)


def _between(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 3)
