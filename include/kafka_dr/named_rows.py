"""How stored files hold topics, groups and clusters: as rows, because a name is data and never a key of a document.

Former versions wrote mappings by name. They are still read, because a run that began with a former version may be
finished with this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Topics and their ids, for :func:`rows_of` and :func:`by_name`.
ID_OF_A_TOPIC = {"named": "topic", "holding": "topic_id"}


def rows_of(found: Mapping[str, object], *, named: str, holding: str) -> list[dict[str, Any]]:
    """Return a mapping by name as rows, sorted by name.

    :param named: the field of the name, ``topic`` for instance
    :param holding: the field of what the mapping holds
    """
    return [{named: name, holding: found[name]} for name in sorted(found)]


def by_name(stored: Any, *, named: str, holding: str) -> dict[str, Any]:
    """Read what :func:`rows_of` returned, or the mapping that former versions wrote.

    :raises KeyError: a row lacks a field
    :raises TypeError: the value is neither
    """
    if isinstance(stored, Mapping):
        return {str(name): value for name, value in stored.items()}
    return {str(row[named]): row[holding] for row in stored}
