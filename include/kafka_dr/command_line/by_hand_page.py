"""The commands to run by hand, as text for a terminal or for paper, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from kafka_dr.command_line.by_hand import Procedure
from kafka_dr.command_line.by_hand_facts import ByHandFacts
from kafka_dr.quoting import line

_BEFORE = (
    "Stop everything else that could change the group: runs in Airflow, dr_health and dr_flows, other terminals.",
    "Do one section only, in one shell (bash or sh), line by line, and read each answer before the next line.",
    "Leave out the steps of a cluster that does not answer.",
    "The tools are those of Kafka's own download; add their folder to PATH. Packages of others name them without .sh. "
    "Kafka 5 may call --producer.config and --consumer.config --command-config.",
    "The commands are those of this minute: print them again when the register has changed.",
)
_END = "END-OF-FILE"


def text(
    facts: ByHandFacts, found: Sequence[Procedure], now: datetime, *, folder: str, client_files: Mapping[str, str]
) -> str:
    """Return everything as lines of a shell: what is no command is a comment.

    :param folder: where every file is already; empty: the text itself writes those without secrets
    :param client_files: settings without secrets, by file, for people who have no folder yet
    """
    return "\n".join((*_head(facts, now, folder, client_files), *_sections(found, written=bool(folder))))


def _head(facts: ByHandFacts, now: datetime, folder: str, client_files: Mapping[str, str]) -> Iterator[str]:
    state = facts.state
    order = f"(epoch {state.epoch}, revision {state.revision})"
    said = f"{state.phase} on {state.active}, standby {state.standbys_in_words} {order}"
    yield _comment(f"{state.group}: {said}, by {state.verb} {state.run}. Printed at {now:%Y-%m-%d %H:%M:%S} UTC.")
    yield from map(_comment, _BEFORE)
    yield from (_comment(f"NOT KNOWN: {each}") for each in facts.unknown)
    if folder:
        yield _comment(f"Do everything in {folder}, which has the settings of the tools.")
        return
    yield _comment("Do everything in a private folder (mode 0700), and write these files first, with the passwords.")
    for name, content in client_files.items():
        yield _comment(f"{name}:{'' if content else ' an empty file'}")
        yield from (_comment(f"    {each}") for each in content.splitlines())


def _sections(found: Sequence[Procedure], *, written: bool) -> Iterator[str]:
    for procedure in found:
        yield ""
        yield _comment(f"===== {procedure.title}")
        yield _comment(f"When: {procedure.when}.")
        for number, step in enumerate(procedure.steps, 1):
            needs = f" (only if {step.only_if} answers)" if step.only_if else ""
            yield ""
            yield _comment(f"{number}. {step.title}{needs}")
            if not written:
                for name, content in step.files.items():
                    yield f"cat > {name} <<'{_END}'\n{content}{_END}"
            yield from step.commands


def _comment(sentence: str) -> str:
    return f"# {line(sentence)}"


def as_json(facts: ByHandFacts, found: Sequence[Procedure]) -> dict[str, Any]:
    """Return the same for a program."""
    return {
        "group": facts.group.name,
        "phase": facts.state.phase.value,
        "before": list(_BEFORE),
        "not_known": list(facts.unknown),
        "procedures": [asdict(each) for each in found],
    }
