"""Keys and values of the register topic.

========================================  =====================================================
key                                       value
========================================  =====================================================
``group/<name>``                          a :class:`~kafka_dr.register.state.RegisterState`
``run/<group>/<run>/<fact>``              a fact of a run: a JSON object, or how many parts it has
``run/<group>/<run>/<fact>#<n>``          part *n* of a fact above 512 KiB, in one transaction
``fence/<group>/<cluster>``               the ACLs that this project added to it, or how many parts they have
``fence/<group>/<cluster>#<n>``           part *n* of them above 512 KiB, in one transaction
========================================  =====================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.errors import NeedsPerson
from kafka_dr.register.added_acls import UNREADABLE, AddedAcls

REGISTER_TOPIC = "_kafka_dr.register"
LARGEST_PART = 512 * 1024
#: Values of this size are worth remembering once they are parsed.
_LARGE = 4 * 1024
#: Where a fact's JSON object keeps the order of its author.
_ORDER = "_order"


def group_key(group: str) -> bytes:
    """Return the key of a group's state."""
    return f"group/{group}".encode()


def fence_key(group: str, cluster: str) -> bytes:
    """Return the key of the ACLs that were added to a cluster for a group."""
    return f"fence/{group}/{cluster}".encode()


def group_of(key: bytes) -> str:
    """Return the group that a record is about; empty if the key is none of this project's."""
    parts = key.decode(errors="replace").split("/")
    return parts[1] if len(parts) > 1 else ""


def _group_prefix(group: str) -> bytes:
    return f"run/{group}/".encode()


def run_prefix(group: str, run: str) -> bytes:
    """Return the common prefix of the keys of a run's facts."""
    return _group_prefix(group) + f"{run}/".encode()


def fact_records(
    group: str, run: str, fact: str, payload: Mapping[str, Any], *, order: tuple[int, int] | None = None
) -> list[tuple[bytes, bytes]]:
    """Return the records that hold a fact: one record, or the parts and then how many they are.

    :param order: of its author, kept with it; see :class:`~kafka_dr.register.holding.Author`
    """
    stamped = payload if order is None else {**payload, _ORDER: list(order)}
    value = json.dumps(stamped, sort_keys=True, separators=(",", ":")).encode()
    return _in_parts(run_prefix(group, run) + fact.encode(), value)


def fence_records(group: str, cluster: str, added: AddedAcls) -> list[tuple[bytes, bytes]]:
    """Return the records that hold added ACLs: one record, or the parts and then how many they are."""
    return _in_parts(fence_key(group, cluster), added.value())


def added_acls_of(records: Mapping[bytes, bytes], group: str, cluster: str) -> AddedAcls:
    """Return the ACLs that were added to a cluster, joined from their parts.

    :param records: newest value by key
    :raises NeedsPerson: a part is missing or cannot be read
    """
    key = fence_key(group, cluster)
    if key not in records:
        return AddedAcls()
    value = records[key]
    # ACLs are stored as a JSON object, so a number can only be the count of parts.
    if value.isdigit():
        try:
            value = b"".join(records[_part(key, number)] for number in range(int(value)))
        except KeyError as error:
            raise NeedsPerson(f"{UNREADABLE}: {cause(error)}") from error
    return AddedAcls.of_value(value)


def _in_parts(key: bytes, value: bytes) -> list[tuple[bytes, bytes]]:
    if len(value) <= LARGEST_PART:
        return [(key, value)]
    parts = [value[start : start + LARGEST_PART] for start in range(0, len(value), LARGEST_PART)]
    listed = [(_part(key, number), part) for number, part in enumerate(parts)]
    return [*listed, (key, json.dumps(len(parts)).encode())]


def _part(key: bytes, number: int) -> bytes:
    return key + f"#{number}".encode()


class Facts(Mapping[str, Any]):
    """The facts of a run by name.

    A large one is parsed when it is asked for: of a large group every run leaves megabytes, and a step needs few facts
    of other runs.

    :param group: for the message
    :param stored: the value of each fact, by name, joined from its parts
    :raises NeedsPerson: a fact is not JSON; a large one when it is asked for
    """

    def __init__(self, group: str, stored: Mapping[str, bytes]) -> None:
        self._group = group
        self._stored = stored
        self._parsed = {name: self._read(value) for name, value in stored.items() if len(value) < _LARGE}

    def __getitem__(self, name: str) -> Any:
        """Return a fact."""
        if name not in self._parsed:
            self._parsed[name] = self._read(self._stored[name])
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a fact; it is not parsed."""
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        return iter(self._stored)

    def __len__(self) -> int:
        """Return how many facts there are."""
        return len(self._stored)

    def __repr__(self) -> str:
        """Return the names and values."""
        return repr(dict(self))

    def _read(self, value: bytes) -> Any:
        with _readable(self._group):
            return {name: held for name, held in _parsed(value).items() if name != _ORDER}


def facts_of(records: Mapping[bytes, bytes], group: str, run: str) -> dict[str, Any]:
    """Return the facts of a run, joined from their parts; other runs are not decoded, as each may have megabytes.

    :param records: newest value by key
    :raises NeedsPerson: a part of a fact of this run is missing or is not JSON
    """
    return dict(_decoded(records, group, run_prefix(group, run)).get(run, {}))


def history_of(records: Mapping[bytes, bytes], group: str) -> dict[str, Mapping[str, Any]]:
    """Return the facts of all runs of a group by run and fact, joined from their parts.

    :param records: newest value by key
    :raises NeedsPerson: a part of a fact is missing, or a small fact is not JSON
    """
    return _decoded(records, group, _group_prefix(group))


def _decoded(records: Mapping[bytes, bytes], group: str, prefix: bytes) -> dict[str, Mapping[str, Any]]:
    """Return the facts whose keys begin with a prefix, by run and fact."""
    start = len(_group_prefix(group))
    found = {key[start:].decode(): value for key, value in records.items() if key.startswith(prefix)}
    stored: dict[str, dict[str, bytes]] = {}
    with _readable(group):
        for name in found:
            run, _, fact = name.rpartition("/")
            if "#" not in fact:
                stored.setdefault(run, {})[fact] = _joined(found, name)
    return {run: Facts(group, facts) for run, facts in stored.items()}


@contextmanager
def _readable(group: str) -> Iterator[None]:
    """Turn a part that is missing, and a value that is not JSON, into an error for a person."""
    try:
        yield
    except (KeyError, ValueError) as error:
        raise NeedsPerson(f"the journal of {group} cannot be read: {cause(error)}") from error


def order_of_fact(records: Mapping[bytes, bytes], group: str, run: str, fact: str) -> tuple[int, int] | None:
    """Return the order of a fact's author; ``None`` if there is no such fact.

    :param records: newest value by key
    :returns: (0, 0) if it was written without one
    """
    prefix = run_prefix(group, run)
    if prefix + fact.encode() not in records:
        return None
    found = {key[len(prefix) :].decode(): value for key, value in records.items() if key.startswith(prefix)}
    with _readable(group):
        epoch, attempt = _parsed(_joined(found, fact)).get(_ORDER, (0, 0))
    return int(epoch), int(attempt)


def _joined(found: Mapping[str, bytes], fact: str) -> bytes:
    """Return the value of a fact. It is a JSON object, so a number can only be the count of its parts."""
    value = found[fact]
    return b"".join(found[f"{fact}#{number}"] for number in range(int(value))) if value.isdigit() else value


def _parsed(value: bytes) -> Any:
    return _parsed_once(value) if len(value) >= _LARGE else json.loads(value)


@lru_cache(maxsize=128)
def _parsed_once(value: bytes) -> Any:
    """Parse a large value once for all steps of a process: each reads the whole journal. Nobody changes the answer."""
    return json.loads(value)
