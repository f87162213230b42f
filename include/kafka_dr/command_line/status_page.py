"""The status of groups, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kafka_dr.checks.pattern_topics import in_words
from kafka_dr.command_line.group_status import GroupStatus, RegisterStatus
from kafka_dr.evidence.open_run_view import running_step
from kafka_dr.evidence.standby_lines import standby_lines
from kafka_dr.evidence.status_colour import StatusColour
from kafka_dr.outcomes import Check
from kafka_dr.quoting import line
from kafka_dr.situations.group_now import GroupNow
from kafka_dr.situations.judgement import Judgement
from kafka_dr.verb_words import verb_words
from kafka_dr.watch_results import RunningStep

_COLOURS: dict[StatusColour, str] = {
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "unknown": "bold yellow",
}
_STYLES = {
    "ok": "green",
    "failed": "bold red",
    "unknown": "bold yellow",
    **dict.fromkeys(("warning", "excused", "overridden"), "yellow"),
}


def show(found: Iterable[GroupStatus], known: Mapping[str, GroupNow], now: datetime, console: Console) -> None:
    """Write one panel for each group, the most urgent first.

    :param known: what is known of each group, by its name
    :param now: the time from which ages are counted, UTC
    """
    for status in sorted(found, key=lambda each: (known[each.group].judgement.urgency, each.group)):
        console.print(_panel(status, known[status.group], now))


def plain(text: object, style: str = "") -> Text:
    """Return a text of a cluster or a person as it is: no markup of rich, nothing that acts on a terminal."""
    return Text(line(text), style=style)


def _panel(status: GroupStatus, known: GroupNow, now: datetime) -> Panel:
    parts: list[RenderableType] = [*_situation(known.judgement), plain(""), _headline(status)]
    parts.extend(plain(each.said, _COLOURS[each.colour]) for each in standby_lines(known, now))
    parts.append(_registers(status.registers))
    if status.half_moved is not None:
        word = "HALF MOVED" if status.half_moved.outcome == "failed" else "Whether it is half moved is UNKNOWN"
        parts.append(plain(f"{word}: {status.half_moved.detail}", _STYLES[status.half_moved.outcome]))
    parts.extend(_running(each, status.at) for each in status.running if status.at is not None)
    parts.extend(plain(f"{each.cluster}: {each.detail}", "yellow") for each in status.registers if each.detail)
    parts.extend(map(_line, (status.route, *status.flows)))
    if status.patterns is not None:
        parts.append(_line(status.patterns))
        parts.extend(plain(f"  {said}") for said in in_words(status.patterns))
    if status.facts:
        parts.append(plain(f"journaled by the run: {', '.join(status.facts)}"))
    parts.extend(plain(f"→ {said}", "bold") for said in status.next_steps)
    return Panel(Group(*parts), title=plain(status.group), title_align="left", border_style=_STYLES[status.outcome])


def _situation(judged: Judgement) -> Iterable[Text]:
    """Yield what is the matter, what that means, and the one step that helps."""
    yield plain(judged.said, _COLOURS[judged.colour])
    yield plain(" ".join(filter(None, (judged.sentence, judged.wait))))
    if judged.action:
        command = f": python -m kafka_dr {judged.action.command}" if judged.action.command else ""
        yield plain(f"→ {judged.action.label}{command}", "bold")
    if judged.why_not:
        yield plain(judged.why_not)


def _headline(status: GroupStatus) -> Text:
    state = status.state
    if state is None:
        return plain("no register that answers has a record", _STYLES[status.outcome])
    order = f"(epoch {state.epoch}, revision {state.revision})"
    said = f"{state.phase} on {state.active}, standby {state.standbys_in_words} {order}"
    return plain(f"{said}, by {state.verb} {state.run} at {state.at:%Y-%m-%d %H:%M:%S} UTC", _STYLES[status.outcome])


def _registers(found: tuple[RegisterStatus, ...]) -> Table:
    table = Table("register of", "says", "active", "epoch.revision", "run", box=None, pad_edge=False)
    for each in found:
        order = "" if each.epoch is None else f"{each.epoch}.{each.revision}"
        says = plain(each.phase) if each.answer == "record" else plain(each.answer.replace("_", " "), "bold yellow")
        table.add_row(plain(each.cluster), says, plain(each.active), order, plain(each.run))
    return table


def _running(step: RunningStep, now: datetime) -> Text:
    word, colour, said = running_step(step, now)
    return plain(f"{word} {step.run} ({verb_words(step.verb)}): {said}", _COLOURS[colour])


def _line(check: Check) -> Text:
    return plain(f"{check.name}: {check.detail}", _STYLES[check.outcome])
