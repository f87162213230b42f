"""People, as whatever verifies them knows them, and as the topology and other people know them."""

from __future__ import annotations

from dataclasses import dataclass

#: The name of a person that a program could not find out. No user is called so.
UNKNOWN_PERSON = "(unknown)"


@dataclass(frozen=True, slots=True, order=True)
class Person:
    """Somebody who can be asked.

    :param name: as the topology names the person
    :param id: by which the person is verified: of Airflow's auth manager, which may be a number or a subject, or the
        fingerprint of a key
    """

    name: str
    id: str
