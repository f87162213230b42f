"""The register's record of a protection group, and the order of such records.

The order is (epoch, revision): every write raises one of them, and an epoch that was used once is never used again.
Two different records with the same pair are a conflict: no cluster is opened until a person has decided.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, get_args

from kafka_dr.errors import NeedsPerson

SCHEMA_VERSION = 1
#: Fields that records of former versions lack, and what that means.
_ADDED: dict[str, Any] = {"attempt": 0, "executor": "", "attempt_at": None}

Verb = Literal[
    "adopt", "planned_failover", "unplanned_failover", "failback", "drill", "roll_back", "take_over", "un_adopt"
]


_NUMBERS = ("epoch", "revision", "attempt")
_TEXTS = ("group", "active", "standby", "run", "evidence_sha256", "approved_by")


class UnknownSchema(NeedsPerson):
    """A newer version of this project wrote the record."""


class Phase(StrEnum):
    """How far a group is between two switches, and before its first one."""

    ADOPTING = "adopting"
    STABLE = "stable"
    SWITCHING = "switching"
    HANDED_OVER = "handed_over"
    UNFENCED = "unfenced"
    DIVERGED = "diverged"
    RELEASING = "releasing"
    RELEASED = "released"


#: A run holds a group in each of these, whatever verb it follows.
HOLDING = frozenset({Phase.ADOPTING, Phase.SWITCHING, Phase.HANDED_OVER, Phase.RELEASING})
#: In these no cluster is fenced by the record, and nobody relies on it: what is not adopted is left alone.
NOT_ADOPTED = frozenset({Phase.ADOPTING, Phase.RELEASED})


@dataclass(frozen=True, slots=True)
class RegisterState:
    """One record ``group/<name>`` of the register.

    :param epoch: raised by every claim and every roll back
    :param revision: raised by every other write within an epoch
    :param active: the cluster whose applications may write, if the phase allows it
    :param standby: the cluster that holds the copy and refuses application writes
    :param verb: the kind of run that wrote this record
    :param run: the run that wrote it; while ``switching`` and ``handed_over`` that run owns the group
    :param evidence_sha256: digest of the decision facts that were approved
    :param at: when it was written, UTC
    :param quarantine: quarantined ranges of the standby's log, as ``topic-partition:start-end``
    :param attempt: how often an executor has taken the run; 0 right after the claim, and in records of former versions
    :param executor: the process that took the run last; only it may still change the group
    :param attempt_at: when it did so, UTC; ``at`` stays
    """

    group: str
    epoch: int
    revision: int
    phase: Phase
    active: str
    standby: str
    verb: Verb
    run: str
    at: datetime
    evidence_sha256: str = ""
    approved_by: str = ""
    quarantine: tuple[str, ...] = field(default=())
    attempt: int = 0
    executor: str = ""
    attempt_at: datetime | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def order(self) -> tuple[int, int]:
        """The pair that decides which of two records is newer."""
        return (self.epoch, self.revision)

    @property
    def is_held(self) -> bool:
        """Whether a run holds the group, so that nobody else may change it."""
        failing_back = self.phase is Phase.DIVERGED and self.verb == "failback"
        return failing_back or self.phase in HOLDING

    @property
    def is_adopted(self) -> bool:
        """Whether the group is protected: a take over that has not ended, and a group that was released, are not."""
        return self.phase not in NOT_ADOPTED

    def to_json(self) -> bytes:
        """Return the record's value; equal states give equal bytes."""
        attempt_at = self.attempt_at and self.attempt_at.astimezone(UTC).isoformat()
        values = asdict(self) | {"at": self.at.astimezone(UTC).isoformat(), "phase": self.phase.value}
        values |= {"attempt_at": attempt_at}
        return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, value: bytes) -> RegisterState:
        """Read a record's value.

        :raises NeedsPerson: it is not such a value, or has a schema that this program does not know
        """
        try:
            values: dict[str, Any] = json.loads(value)
            version = values["schema_version"]
            if isinstance(version, int) and version > SCHEMA_VERSION:
                raise UnknownSchema(
                    f"the register holds a record of schema {version}, this program knows {SCHEMA_VERSION}: "
                    "use the version of this project that wrote it"
                )
            values = _ADDED | values
            values = {name.name: values[name.name] for name in fields(cls)}
            values["phase"] = Phase(values["phase"])
            values["at"] = datetime.fromisoformat(values["at"])
            if values["attempt_at"] is not None:
                values["attempt_at"] = datetime.fromisoformat(values["attempt_at"])
            values["quarantine"] = tuple(values["quarantine"])
            _require_plausible(values)
            return cls(**values)
        except (ValueError, KeyError, TypeError) as error:
            raise NeedsPerson(
                f"the register holds a record that cannot be read ({error}): {value[:80]!r}; look at the topic "
                "_kafka_dr.register before anything else is changed"
            ) from error


def _require_plausible(values: dict[str, Any]) -> None:
    """Raise an error if a field has a value that this project never writes."""
    if values["at"].tzinfo is None or not all(type(values[name]) is int for name in _NUMBERS):
        raise ValueError("epoch, revision and attempt must be whole numbers, and at needs a time zone")
    if min(values[name] for name in _NUMBERS) < 0 or values["schema_version"] != SCHEMA_VERSION:
        raise ValueError("epoch and revision are never negative, and the schema is a number")
    if not all(isinstance(values[name], str) for name in _TEXTS) or values["verb"] not in get_args(Verb):
        raise ValueError("a name is no text, or the verb is none of this project's")
    if values["active"] == values["standby"]:
        raise ValueError(f"{values['active']} is both active and standby")


def arbiter(state: RegisterState) -> str:
    """Return the cluster whose register decides about the group of this record.

    It is the active cluster; while an unplanned failover is switching, it is the target of that failover.
    """
    leaving = state.phase is Phase.SWITCHING and state.verb == "unplanned_failover"
    return state.standby if leaving else state.active


def highest(states: dict[str, RegisterState | None]) -> RegisterState | None:
    """Return the newest record among those of several clusters.

    :param states: by cluster; ``None`` if a cluster has no record of the group
    :returns: ``None`` if no cluster has one: the group is not adopted
    :raises NeedsPerson: two clusters hold different records with the same epoch and revision
    """
    present = {cluster: state for cluster, state in states.items() if state is not None}
    if not present:
        return None
    newest = max(present.values(), key=lambda state: state.order)
    for cluster, state in present.items():
        if state.order == newest.order and state != newest:
            raise NeedsPerson(
                f"the registers contradict each other about {newest.group}: epoch {newest.epoch} revision "
                f"{newest.revision} says {newest.phase} with {newest.active} active in one register, and {state.phase} "
                f"with {state.active} active in that of {cluster}. No cluster will be opened: decide which one is right"
            )
    return newest
