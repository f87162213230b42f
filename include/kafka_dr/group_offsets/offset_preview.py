"""Where each consumer group would resume if it failed over now, what that costs, and what MirrorMaker would answer.

Nothing is changed on any cluster. What is not moved, or cannot be read, is named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_dr.clusters import TopicPartition
from kafka_dr.counted import counted
from kafka_dr.group_offsets import (
    commit_metadata,
    group_costs,
    left_to_do,
    other_topics,
    undeclared_readers,
    unmovable_groups,
)
from kafka_dr.group_offsets.committed_positions import read_positions
from kafka_dr.group_offsets.transfers import PositionTransfer, transfers
from kafka_dr.group_offsets.translation_basis import keeping_basis_of
from kafka_dr.group_offsets.unmovable_groups import SpecialReaders
from kafka_dr.group_offsets.verification import checked_locally
from kafka_dr.json_documents import write_whole
from kafka_dr.offsets.maps import export
from kafka_dr.offsets.preview import (
    PositionRow,
    choice_rows,
    group_rows,
    position_row,
    position_rows,
    total,
)
from kafka_dr.offsets.translate.answers import TranslatedOffset
from kafka_dr.offsets.translate.basis import TranslationBasis
from kafka_dr.offsets.translate.by_time import RecordTimes, first_at, record_times, times_of_unread
from kafka_dr.offsets.translate.choice import Strategy, WithCheckpoint, with_checkpoint
from kafka_dr.offsets.translate.facts import GatheredFacts, gather, never_committed
from kafka_dr.offsets.translate.pipeline import by_facts_first, offsets_of
from kafka_dr.outcomes import Check
from kafka_dr.positions import Committed, PartitionOffset, SeedPoint
from kafka_dr.runs.at_rest import WatchResult, at_rest
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.request import RunRequest
from kafka_dr.runs.run import Run
from kafka_dr.topology.readers import GroupsPolicy
from kafka_dr.watch_results import FLOW

#: Offsets whose time is looked up. For more only counts are given, because each time needs a read.
_MOST_MOMENTS = 2_000
#: What one proof says of several, the worst last.
_WORST = ("ok", "unknown", "failed")


@dataclass(frozen=True, slots=True)
class Preview:
    """What was found.

    :param report: as JSON
    :param watched: the same in a sentence, for the task
    """

    report: dict[str, Any]
    watched: WatchResult


def preview_offsets(group: str, clients: Clients, *, folder: str, standby: str | None = None) -> Preview | WatchResult:
    """Look at every consumer group of a protection group, and write the report.

    :param standby: the one that the groups would move to; the only one where ``None``
    :param folder: the folder of ``report.json``, below the evidence root
    :raises NeedsPerson: the registers contradict each other, or the one that decides cannot be read
    """
    run = Run(RunRequest(group, "offsets", target=standby), clients)
    state = at_rest(group, run.read_register_state())
    if isinstance(state, WatchResult):
        return state
    found = look(run)
    path = clients.evidence_root.joinpath(*folder.split("/"))
    path.mkdir(parents=True, exist_ok=True)
    report = found.report
    if run.group.groups_policy.external_offsets:
        report = {**report, **_exported(path, found.gathered)}
    write_report(path, report)
    return Preview(report, found.watched)


def _exported(path: Any, gathered: GatheredFacts) -> dict[str, Any]:
    """Write the map for consumers that keep their offsets outside Kafka; what it lacks is named."""
    partitions = gathered.partitions
    runs = {p: facts.runs for p, facts in partitions.items() if facts.runs.stretches and not facts.caution}
    missing = [
        {"topic": p.topic, "partition": p.partition, "reason": partitions[p].caution or "no audit has matched it yet"}
        for p in sorted(partitions.keys() - runs.keys())
    ]
    return {"exported": ", ".join(export(path, runs)), "not_exported": missing}


@dataclass(frozen=True, slots=True)
class Look:
    """What :func:`look` found: the report, and what it rests on.

    :param blocking: why groups that offsets alone would move cannot be moved, a sentence each
    :param metadata: what becomes of commit metadata; empty if there is none
    """

    report: dict[str, Any]
    blocking: tuple[str, ...]
    watched: WatchResult
    gathered: GatheredFacts
    rows: tuple[PositionRow, ...]
    metadata: str


def look(run: Run) -> Look:
    """Look at every consumer group of a run's protection group, as it is now on its source."""
    parts = [_between(run, transfer) for transfer in transfers(run)]
    rows = tuple(row for part in parts for row in part.rows)
    unread = tuple(dict.fromkeys(said for part in parts for said in part.unread))
    problems = tuple(dict.fromkeys(said for part in parts for said in part.gathered.problems))
    strategies = {row.group: run.group.groups_policy.start_for(row.group) for row in rows}
    left = [row for part in parts for row in part.never_committed]
    special = unmovable_groups.look(run, run.source, run.target)
    report = _report(run, rows, strategies, problems=(*problems, *unread))
    report |= {"never_committed": left, **_special(run, special)}
    texts = commit_metadata.by_group(each for part in parts for each in part.carried)
    report |= {"commit_metadata": [{"group": group, **row} for group, row in texts.items()]}
    for row in report["groups"]:
        row["metadata_left_out"] = commit_metadata.left_out(texts.get(row["group"], {}))
    beyond = other_topics.look(run, run.source)
    report |= {"read_elsewhere": other_topics.report_rows(run, beyond.rows)}
    undeclared = undeclared_readers.look(run, (run.source, run.target))
    report |= {"undeclared_readers": [reader.to_json() for reader in undeclared.groups]}
    shown = (other_topics.judged(run, beyond, cluster=run.source), undeclared_readers.judged(run, undeclared))
    refused = [*special.refused]
    refused += [check.detail for check in shown if not check.passes]
    proof = max((part.proof for part in parts), key=lambda check: _WORST.index(check.outcome))
    report |= {"proof": {"state": proof.outcome, "detail": proof.detail, **proof.facts}}
    late = (proof.detail,) if proof.outcome == "failed" else ()
    blocking = (*_untranslated(report), *unread, *late)
    watched = _watched(run, report, (*blocking, *refused))
    metadata = commit_metadata.in_words(texts)
    warned = (
        *filter(None, (metadata,)),
        *special.accepted,
        *(check.detail for check in shown if check.outcome == "excused"),
    )
    watched = replace(watched, sentences=(*watched.sentences, *warned))
    return Look(report, blocking, watched, parts[0].gathered, rows, metadata)


@dataclass(frozen=True, slots=True)
class _Part:
    """What was found between some logs of both clusters.

    :param rows: by the names that the source has for the partitions
    :param unread: a sentence for each group that could not be read
    :param carried: the translated offsets, with the commit metadata that is carried
    :param never_committed: rows of partitions that a group never committed to
    :param proof: what the records around the exact offsets say
    """

    rows: tuple[PositionRow, ...]
    unread: tuple[str, ...]
    gathered: GatheredFacts
    carried: tuple[TranslatedOffset, ...]
    never_committed: list[dict[str, Any]]
    proof: Check


def _between(run: Run, transfer: PositionTransfer) -> _Part:
    """Look at what groups have committed in some logs."""
    committed, unread = read_positions(run, transfer)
    basis, policy = keeping_basis_of(run, transfer), run.group.groups_policy
    source = transfer.source_of(run, "operator").topics
    of_groups = {p for offsets in committed.values() for p in offsets}
    gathered = gather(basis, {*source.partitions(run.group.owns_topic), *of_groups})
    translated = _translated(basis, committed, gathered)
    times = _times(basis, gathered, translated, policy)
    unknown = policy.unknown_offsets
    rows = tuple(
        position_row(
            group,
            (p, offset),
            translated[p, offset],
            gathered.partitions[p],
            strategy=policy.start_for(group),
            times=times,
            otherwise=None if unknown == "refuse" else unknown,
        )
        for group in sorted(committed)
        for p, offset in sorted(committed[group].items())
    )
    placed = [row.chosen.of(row.group, row.partition) for row in rows]
    return _Part(
        tuple(replace(row, partition=transfer.at_source(row.partition)) for row in rows),
        unread,
        gathered,
        tuple(commit_metadata.carry(run, placed, committed, transfer)),
        _never_committed(committed, gathered),
        _proof(basis, translated),
    )


def _special(run: Run, found: SpecialReaders) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of the readers that need more than a moved offset, and of what is left to do for them."""
    return {
        "not_moved": [each.to_json() for each in found.share],
        "streams_applications": [each.to_json() for each in found.streams],
        "connect_sinks": [*found.sink_rows],
        "never_joined": [*found.hint_rows],
        "left_to_do": left_to_do.of_now(run, found),
    }


def offsets_check(run: Run, *, closely: bool) -> Check:
    """Answer for a preflight: is every group's offset known, and is no group left out in silence?

    :param closely: translate every offset; otherwise check only that every group can be read, which reads no log
    """
    if not closely:
        unread = read_positions(run)[1]
        return Check.that("offsets_preview", not unread, "; ".join(unread) or "every group's positions can be read")
    found = look(run)
    figures = {name: found.report[name] for name in ("redelivered", "mm2_redelivered", "groups", "never_committed")}
    if found.blocking:
        return Check("offsets_preview", "failed", "; ".join(found.blocking), figures)
    said = "; ".join(filter(None, (str(found.report["sentence"]), found.metadata)))
    is_left_out = any(row["metadata_left_out"] for row in found.report["groups"])
    return Check("offsets_preview", "warning" if is_left_out else "ok", said, figures)


def _times(
    basis: TranslationBasis,
    gathered: GatheredFacts,
    translated: Mapping[PartitionOffset, WithCheckpoint],
    policy: GroupsPolicy,
) -> RecordTimes:
    if len(translated) > _MOST_MOMENTS:
        translated = _by_time_alone(translated, policy)
    positions: dict[TopicPartition, set[int]] = {}
    begins: dict[TopicPartition, set[int]] = {}
    for (p, offset), found in translated.items():
        positions.setdefault(p, set()).add(offset)
        own = found.translation.target_offset if found.translation.kind != "exact" else None
        begins.setdefault(p, set()).update(at for at in (own, found.mirrormaker) if at is not None)
    sure = {at: found.translation for at, found in translated.items() if found.translation.kind == "exact"}
    exact = {at: found.target_offset for at, found in sure.items() if found.target_offset is not None}
    facts, margin = gathered.partitions, policy.timestamp_margin_seconds
    times = times_of_unread(basis, facts, positions, exact=exact, margin_seconds=margin)
    held = {p: span for p in begins if (span := facts[p].target) is not None}
    on_target = {p: span for p, each in facts.items() if (span := each.target) is not None}
    at_time = first_at(basis.target, on_target, policy.start_time)
    return replace(times, copies=record_times(basis.target, begins, held), at_time=at_time)


def _by_time_alone(
    translated: Mapping[PartitionOffset, WithCheckpoint], policy: GroupsPolicy
) -> dict[PartitionOffset, WithCheckpoint]:
    """Return the offsets whose translation may depend on a time; for the others the time is only information."""
    choosing = "timestamp" in (policy.start, *policy.start_of.values())
    unknown = policy.unknown_offsets == "timestamp"
    return {
        at: found
        for at, found in translated.items()
        if choosing or (unknown and found.translation.target_offset is None)
    }


def _proof(basis: TranslationBasis, translated: Mapping[PartitionOffset, WithCheckpoint]) -> Check:
    """Check every exact offset by the records around it, up to a number that is cheap."""
    exact = {at: found.translation for at, found in translated.items() if found.translation.kind == "exact"}
    points = {
        (at[0], SeedPoint(at[1], found.target_offset))
        for at, found in sorted(exact.items())[:_MOST_MOMENTS]
        if found.target_offset is not None
    }
    return checked_locally(basis, points)


def _translated(
    basis: TranslationBasis, committed: Committed, gathered: GatheredFacts
) -> dict[PartitionOffset, WithCheckpoint]:
    found = by_facts_first(basis, offsets_of(committed), gathered.partitions)
    return {at: with_checkpoint(at[1], gathered.partitions[at[0]], answer) for at, answer in found.items()}


def _never_committed(committed: Committed, gathered: GatheredFacts) -> list[dict[str, Any]]:
    """Return the partitions of a group's topics that it never committed to: added later, or not read yet."""
    found = []
    of_topic: dict[str, list[TopicPartition]] = {}
    for p in gathered.partitions:
        of_topic.setdefault(p.topic, []).append(p)
    for group, offsets in sorted(committed.items()):
        theirs = {p for topic in {p.topic for p in offsets} for p in of_topic.get(topic, ())}
        for p in sorted(theirs - offsets.keys()):
            if gathered.partitions[p].source is not None:
                answer = never_committed(gathered.partitions[p])
                found.append({"group": group, "topic": p.topic, "partition": p.partition, "reason": answer.reason})
    return found


def _report(
    run: Run, rows: Collection[PositionRow], strategies: Mapping[str, Strategy], *, problems: tuple[str, ...]
) -> dict[str, Any]:
    kinds = [row.chosen.kind for row in rows]
    groups = group_rows(tuple(rows), strategy_of=strategies)
    verdict = next((kind for kind in ("unknown", "declared", "bounded") if kind in kinds), "exact")
    again = total(row.chosen.redelivered_at_most for row in rows)
    by_checkpoints = total(row.mirrormaker_again for row in rows if row.mirrormaker is not None)
    without = sum(row.mirrormaker is None for row in rows)
    second = sum(row.chosen.second_copies for row in rows)
    twice = f" ({second:,} are {group_costs.SECOND_COPIES})" if second else ""
    return {
        "schema_version": 1,
        "audit": "offsets",
        "flow": f"{run.group.name}.{run.source}-to-{run.target}",
        "at": run.clock.now().isoformat(),
        "verdict": verdict,
        "sentence": f"{_records(again)} would be delivered again on {run.target}{twice}; by MirrorMaker's own "
        f"checkpoints {_records(by_checkpoints)}, and {without} of {len(rows)} positions would have none",
        "findings": [{"sentence": problem} for problem in problems],
        "redelivered": again,
        "second_copies": second,
        "mm2_redelivered": by_checkpoints,
        "mm2_without_checkpoint": without,
        "classes": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "external_offsets": [{"consumer": name} for name in run.group.groups_policy.external_offsets],
        "groups": groups,
        "choices": choice_rows(tuple(rows)),
        "positions": position_rows(rows),
    }


def _untranslated(report: Mapping[str, Any]) -> tuple[str, ...]:
    unknown = [row["group"] for row in report["groups"] if row["verdict"] == "unknown"]
    return (
        (f"offsets of {', '.join(unknown)} cannot be translated: see groups_policy.unknown_offsets",) if unknown else ()
    )


def _watched(run: Run, report: Mapping[str, Any], problems: tuple[str, ...]) -> WatchResult:
    said, named = (str(report["sentence"]), *problems), {FLOW: f"{run.source}-to-{run.target}"}
    return WatchResult(run.group.name, "failed" if problems else "ok", said, named)


def _records(count: int | None) -> str:
    return "an unknown number of records" if count is None else f"{counted(count, 'record')} at most"


def write_report(path: Any, report: Mapping[str, Any]) -> None:
    """Write ``report.json``: it shows that its folder is complete, so it appears as a whole or not at all."""
    write_whole(path.joinpath("report.json"), (json.dumps(report, indent=1) + "\n").encode())
