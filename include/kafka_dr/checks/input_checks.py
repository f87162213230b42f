"""Whether what a run relies on of the evidence is what this project recorded in the register."""

from __future__ import annotations

from kafka_dr.causes import cause
from kafka_dr.outcomes import Check, CheckOutcome
from kafka_dr.runs.recorded_files import said
from kafka_dr.runs.run import Run

NAME = "inputs_recorded"


def inputs_recorded(run: Run, *, changed: CheckOutcome = "unknown") -> Check:
    """Return whether frontiers, offset maps and the files that need a digest are those that were recorded.

    :param changed: the answer if others wrote a frontier or an offset map, which the run does not read then, or if that
        is not known. Content confirms what the other files say where the source can be read, so they are a warning
    """
    try:
        found, files = run.unrecorded_inputs, run.unrecorded_files
    except OSError as error:
        return Check(NAME, changed, f"what this run relies on of the evidence cannot be read: {cause(error)}")
    less = f"; {said(files)}" if files else ""
    if not found and not any(each.at for each in files):
        return Check(NAME, "ok", f"verified frontiers and offset maps are as recorded, or not recorded yet{less}")
    if not found:
        outcome: CheckOutcome = "warning" if changed == "unknown" else changed
        return Check(NAME, outcome, f"{said(files)}. Keep a copy, and find out who changed them")
    return Check(
        NAME,
        changed,
        f"{'; '.join(map(str, found))}: it is not used{less}. If an audit is ending now, try again in a minute. Else "
        "keep a copy, find out who changed it, and run dr_checksum_audit, which compares everything again",
    )
