"""One way to write a value down, so that the same facts always have the same digest.

Canonical JSON: keys sorted, UTF-8, no NaN, no blanks; times in UTC with microseconds and a Z; dataclasses as objects,
enums as their values, tuples as lists, sets as sorted lists. What has no single form is refused, never guessed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Set
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import PurePath

from kafka_dr.causes import cause
from kafka_dr.errors import Refused

#: Scalars that JSON has as they are.
_AS_THEY_ARE = frozenset((int, bool, type(None)))


class NotCanonical(Refused):
    """A value has no canonical form. Nothing was written."""


def canonical(value: object) -> str:
    """Return canonical JSON.

    :raises NotCanonical: when the value, or something inside, has no single form
    """
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def readable(value: object) -> str:
    """Return the same JSON with a line for each value, as it is kept in files."""
    return readable_plain(plain(value))


def readable_plain(value: object) -> str:
    """Return the same of a value that :func:`plain` has returned, or of an object made of such values."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def digest(facts: object) -> str:
    """Return the SHA-256 of the canonical JSON of some facts, in hex.

    :raises NotCanonical: when the facts have no single form
    """
    return hashlib.sha256(canonical(facts).encode("utf-8")).hexdigest()


def plain(value: object, *, where: str = "") -> object:
    """Return a value made of JSON's own types only.

    :param where: the path of the value, for the message
    :raises NotCanonical: when it has no single form
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return _plain_mapping(value, where)
    if isinstance(value, Set):
        return sorted((plain(item, where=f"{where}{{}}") for item in value), key=canonical)
    if isinstance(value, (list, tuple)):
        return [
            item if _is_plain(item) else plain(item, where=f"{where}[{number}]") for number, item in enumerate(value)
        ]
    return _plain_scalar(value, where)


def _is_plain(value: object) -> bool:
    """Return whether a value is plain as it is, as nearly all values in thousands of rows are."""
    kind = type(value)
    return kind in _AS_THEY_ARE or (kind is str and value.isascii())  # type: ignore[attr-defined]


def _plain_mapping(value: Mapping[object, object], where: str) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, inner in value.items():
        name = _plain_key(key, where)
        if name in result:
            raise NotCanonical(f"Two keys at {where or 'the top'} are both written {name!r}: make them differ.")
        result[name] = inner if _is_plain(inner) else plain(inner, where=f"{where}.{name}" if where else name)
    return result


def _plain_key(key: object, where: str) -> str:
    if type(key) is str and key.isascii():
        return key
    key = key.value if isinstance(key, Enum) else key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    if isinstance(key, str):
        return _plain_text(key, where)
    raise NotCanonical(f"The key {key!r} at {where or 'the top'} is {type(key).__name__}: use text or whole numbers.")


def _plain_scalar(value: object, where: str) -> object:
    if isinstance(value, Enum):
        return plain(value.value, where=where)
    if isinstance(value, datetime):
        return _plain_time(value, where)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (str, PurePath)):
        return _plain_text(str(value), where)
    if isinstance(value, float) and not math.isfinite(value):
        raise NotCanonical(f"The number at {where or 'the top'} is {value}: write None for what is not known.")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise NotCanonical(
        f"The value at {where or 'the top'} is {type(value).__name__}, which has no form in JSON: "
        "write it as text, numbers, lists and mappings."
    )


def _plain_time(value: datetime, where: str) -> str:
    if value.tzinfo is None:
        raise NotCanonical(f"The time at {where or 'the top'} is {value}, without time zone: pass an aware time.")
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _plain_text(value: str, where: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotCanonical(
            f"The text at {where or 'the top'} cannot be written in UTF-8 ({cause(error)}): remove those characters."
        ) from error
    return value
