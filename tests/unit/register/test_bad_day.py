"""The transitions after a disaster: claimed by an unplanned failover, left unfenced or diverged, fenced on return."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kafka_dr.errors import Refused
from kafka_dr.register import Phase, RegisterState, transitions
from support.register_states import AT, a_state

LATER = AT + timedelta(minutes=1)


def claim(state: RegisterState, *, highest_epoch: int = 0, source: str = "east", target: str = "west") -> RegisterState:
    return transitions.claimed_unplanned(
        state,
        run="run-1",
        source=source,
        target=target,
        highest_epoch=highest_epoch,
        evidence_sha256="d1",
        approved_by="alice, bob",
        at=LATER,
    )


@pytest.mark.parametrize(
    ("epoch", "highest", "taken"), [(1, 0, 1000), (7, 999, 1000), (7, 1000, 2000), (1000, 0, 2000), (1003, 4999, 5000)]
)
def test_an_unplanned_run_takes_the_next_thousand_above_everything_known(epoch: int, highest: int, taken: int) -> None:
    assert claim(a_state(epoch=epoch), highest_epoch=highest).order == (taken, 0)


@pytest.mark.parametrize("phase", Phase)
def test_it_claims_a_stable_group_or_one_whose_run_died_while_switching(phase: Phase) -> None:
    state = a_state(epoch=4, revision=1, phase=phase, run="run-2", verb="planned_failover")
    if phase in (Phase.STABLE, Phase.SWITCHING):
        new = claim(state)
        assert (new.phase, new.run, new.verb) == (Phase.SWITCHING, "run-1", "unplanned_failover")
        assert (new.active, new.standby, new.approved_by) == ("east", "west", "alice, bob")
    else:
        with pytest.raises(Refused, match=f"orders is {phase} by run run-2"):
            claim(state)


def test_it_claims_nothing_from_a_cluster_that_is_not_active_or_to_the_active_one() -> None:
    with pytest.raises(Refused, match="active on east, not on west"):
        claim(a_state(), source="west", target="east")
    with pytest.raises(Refused, match="already active on east"):
        claim(a_state(), target="east")


@pytest.mark.parametrize(("fenced", "phase"), [(True, Phase.DIVERGED), (False, Phase.UNFENCED)])
def test_the_last_record_of_a_run_says_whether_the_old_cluster_is_fenced(fenced: bool, phase: Phase) -> None:
    handed = transitions.handed_over(claim(a_state()), run="run-1", at=LATER)
    left = transitions.without_source(handed, run="run-1", fenced=fenced, at=LATER)
    assert (left.phase, left.active, left.order) == (phase, "west", (1000, 2))
    with pytest.raises(Refused, match="this run may not change it"):
        transitions.without_source(handed, run="run-2", fenced=fenced, at=LATER)


@pytest.mark.parametrize("phase", Phase)
def test_only_an_unfenced_group_is_fenced_on_return(phase: Phase) -> None:
    state = a_state(phase=phase, active="west", standby="east", epoch=1000, revision=2)
    if phase is Phase.UNFENCED:
        assert transitions.fenced_on_return(state, at=LATER).order == (1000, 3)
    else:
        with pytest.raises(Refused, match="no old cluster to fence"):
            transitions.fenced_on_return(state, at=LATER)
