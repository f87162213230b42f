from __future__ import annotations

import pytest

from kafka_dr.disaster.vantage import sees_up
from kafka_dr.errors import TryAgain
from support.vantage import vantage


@pytest.mark.parametrize("up", [True, False])
def test_a_vantage_says_whether_it_sees_a_cluster_up(up: bool) -> None:
    with vantage() as office:
        office.says = {"up": up}
        assert sees_up(office.address, "east", seconds=2) is up
        assert office.asked == ["/east"]


@pytest.mark.parametrize("says", [{}, {"up": "yes"}, {"up": None}, [True], "up", 1])
def test_any_other_answer_is_refused(says: object) -> None:
    with vantage() as office:
        office.says = says
        with pytest.raises(TryAgain, match=r"did not answer .+ about east: check that vantage"):
            sees_up(office.address, "east", seconds=2)


def test_what_an_address_hides_in_its_query_is_in_no_message() -> None:
    with vantage() as office:
        office.says = {}
        with pytest.raises(TryAgain) as refused:
            sees_up(f"{office.address}?for=hunter22", "east", seconds=2)
        assert office.asked == ["/east?for=hunter22"]
    for address in (f"{office.address}?for=hunter22", "http://watch/\x01?for=hunter22"):
        with pytest.raises(TryAgain) as silent:
            sees_up(address, "east", seconds=2)
        assert "hunter22" not in f"{refused.value} {silent.value}"


def test_nothing_waits_for_a_vantage_that_hangs() -> None:
    with vantage() as office:
        office.hangs = True
        with pytest.raises(TryAgain, match="did not say whether east is up"):
            sees_up(office.address, "east", seconds=0.3)
        assert office.asked, "it was asked, and it hangs until this test ends"


def test_a_vantage_that_refuses_connections_gives_no_answer() -> None:
    with vantage() as office:
        address = office.address
    with pytest.raises(TryAgain):
        sees_up(address, "east", seconds=1)
