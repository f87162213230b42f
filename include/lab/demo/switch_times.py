"""How long the switches of a demo took: median, shortest and longest, of each verb by itself."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lab.errors import LabError

PLANNED = "planned_failover"


@dataclass(frozen=True, slots=True)
class Spread:
    """Times of the same kind, in seconds."""

    median: float
    shortest: float
    longest: float

    def __str__(self) -> str:
        return f"median {self.median:g} s, shortest {self.shortest:g} s, longest {self.longest:g} s"


def spread(seconds: Sequence[float | None]) -> Spread | None:
    """Return what some times have in common; ``None`` as soon as one is unknown, or if there is none."""
    known = [each for each in seconds if each is not None]
    if not known or len(known) != len(seconds):
        return None
    return Spread(*(round(value, 3) for value in (statistics.median(known), min(known), max(known))))


@dataclass(frozen=True, slots=True)
class SwitchTimes:
    """The times of all switches by one verb.

    :param switches: how many there were
    :param write_outage: ``None`` where the applications do not know one of them
    :param approved_to_verified: ``None`` where a run did not get so far
    """

    switches: int
    write_outage: Spread | None
    approved_to_verified: Spread | None

    def to_json(self) -> dict[str, Any]:
        """Return the part of the report about this verb; unknown is ``null``."""
        named = (
            ("write_outage_seconds", self.write_outage),
            ("approved_to_verified_seconds", self.approved_to_verified),
        )
        return {"switches": self.switches, **{name: each and asdict(each) for name, each in named}}

    @classmethod
    def planned_of(cls, report: Any, *, called: str) -> SwitchTimes:
        """Read the times of the planned failovers from the report of a demo.

        :param called: the file of the report, for the message
        :raises LabError: it has none
        """
        try:
            found = report["times"][PLANNED]
            outage, verified = (found[name] for name in ("write_outage_seconds", "approved_to_verified_seconds"))
            return cls(int(found["switches"]), outage and Spread(**outage), verified and Spread(**verified))
        except (KeyError, TypeError, ValueError) as error:
            raise LabError(
                f"{called} has no times of planned failovers as this version writes them ({error!r}): make it "
                "again with `python3 include/lab demo --yes --switches 10 --report FILE`"
            ) from error


def times_by_verb(switches: Sequence[tuple[str, float | None, float | None]]) -> dict[str, SwitchTimes]:
    """Return the times of each verb.

    :param switches: of each switch its verb, the write outage and the time from the approval to the verification
    """
    return {
        verb: SwitchTimes(
            len(of_verb := [each for each in switches if each[0] == verb]),
            spread([outage for _, outage, _ in of_verb]),
            spread([verified for _, _, verified in of_verb]),
        )
        for verb in dict.fromkeys(each[0] for each in switches)
    }
