"""The register's record of a protection group, and the order of such records.

The order is (epoch, revision): every write raises one of them, and an epoch that was used once is never used again.
Two different records with the same pair are a conflict: no cluster is opened until a person has decided.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from kafka_dr.causes import cause
from kafka_dr.codec import decode, encode, stored
from kafka_dr.errors import KafkaDrError, NeedsPerson
from kafka_dr.register.roles import Role, Roles, StoredRoles

SCHEMA_VERSION = 3
#: What a record is of that needs nothing of the newest schema: a version of this project that knows no other reads it.
_USUAL_SCHEMA = 2

Verb = Literal[
    "adopt", "planned_failover", "unplanned_failover", "failback", "drill", "roll_back", "take_over", "un_adopt"
]


class UnknownSchema(NeedsPerson):
    """A newer version of this project wrote the record, so nothing that this program knows of the group counts."""


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


#: Unplanned runs take the next multiple of this as their epoch; planned runs add one.
UNPLANNED_EPOCHS = 1000
#: A run holds a group in each of these, whatever verb it follows.
HOLDING = frozenset({Phase.ADOPTING, Phase.SWITCHING, Phase.HANDED_OVER, Phase.RELEASING})
#: In these no cluster is fenced by the record, and nobody relies on it: what is not adopted is left alone.
NOT_ADOPTED = frozenset({Phase.ADOPTING, Phase.RELEASED})
#: What the standby that a run concerns is in a phase; a copy in all others.
_STANDBY_IN = {
    Phase.ADOPTING: Role.PENDING,
    Phase.HANDED_OVER: Role.PENDING,
    Phase.UNFENCED: Role.UNFENCED,
    Phase.DIVERGED: Role.DIVERGED,
    Phase.RELEASED: Role.PENDING,
}


def roles_in(phase: Phase, *, active: str, standby: str) -> Roles:
    """Return the roles of a pair of clusters in a phase.

    :raises ValueError: both are the same cluster
    """
    return Roles.of_pair(active, standby, _STANDBY_IN.get(phase, Role.COPY))


def phase_at_rest(roles: Roles) -> Phase:
    """Return the phase of an adopted group that no run holds: what is the matter with the worst of its standbys."""
    found = {role for _, role in roles.each}
    if Role.UNFENCED in found:
        return Phase.UNFENCED
    return Phase.DIVERGED if Role.DIVERGED in found else Phase.STABLE


@dataclass(frozen=True, slots=True)
class RegisterState:
    """One record ``group/<name>`` of the register.

    :param epoch: raised by every claim and every roll back
    :param revision: raised by every other write within an epoch
    :param roles: what each cluster is in this phase
    :param verb: the kind of run that wrote this record
    :param run: the run that wrote it; while ``switching`` and ``handed_over`` that run owns the group
    :param evidence_sha256: digest of the decision facts that were approved
    :param at: when it was written, UTC
    :param quarantine: quarantined ranges of the standby's log, as ``topic-partition:start-end``
    :param attempt: how often an executor has taken the run; 0 right after the claim
    :param executor: the process that took the run last; only it may still change the group
    :param attempt_at: when it did so, UTC; ``at`` stays
    :param partner: of a group with several standbys, the one that its run moves it to, and from the hand-over on the
        one that it was moved from; empty before the first run, and for a pair
    :param based_on: epoch and revision of the newest record that counted when an unplanned run claimed a group with
        several standbys; its claim replaces that one, and knows of no newer one
    :param copies_named: what is between the name of its cluster and that of a topic in the name of a copy, as when the
        group was adopted; empty: copies have the names of their originals
    :param denies_all: whether DENYs of every operation may make a fence of the group. A version that does not know them
        would not lift them, and applications would stay denied: so it cannot read such a record, and changes nothing
    """

    group: str
    epoch: int
    revision: int
    phase: Phase
    roles: StoredRoles
    verb: Verb
    run: str
    at: datetime
    evidence_sha256: str = ""
    approved_by: str = ""
    quarantine: tuple[str, ...] = ()
    attempt: int = 0
    executor: str = ""
    attempt_at: datetime | None = None
    denies_all: bool = field(default=False, metadata=stored(omitted=True))
    copies_named: str = field(default="", metadata=stored(omitted=True))
    partner: str = field(default="", metadata=stored(omitted=True))
    based_on: tuple[int, int] = field(default=(0, 0), metadata=stored(omitted=True))
    gone: tuple[str, ...] = field(default=(), metadata=stored(omitted=True))

    @property
    def active(self) -> str:
        """The cluster whose applications may write, if the phase allows it."""
        return self.roles.active

    @property
    def standby(self) -> str:
        """The standby of a pair; of several the one that the run that holds the group concerns.

        :raises NeedsPerson: there are several, and no run holds the group
        """
        return self.partner if self.partner and self.is_held else self.roles.standby

    @property
    def standbys(self) -> tuple[str, ...]:
        """Every cluster that is not active: it holds a copy, or is to hold one, and refuses application writes."""
        return self.roles.standbys

    @property
    def has_several(self) -> bool:
        """Whether it has several standbys, so that a run has to say which one it concerns."""
        return self.roles.has_several

    @property
    def moved_with(self) -> str:
        """The standby that the group's last run concerns, also after that has ended.

        :raises NeedsPerson: there are several, and no run has concerned one
        """
        return self.partner or self.roles.standby

    @property
    def standbys_in_words(self) -> str:
        """The standby of a pair, or the one that a run concerns; of several that no run holds all, with their roles."""
        if not self.has_several or self.is_held:
            return self.standby
        roles = {name: self.roles.of(name) for name in self.standbys}
        return " and ".join(name if role is Role.COPY else f"{name} ({role})" for name, role in roles.items())

    @property
    def roles_of_several(self) -> dict[str, str]:
        """The role of each standby, if there are several; nothing of a pair."""
        return {name: str(self.roles.of(name)) for name in self.standbys} if self.has_several else {}

    @property
    def order(self) -> tuple[int, int]:
        """The pair that decides which of two records is newer."""
        return (self.epoch, self.revision)

    @property
    def news(self) -> tuple[int, int]:
        """The order of the newest record that it knows of: its own, or what a claim replaces that is not handed over.

        So an unplanned claim of a group with several standbys has no news of its own, however high its epoch is.
        """
        claims = self.phase is Phase.SWITCHING and self.verb == "unplanned_failover" and self.has_several
        return self.based_on if claims else self.order

    def is_known_to(self, other: RegisterState) -> bool:
        """Whether another record knows of the last move that an unplanned claim knows of."""
        return other.news >= self.based_on or other.active == self.active

    @property
    def is_held(self) -> bool:
        """Whether a run holds the group, so that nobody else may change it."""
        return self.is_failing_back or self.phase in HOLDING

    @property
    def is_failing_back(self) -> bool:
        """Whether a failback holds the group: one standby is made a copy again, and all others are what they were."""
        began = self.phase is Phase.DIVERGED and self.verb == "failback"
        return began and self.roles.of(self.moved_with) is Role.DIVERGED

    @property
    def run_phase(self) -> Phase:
        """How far the last run is, or how it ended, whatever is the matter with a standby that it does not concern."""
        if self.is_held or not self.is_adopted or (self.has_several and not self.partner):
            return self.phase
        role = self.roles.of(self.moved_with)
        return {Role.UNFENCED: Phase.UNFENCED, Role.DIVERGED: Phase.DIVERGED}.get(role or Role.COPY, Phase.STABLE)

    @property
    def followers(self) -> tuple[str, ...]:
        """The standbys that are copied from the active cluster, or wait for that; none was given up."""
        return tuple(name for name, role in self.roles.each if role in (Role.COPY, Role.PENDING))

    @property
    def is_at_rest(self) -> bool:
        """Whether no run moves the group, and at least one standby is copied, or waits for that.

        A failback moves nothing, so the standbys that it does not concern are looked at and copied as before.
        """
        moves = self.is_held and not self.is_failing_back
        return self.is_adopted and not moves and bool(self.followers)

    @property
    def is_at_rest_and_fenced(self) -> bool:
        """Whether no run holds the group, and each standby that was given up refuses writes, as far as is known.

        Then a planned failover may move it to a copy: what was given up stays as it is.
        """
        return self.is_at_rest and not self.is_held and Role.UNFENCED not in dict(self.roles.each).values()

    @property
    def steady_copies(self) -> tuple[str, ...]:
        """The standbys that are copied from the active cluster, while no run changes that."""
        return self.roles.copies if self.is_at_rest else ()

    @property
    def is_unproven(self) -> bool:
        """Whether it is a claim that counts only if more than half of the registers hold it.

        So it is with an unplanned claim of a group with several standbys, until the process that has won takes the run.
        """
        leaving = self.phase is Phase.SWITCHING and self.verb == "unplanned_failover"
        return leaving and self.attempt == 0 and self.has_several

    @property
    def is_adopted(self) -> bool:
        """Whether the group is protected: a take over that has not ended, and a group that was released, are not."""
        return self.phase not in NOT_ADOPTED

    def in_phase(self, phase: Phase, **changes: Any) -> RegisterState:
        """Return this record in another phase, with the roles that its clusters have then.

        A run concerns one standby; all others keep the role that they have. If no run holds the group then, and one of
        these is worse off, that decides the phase.
        """
        roles = self.roles.changed({self.moved_with: _STANDBY_IN.get(phase, Role.COPY)})
        phase = phase if phase in HOLDING | NOT_ADOPTED else phase_at_rest(roles)
        return replace(self, phase=phase, roles=roles, **changes)

    def to_json(self) -> bytes:
        """Return the record's value; equal states give equal bytes."""
        version = SCHEMA_VERSION if self.denies_all or self.copies_named else _USUAL_SCHEMA
        return json.dumps({"schema_version": version, **encode(self)}, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, value: bytes) -> RegisterState:
        """Read a record's value.

        :raises NeedsPerson: it is not such a value, or has a schema that this program does not know
        """
        try:
            values: dict[str, Any] = json.loads(value)
            version = values.pop("schema_version")
            if type(version) is int and version > SCHEMA_VERSION:
                raise UnknownSchema(
                    f"the register holds a record of schema {version}, this program knows {SCHEMA_VERSION}: "
                    "use the version of this project that wrote it"
                )
            if type(version) is not int or version < 1:
                raise ValueError("the schema is none of this project's")
            if version == 1:
                ends = (decode(str, values[name]) for name in ("active", "standby"))
                pair = roles_in(Phase(values["phase"]), **dict(zip(("active", "standby"), ends, strict=True)))
                values["roles"] = encode(pair, StoredRoles)
            values.setdefault("copies_named", "")
            if version <= _USUAL_SCHEMA or values["copies_named"]:
                values["denies_all"] = version > _USUAL_SCHEMA and values.get("denies_all", False)
            values.setdefault("partner", "")
            values.setdefault("based_on", [0, 0])
            values.setdefault("gone", [])
            state = decode(cls, {each.name: values[each.name] for each in fields(cls)})
            _require_standbys(state)
            if min(state.epoch, state.revision, state.attempt) < 0:
                raise ValueError("epoch, revision and attempt are never negative")
            return state
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NeedsPerson(
                f"the register holds a record that cannot be read ({cause(error)}): {value[:80]!r}; look at the topic "
                "_kafka_dr.register before anything else is changed"
            ) from error


def _require_standbys(state: RegisterState) -> None:
    """Refuse roles that the verbs do not know, and those that contradict the phase."""
    roles, partner = state.roles, state.partner
    if not roles.standbys or len(roles.standbys) != len(roles.each) - 1:
        raise UnknownSchema(
            f"the register holds a record of a group whose clusters are {roles}, and this program moves groups that "
            "have one active cluster and standbys: use the version of this project that wrote it"
        )
    several = roles.has_several
    if (partner and not (several and partner in roles.standbys)) or (several and state.is_held and not partner):
        raise ValueError(
            f"its roles are {roles}, and {partner or 'none'} is named as the standby that its run concerns"
        )
    # One that leaves keeps the role that it has until it has left.
    moves = state.is_held and state.phase is not Phase.RELEASING
    concerned = ((partner,) if moves else ()) if several else roles.standbys
    if any(roles.of(name) is not _STANDBY_IN.get(state.phase, Role.COPY) for name in concerned):
        raise ValueError(f"its roles are {roles}, which contradicts its phase {state.phase}")


def arbiter(state: RegisterState) -> str:
    """Return the cluster whose register decides about the group of this record.

    It is the active cluster; while an unplanned failover is switching, it is the target of that failover.
    """
    leaving = state.phase is Phase.SWITCHING and state.verb == "unplanned_failover"
    return state.standby if leaving else state.active


def is_on_majority(state: RegisterState, states: Mapping[str, RegisterState | None]) -> bool:
    """Return whether more than half of the registers of a group's clusters hold what a run has written in its phase.

    Which process executes the run is known to the register that decides alone.

    :param states: what the registers hold, by cluster
    """
    held = [states.get(name) for name, _ in state.roles.each]
    wanted = (state.run, state.epoch, state.phase)
    return 2 * sum(each is not None and (each.run, each.epoch, each.phase) == wanted for each in held) > len(held)


def require_known(silent: Mapping[str, KafkaDrError]) -> None:
    """Raise what a register answered that holds a record of a newer version: such a register is not silent.

    :param silent: the errors of registers that gave no record, by cluster
    :raises UnknownSchema: one of them is that
    """
    for error in silent.values():
        if isinstance(error, UnknownSchema):
            raise error


def highest(states: dict[str, RegisterState | None]) -> RegisterState | None:
    """Return the newest record among those of several clusters.

    A claim that has lost does not count, however high its epoch is.

    :param states: by cluster that answered; ``None`` if it has no record of the group
    :returns: ``None`` if no cluster has one: the group is not adopted
    :raises NeedsPerson: two clusters hold different records with the same epoch and revision
    """
    present = {cluster: state for cluster, state in states.items() if state is not None}
    if not present:
        return None
    lost = [name for name, state in present.items() if _is_lost(state, states)]
    present = {name: state for name, state in present.items() if name not in lost} or present
    newest = max(present.values(), key=lambda state: (state.order, state.run))
    for cluster, state in present.items():
        if state.order == newest.order and state != newest and not state.is_unproven:
            raise NeedsPerson(
                f"the registers contradict each other about {newest.group}: epoch {newest.epoch} revision "
                f"{newest.revision} says {newest.phase} with {newest.active} active in one register, and {state.phase} "
                f"with {state.active} active in that of {cluster}. No cluster will be opened: decide which one is right"
            )
    return newest


def _is_lost(claim: RegisterState, states: Mapping[str, RegisterState | None]) -> bool:
    """Return whether a claim does not count: another record knows more, or too few registers can hold the claim.

    What it has replaced may be newer than all others, as after an override: then it is the only one that knows of that.

    :param states: what the registers hold, by cluster that answered; no other cluster counts than those of the claim
    """
    if not claim.is_unproven:
        return False
    present = [each for each in states.values() if each is not None]
    others = [each for each in present if (each.run, each.epoch) != (claim.run, claim.epoch)]
    beaten = any(each.news > claim.based_on for each in others) and not is_on_majority(claim, states)
    return beaten or (_is_on_few(claim, states) and any(map(claim.is_known_to, others)))


def _is_on_few(claim: RegisterState, states: Mapping[str, RegisterState | None]) -> bool:
    """Return whether more than half of the registers cannot hold a claim, whatever those say that did not answer.

    :param states: what the registers hold, by cluster that answered; no other cluster counts than those of the claim
    """
    clusters = [name for name, _ in claim.roles.each]
    held = [state for state in states.values() if state is not None]
    holding = sum((each.run, each.epoch) == (claim.run, claim.epoch) for each in held)
    return 2 * (holding + sum(name not in states for name in clusters)) <= len(clusters)
