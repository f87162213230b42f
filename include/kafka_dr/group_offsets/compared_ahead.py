"""What a claim compares right before writes are refused, so that little is left to compare while applications wait.

Nothing of it is needed: the steps after the claim compare whatever they find that is not compared yet.
"""

from __future__ import annotations

from contextlib import suppress

from kafka_dr.errors import KafkaDrError
from kafka_dr.group_offsets import verification
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.offsets.translate.pipeline import FEW_OFFSETS, offsets_of, translate_committed
from kafka_dr.runs.run import Run

#: Since its checks a longer claim has left more to compare than the look itself costs.
_LONG_SECONDS = 3.0


def compare_ahead(run: Run) -> None:
    """Compare what was written during a long claim, and translate the offsets of a group that has many."""
    _translate_many(run)
    _verify_tail(run)


def _verify_tail(run: Run) -> None:
    if run.clock.monotonic() - run.began < _LONG_SECONDS:
        return
    with suppress(KafkaDrError):
        ends = run.operator(run.source).topics.last_stable_offsets(run.partitions(run.source))
        verification.frontier(run).advance(ends)


def _translate_many(run: Run) -> None:
    with suppress(KafkaDrError):
        committed = run.operator(run.source).groups.offsets(run.moved_groups(run.source), require_stable=False)
        owns = run.group.owns_topic
        owned = {g: {p: o for p, o in found.items() if owns(p.topic)} for g, found in committed.items()}
        if sum(map(len, offsets_of(owned).values())) > FEW_OFFSETS:
            translate_committed(basis_of(run), owned)
