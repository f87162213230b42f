"""Give each consumer group its place on the target: translated, committed, read back; never past an unread record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.group_offsets import other_topics, translation
from kafka_dr.offsets import CutOverProblem, TranslatedOffset, not_read_back, past_end
from kafka_dr.register import Phase
from kafka_dr.runs.offset_rows import groups_from_json
from kafka_dr.runs.record import Check
from kafka_dr.runs.run import Run

_PAUSE_SECONDS = 0.1


def check(run: Run) -> Sequence[Check]:
    """No group may have live members on the target: they would commit over what is written here."""
    return (no_live_members(run),)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"translate the frozen offsets of each group and commit them on {run.target}",)


def act(run: Run) -> Mapping[str, Any]:
    """Translate, journal, commit."""
    placed = _journaled(run) or _translate(run)
    if late := _late(placed):
        raise Refused(f"{late}: nothing was committed; look at both logs there before you trigger a new run")
    unknown = [position for position in placed if position.target_offset is None]
    if unknown:
        shown = "; ".join(f"{p.group} {p.partition} at {p.source_offset}: {p.reason}" for p in unknown[:3])
        raise Refused(
            f"{len(unknown)} positions cannot be translated ({shown}): set groups_policy.unknown_offsets to earliest "
            "to have these partitions read again from their start, or to timestamp to have them read from the time of "
            "the first unread record, or mend the cause and trigger a new run"
        )
    run.write_fact("translations", {"positions": [translation.to_json(position) for position in placed]})
    run.permission(Phase.SWITCHING)()
    run.operator(run.target).groups.set_offsets(by_group(placed))
    beyond = other_topics.journaled(run.fact("drained")) or ()
    return {"groups": [translation.to_json(position) for position in placed], **other_topics.left_out(run, beyond)}


def prove(run: Run) -> Sequence[Check]:
    """What was committed is there, and nothing lies past the end of its log."""
    placed = translation.from_json(_fresh(run)["positions"])
    wanted = by_group(placed)
    found = run.operator(run.target).groups.offsets(wanted, require_stable=True)
    ends = run.operator(run.target).topics.high_watermarks({p.partition for p in placed})
    counted = ", ".join(f"{number} {kind}" for kind, number in translation.classes(placed).items()) or "none to move"
    wrong, past, late = not_read_back(wanted, found), past_end(wanted, ends), _late(placed)
    return (
        Check.that("offsets_read_back", not wrong, _said(wrong, f"{len(placed)} positions read back: {counted}")),
        Check.that("none_past_the_end", not past, _said(past, "no position lies past the end of its log")),
        Check.that("none_past_an_unread_record", not late, late or translation.local_checks_said(placed)),
    )


def no_live_members(run: Run) -> Check:
    """Return whether groups have live members on the target; by policy they are waited for."""
    deadline = run.clock.monotonic() + run.group.timing.drain_seconds
    waits = run.group.groups_policy.live_members == "wait"
    target = run.operator(run.target)
    while True:
        states = target.groups.states(run.moved_groups(run.target)).values()
        alive = {state.group: state.members for state in states if state.members}
        if not alive or not waits or run.clock.monotonic() > deadline:
            break
        run.clock.sleep(_PAUSE_SECONDS)
    if not alive:
        return Check("no_live_members_on_target", "ok", f"no group has members on {run.target}")
    shown = "; ".join(f"{group}: {', '.join(members[:3])}" for group, members in sorted(alive.items())[:3])
    sentence = f"groups have live members on {run.target} ({shown}): stop them, their offsets cannot be set"
    return Check("no_live_members_on_target", "failed", sentence, {"groups": sorted(alive)})


def _journaled(run: Run) -> list[TranslatedOffset]:
    """An earlier attempt may have committed already: it is repeated as it was, not decided again."""
    return translation.from_json(run.journal.get("translations", {}).get("positions", []))


def _translate(run: Run) -> list[TranslatedOffset]:
    frozen = groups_from_json(run.fact("drained")["group_offsets"])
    placed = [*translation.translate(run, frozen), *translation.starts_without_records(run, frozen)]
    known = {(position.group, position.partition) for position in placed}
    stale = translation.stale_offsets(run, frozen)
    return [*placed, *(position for position in stale if (position.group, position.partition) not in known)]


def _late(placed: Sequence[TranslatedOffset]) -> str:
    """Name the positions that the records around them contradict; empty where there are none."""
    late = [position for position in placed if position.proof == "late"]
    shown = "; ".join(f"{p.group} {p.partition} {p.source_offset}→{p.target_offset}" for p in late[:5])
    return f"{len(late)} positions would go past an unread record ({shown})" if late else ""


def _fresh(run: Run) -> Mapping[str, Any]:
    """Return the translations as they stand in the journal now, this step's own included."""
    facts = run.clients.register(run.arbiter).facts(run.group.name, run.request.run)
    if "translations" not in facts:
        raise TryAgain("the translations are not in the journal yet: run the step again")
    return dict(facts["translations"])


def by_group(placed: Sequence[TranslatedOffset]) -> dict[str, dict[TopicPartition, int]]:
    """Return the offsets to be committed, by group."""
    offsets: dict[str, dict[TopicPartition, int]] = {}
    for position in placed:
        if position.target_offset is not None:
            offsets.setdefault(position.group, {})[position.partition] = position.target_offset
    return offsets


def _said(problems: Sequence[CutOverProblem], otherwise: str) -> str:
    return "; ".join(f"{p.group} {p.partition} {p.detail}" for p in problems[:5]) or otherwise
