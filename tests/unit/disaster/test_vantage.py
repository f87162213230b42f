from __future__ import annotations

from pathlib import Path

import pytest

from kafka_dr.connections.connection import Connection
from kafka_dr.connections.meaning import connect_endpoint
from kafka_dr.disaster.vantage import probe_vantage, sees_up
from kafka_dr.errors import Refused, TryAgain
from kafka_dr.http_endpoint import HttpEndpoint
from support.secured_connect import Authority
from support.sentences import assert_sentence
from support.vantage import vantage

SECONDS = 30.0


def login(address: str, **stored: object) -> HttpEndpoint:
    """Return what a connection of Airflow, or of the file of the command line, holds for that server."""
    host = address.removesuffix("/{cluster}")
    return connect_endpoint(Connection.of("watch_office", {"conn_type": "http", "host": host, **stored}))


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


def test_a_vantage_gets_the_login_or_the_token_of_its_connection_over_https(tmp_path: Path) -> None:
    authority, stranger = Authority.made(tmp_path / "authority"), Authority.made(tmp_path / "stranger")
    trusted = {"ca_file": str(authority.ca_file)}
    with vantage(authority.signed("server")) as office:
        office.says, office.wants = {"up": True}, "Bearer hunter22"
        bearer = login(office.address, extra={**trusted, "bearer_token": "hunter22"})
        assert sees_up(office.address, "east", seconds=SECONDS, login=bearer)
        file = tmp_path / "token"
        file.write_text("hunter22\n")
        from_file = login(office.address, extra={**trusted, "bearer_token_file": str(file)})
        assert sees_up(office.address, "east", seconds=SECONDS, login=from_file)
        office.wants = "Basic d2F0Y2hlcjpodW50ZXI6MjI="
        basic = login(office.address, login="watcher", password="hunter:22", extra=trusted)
        assert sees_up(office.address, "east", seconds=SECONDS, login=basic)
        for wrong, said in (
            (bearer, "401: Unauthorized: check the login or token in its connection"),
            (None, "certificate of the server is not accepted.+ca_file of its connection"),
            (
                login(office.address, extra={"ca_file": str(stranger.ca_file)}),
                "certificate of the server is not accepted",
            ),
        ):
            with pytest.raises(TryAgain, match=said) as refused:
                sees_up(office.address, "east", seconds=SECONDS, login=wrong)
            assert "hunter" not in str(refused.value)


def test_without_a_login_a_vantage_that_wants_one_says_nothing() -> None:
    with vantage() as office:
        office.wants = "Bearer hunter22"
        with pytest.raises(TryAgain, match="401: Unauthorized: check its vantage_connections"):
            sees_up(office.address, "east", seconds=SECONDS)


def test_a_login_goes_to_the_server_of_its_connection_and_to_no_other() -> None:
    with vantage() as office, vantage() as stranger:
        office.says = stranger.says = {"up": True}
        own = login(office.address, extra={"bearer_token": "hunter22"})
        for other in (stranger.address, office.address.replace("http:", "https:"), "http://127.0.0.1:wrong/{cluster}"):
            with pytest.raises(Refused, match=r"is not on the server of its connection, .+ so the login was not sent"):
                sees_up(other, "east", seconds=SECONDS, login=own)
        office.elsewhere = stranger.address
        with pytest.raises(TryAgain, match="302: Found: a login is not sent on to another address"):
            sees_up(office.address, "east", seconds=SECONDS, login=own)
        assert stranger.asked == []
        # Nothing secret is sent without a login, so a redirect is followed as before.
        assert sees_up(office.address, "east", seconds=SECONDS)


@pytest.mark.parametrize("token", ["hunter22\nX-Other: 1", "hunter22\u2026"])
def test_a_token_that_cannot_be_sent_is_in_no_message(token: str) -> None:
    with vantage() as office, pytest.raises(TryAgain, match="the characters of its login or token") as refused:
        sees_up(office.address, "east", seconds=SECONDS, login=login(office.address, extra={"bearer_token": token}))
    assert "hunter22" not in str(refused.value)


def test_a_login_that_cannot_be_read_makes_only_its_vantage_unknown() -> None:
    def unreadable() -> HttpEndpoint:
        raise Refused("connection watch_office is not known")

    with vantage() as office:
        probe = probe_vantage("office", office.address, "east", SECONDS, login=unreadable)
    assert (probe.name, probe.outcome) == ("vantage office", "unknown")
    assert_sentence(probe.detail)
    assert office.asked == []
