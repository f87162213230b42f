"""Set each consumer group's offsets on the target: translate, commit, read back; never past an unread record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_dr import parallel
from kafka_dr.counted import counted
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.group_offsets import commit_metadata, committed_positions, other_topics
from kafka_dr.group_offsets.read_is_copied import wait_until_read_is_copied
from kafka_dr.group_offsets.transfers import PositionTransfer, transfers
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.named_rows import groups_from_json, positions_from_json
from kafka_dr.offsets.translate.answers import (
    TranslatedOffset,
    starts_of_empty,
    to_commit,
    translations_from_json,
    translations_to_json,
)
from kafka_dr.offsets.translate.local_check import LocalVerdict
from kafka_dr.offsets.translate.pipeline import translate
from kafka_dr.offsets.verify import CutOverProblem, before_start, not_read_back, past_end
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed, TopicPartition
from kafka_dr.register import Phase
from kafka_dr.runs.record import first_few
from kafka_dr.runs.register_guard import LastingPermission
from kafka_dr.runs.run import Run
from kafka_dr.waiting import wait_until


def check(run: Run) -> Sequence[Check]:
    """No group may have live members on the target: they would overwrite the offsets that are set here."""
    return (no_live_members(run),)


def intent(run: Run) -> Sequence[str]:
    """Say what acting means."""
    return (f"translate the frozen offsets of each group and commit them on {run.target}",)


def act(run: Run) -> Mapping[str, Any]:
    """Translate, journal, commit."""
    # What an earlier attempt journaled it may have committed: it is committed again, not translated again.
    translated = translations_from_json(run.journal.get("translations", {})) or _translate(run)
    if late := _late(translated):
        raise Refused(
            f"{late}: nothing was committed. Look at these offsets in the logs of {run.source} and {run.target}, then "
            "trigger a new run"
        )
    unknown = [each for each in translated if each.target_offset is None]
    if unknown:
        shown = "; ".join(
            f"{each.group} {each.partition} at {each.source_offset}: {each.reason}" for each in unknown[:3]
        )
        raise Refused(
            f"{counted(len(unknown), 'offset')} cannot be translated to {run.target} ({shown}), expected none. Set "
            "groups_policy.unknown_offsets to earliest to read these partitions again from their start, or to "
            "timestamp to read them from the time of the first unread record, or fix the cause. Then trigger a new run"
        )
    rows = journal_and_commit(run, translated)
    return {"groups": rows, **other_topics.left_out(run, other_topics.journaled(run.fact("drained")) or ())}


def unread_is_held(run: Run) -> Check:
    """Return whether the target still holds what each group has to read next: nobody deleted the head of its log.

    Else a group would begin at the log start, or at the end, as its ``auto.offset.reset`` says, and skip records. What
    no group has to read any more may be deleted by retention at any moment, so that is only said.
    """
    wanted = to_commit(translations_from_json(run.fact("translations")))
    before = positions_from_json(run.fact("target_ends").get("starts", ()))
    starts = run.operator(run.target).topics.log_starts({*before, *(p for offsets in wanted.values() for p in offsets)})
    deleted = before_start(wanted, starts)
    advice = (
        f"records that these groups have not read were deleted on {run.target} since their offsets were translated: "
        "find out who deleted them, or whose retention; trigger a new run, which translates the offsets again"
    )
    said = f"every log on {run.target} begins at or before the offsets of its groups"
    gone = [f"{p} at {starts[p]} instead of {start}" for p, start in sorted(before.items()) if starts[p] > start]
    if gone and not deleted:
        said += (
            f"; {len(gone)} of them begin later than when the flow was fenced ({', '.join(first_few(gone, 3))}): "
            "find out whether their retention deleted records that all groups had read, or somebody"
        )
        return Check("unread_is_held", "warning", said)
    return Check.that("unread_is_held", not deleted, f"{_said(deleted, '')}: {advice}" if deleted else said)


def journal_and_commit(run: Run, translated: Sequence[TranslatedOffset]) -> list[dict[str, Any]]:
    """Journal translated offsets, then commit them on the target, and return them as they were journaled."""
    fact = translations_to_json(translated)
    run.write_fact("translations", fact)
    permission = LastingPermission(run.guard(Phase.SWITCHING), run.clock)
    permission.require()
    run.operator(run.target).groups.set_offsets(to_commit(translated), before_each=permission.require)
    # What applications keep there is theirs: the register needs it, the evidence does not.
    return [{**row, "metadata": "carried"} if "metadata" in row else row for row in fact["positions"]]


def prove(run: Run) -> Sequence[Check]:
    """The committed offsets can be read back, and none is past the end of its log."""
    translated = translations_from_json(_fresh(run))
    wanted = to_commit(translated)
    found = run.operator(run.target).groups.offsets(wanted, require_stable=True)
    ends = run.operator(run.target).topics.high_watermarks({p.partition for p in translated})
    kinds = Counter(each.kind for each in translated)
    by_class = ", ".join(f"{number} {kind}" for kind, number in kinds.items()) or "none to set"
    wrong, past, late = not_read_back(wanted, found), past_end(wanted, ends), _late(translated)
    return (
        Check.that(
            "offsets_read_back",
            not wrong,
            _said(wrong, f"{counted(len(translated), 'offset')} read back on {run.target}: {by_class}"),
        ),
        Check.that("none_past_the_end", not past, _said(past, f"no offset is past the end of its log on {run.target}")),
        Check.that("none_past_an_unread_record", not late, late or _local_checks_said(translated)),
    )


def no_live_members(run: Run) -> Check:
    """Return whether groups have live members on the target; if the policy says so, wait until they have none."""
    waits = run.group.groups_policy.live_members == "wait"
    target = run.operator(run.target)

    def members() -> dict[str, tuple[str, ...]]:
        states = target.groups.states(run.moved_groups(run.target)).values()
        return {state.group: state.members for state in states if state.members}

    alive = wait_until(
        members, lambda found: not found or not waits, clock=run.clock, seconds=run.group.timing.drain_seconds
    )
    if not alive:
        return Check("no_live_members_on_target", "ok", f"no group has members on {run.target}")
    shown = "; ".join(f"{group}: {', '.join(found[:3])}" for group, found in sorted(alive.items())[:3])
    sentence = (
        f"groups have live members on {run.target} ({shown}), expected none, as their offsets cannot be set: stop "
        "these consumers"
    )
    return Check("no_live_members_on_target", "failed", sentence, {"groups": sorted(alive)})


def _translate(run: Run) -> list[TranslatedOffset]:
    """Translate what groups have committed, and give a start to partitions that only one cluster has an offset for."""
    frozen = groups_from_json(run.fact("drained")["group_offsets"])
    owns = run.group.owns_topic
    wait_until_read_is_copied(run, {each: each.of_groups(frozen, owns) for each in transfers(run)})
    return transferred(run, frozen)


def transferred(run: Run, frozen: Committed) -> list[TranslatedOffset]:
    """Translate what groups have committed on the source, by content, between all logs that the run moves.

    :returns: the offsets by the names that the target has for their partitions
    """
    found = parallel.ask_all(lambda transfer: _transferred(run, transfer, frozen), transfers(run))
    return [each for translated in found.values() for each in translated]


def _transferred(run: Run, transfer: PositionTransfer, frozen: Committed) -> list[TranslatedOffset]:
    """Translate between some logs.

    :param frozen: what groups have committed on the source, in whatever logs
    :returns: the offsets by the names that the target has for their partitions
    """
    owns, basis = run.group.owns_topic, basis_of(run, transfer)
    committed = transfer.of_groups(frozen, owns)
    (translated, stale), empty = parallel.at_once(
        lambda: parallel.at_once(
            lambda: translate(basis, committed, run.group.groups_policy),
            lambda: committed_positions.stale_offsets(run, committed, transfer),
        ),
        lambda: _empty_on_both(run, transfer),
    )
    translated = [*commit_metadata.carry(run, translated, committed, transfer), *starts_of_empty(committed, empty)]
    known = {(each.group, each.partition) for each in translated}
    found = [*translated, *(each for each in stale if (each.group, each.partition) not in known)]
    return [replace(each, partition=transfer.at_target(each.partition)) for each in found]


def _empty_on_both(run: Run, transfer: PositionTransfer) -> set[TopicPartition]:
    """Return the partitions that never held a record on either cluster, by the names of their originals."""
    owns = run.group.owns_topic
    target = transfer.of_target(positions_from_json(run.fact("target_ends")["ends"]), owns)
    if transfer.follows_flow and run.declared.closes(run.source):
        source: Mapping[TopicPartition, int] = positions_from_json(run.fact("source_ends")["ends"])
    else:
        topics = transfer.source_of(run, "operator").topics
        source = topics.high_watermarks(topics.partitions(owns))
    return {p for p, end in source.items() if end == 0 == target.get(p)}


def _late(translated: Sequence[TranslatedOffset]) -> str:
    """Name the offsets that the records around them contradict; empty if there are none."""
    late = [each for each in translated if each.proof == "late"]
    shown = "; ".join(f"{each.group} {each.partition} {each.source_offset}→{each.target_offset}" for each in late[:5])
    return f"{counted(len(late), 'offset')} would be past an unread record ({shown}), expected none" if late else ""


def _fresh(run: Run) -> Mapping[str, Any]:
    """Return the journaled translations, read again to include those of this step."""
    facts = run.clients.register(run.arbiter).facts(run.group.name, run.request.run)
    if "translations" not in facts:
        raise TryAgain(f"the register of {run.arbiter} has no fact translations of this run yet: run the step again")
    return dict(facts["translations"])


def _local_checks_said(translated: Sequence[TranslatedOffset]) -> str:
    """Say what the records around each translated offset show, as counts."""
    proven = Counter(each.proof for each in translated)
    words: dict[LocalVerdict, str] = {
        "right": "resume at the first unread record",
        "early": "resume before it, so that records come again",
        "unknown": "cannot be judged by the records around them",
    }
    said = [f"{proven[verdict]} {words}" for verdict, words in words.items() if proven[verdict]]
    return "no offset is past an unread record: " + (", ".join(said) or "none was moved")


def _said(problems: Sequence[CutOverProblem], otherwise: str) -> str:
    return "; ".join(f"{p.group} {p.partition} {p.detail}" for p in problems[:5]) or otherwise
