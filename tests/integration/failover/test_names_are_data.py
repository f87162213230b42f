"""Topics and groups with names like secrets are moved like any others; a real secret is refused everywhere."""

from __future__ import annotations

import pytest

from kafka_dr.errors import Refused
from kafka_dr.runs.record import EVIDENCE_IS_WHOLE
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.verbs.resume import resume
from kafka_dr.verbs.runner import run_step
from lab import rights
from support import hostile_names, outside_view
from support.disaster import STEPS, Disaster
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup, failed

pytestmark = pytest.mark.kafka


@pytest.fixture
def named(protection: Protection) -> SwitchedGroup:
    """Return a stable group whose topics and consumer groups have names like secrets."""
    hostile_names.make_topics(protection)
    timing = protection.group.timing.model_copy(update={"confirm_seconds": 0.2})
    protection.changes["timing"] = timing
    switching = SwitchedGroup.adopt(protection)
    hostile_names.fill(protection, "east")
    switching.wait_equal()
    return switching


@pytest.mark.long
def test_names_that_look_like_secrets_are_moved_and_moved_back_and_the_evidence_is_sealed(named: SwitchedGroup) -> None:
    """The first run ends without a report, and is finished by its group's name alone."""
    protection, late = named.protection, f"{named.name}-late-token"
    request = named.go(StepName.CLAIM)
    hostile_names.commit(protection, "east", late, 5)
    unread = _unread(named, "east", late)
    for step in STEPS_AFTER_APPROVAL[1:-1]:
        with protection.clients() as clients:
            assert run_step(step, request, clients).outcome == "done"
    finish = ResumeRequest(named.name, "finish", reason="its report never ran", confirmed=True)
    with protection.clients() as clients:
        assert clients.evidence.newest_seal(named.name, request.run) is None
        assert "is finished" in resume(finish, clients).detail
    with protection.clients() as clients, pytest.raises(Refused, match="there is nothing to resume"):
        resume(finish, clients)

    _assert_sealed(named, request.run, on="west")
    assert _unread(named, "west", late) == unread
    named.assert_at_rest("west")

    # The source answers: it is drained, and offsets that its groups commit meanwhile are moved, too.
    disaster = Disaster.of(named)
    disaster.look()
    again = disaster.request()
    disaster.approve(again)
    disaster.step(StepName.CLAIM, again)
    hostile_names.commit(protection, "west", late, 7)
    unread = _unread(named, "west", late)
    for step in STEPS[1:]:
        assert disaster.step(step, again).outcome == "done"

    _assert_sealed(named, again.run, on="east")
    assert _unread(named, "east", late) == unread


def test_a_password_in_use_is_refused_in_any_value_and_after_the_point_of_no_return_the_run_continues(
    named: SwitchedGroup,
) -> None:
    protection = named.protection
    password = protection.lab.client_settings("west", rights.OPERATOR)["sasl.password"]
    leaking = f"{named.name}-{password}"
    request = named.go(StepName.OPEN_TARGET)
    # Each step that lists the groups of the active cluster shows its name.
    hostile_names.commit(protection, "west", leaking, 1)
    outcomes = {}
    for step in (StepName.FLIP_ROUTE, StepName.VERIFY, StepName.START_REVERSE_FLOW, StepName.REPORT):
        with protection.clients() as clients:
            outcomes[step] = run_step(step, request, clients)

    verified = outcomes[StepName.VERIFY]
    assert (verified.outcome, verified.facts) == ("done", {})
    assert {proof.name: proof.outcome for proof in verified.proofs}[EVIDENCE_IS_WHOLE] == "excused"
    _assert_sealed(named, request.run, on="west")
    named.assert_at_rest("west")
    with protection.clients() as clients:
        page = clients.evidence.page(named.name, request.run)
        assert page is not None
        assert "The evidence of verify is not complete" in page
        following = failed(StepName.PREFLIGHT, named.request(), clients)
    assert following.outcome == "failed"
    assert "holds a secret of a connection in use" in following.detail
    assert password not in hostile_names.all_evidence(protection.folder / "evidence")


def _unread(named: SwitchedGroup, cluster: str, group: str) -> object:
    return outside_view.next_values(named.protection, cluster, named.committed(cluster, group))


def _assert_sealed(named: SwitchedGroup, run: str, *, on: str) -> None:
    """The evidence is sealed and whole, and no name is a key of it or of the journal."""
    with named.protection.clients() as clients:
        bundle = clients.evidence.newest_seal(named.name, run)
        assert bundle is not None
        assert clients.evidence.verify(bundle).intact
        journal = clients.register(on).history(named.name)
    assert hostile_names.names_that_are_keys(named.protection, run, journal=journal) == set()
