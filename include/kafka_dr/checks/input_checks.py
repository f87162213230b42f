"""Whether what a run relies on of the evidence is what this project recorded in the register."""

from __future__ import annotations

from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs.run import Run

NAME = "inputs_recorded"


def inputs_recorded(run: Run, *, changed: CheckOutcome = "unknown") -> Check:
    """Return whether verified frontiers and offset maps are those that were recorded.

    :param changed: the answer if others wrote one, which the run does not read then, or if that is not known
    """
    try:
        found = run.unrecorded_inputs
    except OSError as error:
        return Check(NAME, changed, f"the verified frontiers and offset maps cannot be read: {error}")
    if not found:
        return Check(NAME, "ok", "verified frontiers and offset maps are as recorded, or not recorded yet")
    said = "; ".join(map(str, found))
    return Check(
        NAME,
        changed,
        f"{said}: it is not used. If an audit is ending now, try again in a minute. Else keep a copy, find out who "
        "changed it, and run dr_checksum_audit, which compares everything again",
    )
