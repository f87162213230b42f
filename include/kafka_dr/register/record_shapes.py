"""Which records of the register's topic have the shape of this project's; any other one is refused, not read past.

A shape proves nothing: who may write the topic decides. But a record of another shape shows that somebody else writes
there, or that a record is damaged, and then no cluster may be opened because of this register.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kafka_dr.errors import NeedsPerson
from kafka_dr.register.state import RegisterState, UnknownSchema

_KEY = re.compile(r"(?P<kind>group|run|fence)/(?P<rest>.+)", re.DOTALL)
_SEGMENTS = {"group": 0, "run": 2, "fence": 1}


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """A record that this project did not write, or that is damaged.

    :param where: topic, partition, offset and cluster, in words
    :param problem: what is wrong with it
    """

    where: str
    key: bytes | None
    problem: str

    def concerns(self, group: str) -> bool:
        """Return whether it keeps a group's record from being trusted: one without an owner concerns every group."""
        kind, rest = _parsed(self.key)
        return not kind or rest == group or rest.startswith(f"{group}/")

    def __str__(self) -> str:
        return f"{self.where} is not a record of this project (key {_shown(self.key)}): {self.problem}"


def wrong_shape(key: bytes | None, value: bytes | None) -> str:
    """Return what is wrong with a record; empty if it is one of this project's, or deletes one.

    What is large is looked at only as far as its beginning: it is parsed when it is needed.
    """
    if value is None:
        return ""
    kind, rest = _parsed(key)
    if not kind:
        return "it has no key" if key is None else "no record of this project has such a key"
    if kind == "group":
        return _wrong_state(rest, value)
    if "#" in rest.rpartition("/")[2] or value.isdigit() or value.startswith(b"{"):
        return ""
    return "its value is not a JSON object"


def refusal(records: tuple[ForeignRecord, ...]) -> NeedsPerson:
    """Return the error that says what was seen, who may have done it, and what to do."""
    more = f" and {len(records) - 1} more" if len(records) > 1 else ""
    return NeedsPerson(
        f"{records[0]}{more}. Nothing is decided from this register until that record is removed. The check "
        "register_writers of preflight and dr_health names who else may write it: take that right away, then write a "
        "record with the same key and no value (the runbook of dr_health has the command). If a cluster is down now: "
        "dr_unplanned_failover with an override and its reason ignores such records"
    )


def _wrong_state(group: str, value: bytes) -> str:
    try:
        state = RegisterState.from_json(value)
    except UnknownSchema:
        return ""  # a newer version wrote it; reading it says so
    except NeedsPerson as error:
        return str(error)
    return "" if state.group == group else f"it is the record of the group {state.group!r}"


def _parsed(key: bytes | None) -> tuple[str, str]:
    """Return the kind of a key and what follows it; empty if it is none of this project's."""
    try:
        found = _KEY.fullmatch((key or b"").decode())
    except UnicodeDecodeError:
        return "", ""
    if found is None or found["rest"].count("/") < _SEGMENTS[found["kind"]]:
        return "", ""
    return found["kind"], found["rest"]


def _shown(key: bytes | None) -> str:
    return "none" if key is None else repr(key[:80])
