"""What a claim compares right before it takes the group, so that little is left to compare while applications wait.

Nothing of it is needed: the steps after the claim compare whatever they find that is not compared yet. But a fault that
is found is a reason not to begin.
"""

from __future__ import annotations

from kafka_dr.audit.finding import FindingKind
from kafka_dr.causes import cause
from kafka_dr.errors import KafkaDrError, Refused
from kafka_dr.group_offsets import commit_metadata, verification
from kafka_dr.group_offsets.transfers import transfers
from kafka_dr.group_offsets.translation_basis import basis_of
from kafka_dr.offsets.translate.pipeline import FEW_OFFSETS, offsets_of, translate_committed
from kafka_dr.runs.run import Run

#: Since its checks a longer claim has left more to compare than the look itself costs.
_LONG_SECONDS = 3.0


def compare_before_claim(run: Run) -> dict[str, str]:
    """Translate the offsets of a protection group that has many, read what commit metadata may be about, and compare
    what was written during a long claim.

    :returns: facts of the step: what could not be compared now, and why; empty if nothing is wrong
    :raises Refused: the copy has a fault that the checks did not see yet
    """
    missed = []
    for compare in (_translate_ahead, _verify_tail):
        try:
            compare(run)
        except Refused:
            raise
        except (KafkaDrError, OSError) as error:
            missed.append(cause(error))
    return {"not_compared_before_claim": "; ".join(missed)} if missed else {}


def _translate_ahead(run: Run) -> None:
    committed = run.operator(run.source).groups.offsets(run.moved_groups(run.source), require_stable=False)
    for transfer in transfers(run):
        owned = transfer.of_groups(committed, run.group.owns_topic)
        texts = commit_metadata.about_what_follows(owned)
        wanted = owned if sum(map(len, offsets_of(owned).values())) > FEW_OFFSETS else texts
        if wanted:
            # Up to thousands of records after each offset are compared for it, of both logs.
            translated = translate_committed(basis_of(run, transfer), wanted)
            commit_metadata.carry(run, translated, texts, transfer)


def _verify_tail(run: Run) -> None:
    if run.clock.monotonic() - run.began < _LONG_SECONDS:
        return
    ends = run.operator(run.source).topics.last_stable_offsets(run.partitions(run.source))
    verified = verification.frontier(run).advance(ends).values()
    # A record that is missing may still be copied: the drain waits for it.
    faults = [found.finding for found in verified if found.finding and found.finding.kind is not FindingKind.MISSING]
    if faults:
        raise Refused(f"the copy on {run.target} is not equal to {run.source}, so nothing was changed: {faults[0]}")
