"""What every router in a service of others does on the real server: lost answers, late writes, a server that hangs."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest

from kafka_dr.routing import Route, RouteConflict, RouteSilent, RouteUncertain, RouteUnreadable, RouteUnwritable
from support.child_server import free_port
from support.cutting_proxy import cutting_proxy
from support.remote_route import RemoteRoute

EAST = Route("orders", "east", "east:9092", 1, datetime(2026, 11, 20, 3, tzinfo=UTC))
WEST = Route("orders", "west", "west:9092", 2, datetime(2026, 11, 20, 4, tzinfo=UTC))


@pytest.fixture(params=["etcd", "dns"])
def remote(request: pytest.FixtureRequest) -> RemoteRoute:
    found: RemoteRoute = request.getfixturevalue(f"route_in_{request.param}")
    return found


def test_a_switch_whose_answer_is_lost_after_the_write_succeeds(remote: RemoteRoute) -> None:
    remote.reached_at().switch(expected_epoch=None, route=EAST)
    with cutting_proxy(remote.port) as proxy:
        proxy.mode, proxy.concerned = "cut", remote.is_write

        remote.reached_at(proxy.port).switch(expected_epoch=1, route=WEST)

    assert (proxy.lost, remote.reached_at().read()) == (1, WEST)


def test_a_switch_of_which_nothing_is_heard_after_the_write_is_uncertain(remote: RemoteRoute) -> None:
    with cutting_proxy(remote.port) as proxy:

        def last(request: bytes) -> bool:
            if written := remote.is_write(request):
                proxy.mode = "hang"
            return written

        proxy.mode, proxy.concerned = "cut", last
        with pytest.raises(RouteUncertain, match="The route of orders may lead to east or not: it was sent, and no"):
            remote.reached_at(proxy.port, seconds=1).switch(expected_epoch=None, route=EAST)

    assert remote.reached_at().read() == EAST


def test_a_write_that_is_never_heard_of_is_sent_again_and_then_uncertain(remote: RemoteRoute) -> None:
    with cutting_proxy(remote.port) as proxy:
        proxy.mode, proxy.concerned, proxy.reaches = "cut", remote.is_write, False
        with pytest.raises(RouteUncertain):
            remote.reached_at(proxy.port, seconds=1).switch(expected_epoch=None, route=EAST)

    assert proxy.lost > 1
    assert remote.reached_at().read() is None


def test_a_write_that_arrives_late_changes_nothing(remote: RemoteRoute) -> None:
    router = remote.reached_at()
    _, never = router.look()
    router.switch(expected_epoch=None, route=EAST)
    _, at_east = router.look()
    router.switch(expected_epoch=1, route=WEST)

    for seen in (never, at_east):
        router.put(seen, dataclasses.replace(EAST, epoch=3))

    assert router.read() == WEST


def test_of_two_processes_that_switch_at_the_same_time_one_wins(remote: RemoteRoute) -> None:
    remote.reached_at().switch(expected_epoch=None, route=EAST)
    routers = [remote.reached_at() for _ in range(2)]
    # Both have seen the same before either writes.
    both_seen = [router.look()[1] for router in routers]
    begun = Barrier(2)

    def attempt(number: int) -> bool:
        route = dataclasses.replace(WEST, bootstrap_servers=f"west:{number}")
        begun.wait(10)
        routers[number].put(both_seen[number], route)
        try:
            routers[number].switch(expected_epoch=1, route=route)
        except RouteConflict:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        won = [number for number, outcome in enumerate(pool.map(attempt, range(2))) if outcome]

    stored = remote.reached_at().read()
    assert stored is not None
    assert [stored.bootstrap_servers] == [f"west:{number}" for number in won]


@pytest.mark.parametrize("expected", [None, 1])
def test_what_is_no_route_is_neither_taken_for_none_nor_replaced(remote: RemoteRoute, expected: int | None) -> None:
    remote.write_foreign()
    router = remote.reached_at()
    before = router.remains()
    assert before

    with pytest.raises(RouteUnreadable):
        router.read()
    with pytest.raises(RouteUnreadable):
        router.switch(expected_epoch=expected, route=WEST)

    assert router.remains() == before
    router.remove()
    router.switch(expected_epoch=None, route=EAST)


def test_a_server_that_hangs_is_silent_when_the_time_is_over(remote: RemoteRoute) -> None:
    with cutting_proxy(remote.port) as proxy:
        proxy.mode = "hang"
        router = remote.reached_at(proxy.port, seconds=0.3)
        with pytest.raises(RouteSilent, match="no answer came in time"):
            router.read()
        with pytest.raises(RouteSilent):
            router.switch(expected_epoch=None, route=EAST)
        with pytest.raises(RouteSilent):
            router.remains()
        with pytest.raises(RouteUnwritable):
            router.try_out()
        with pytest.raises(RouteUnwritable):
            router.remove()


def test_where_nothing_listens_nothing_is_known(remote: RemoteRoute) -> None:
    router = remote.reached_at(free_port())

    with pytest.raises(RouteSilent, match="nothing that listens there answers"):
        router.read()
    with pytest.raises(RouteUnwritable, match="nothing that listens there answers"):
        router.try_out()


def test_no_command_and_no_text_shows_a_secret(remote: RemoteRoute) -> None:
    router = remote.reached_at()
    shown = "\n".join((*router.shown_by(), *router.by_hand(EAST), repr(router)))

    assert [secret for secret in remote.secrets if secret in shown] == []
