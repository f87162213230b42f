"""Notifications are sent once by each notifier, over a real mail server and a real web server on the loopback."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from kafka_dr.notifications.notification import Notification
from kafka_dr.notifications.outbox import NotificationOutbox
from kafka_dr.watch_results import WATCHES, WatchResultStore
from kafka_dr_airflow.operators.kept_results import LookResult, kept_result
from kafka_dr_airflow.operators.notify import NotifiersWithNewsOperator, NotifyOperator
from support.kept_metrics import kept
from support.mail_server import mail_server, web_server

SOURCE = Path(__file__).parents[3] / "include" / "topology.yaml"
MAIL = {
    "notifier": "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
    "arguments": {
        "smtp_conn_id": "mail",
        "from_email": "dr@example.com",
        "to": "on-call@example.com",
        "subject": "{{ notification.title }}",
        "html_content": "{{ notification.html }}",
    },
}
WEB = {
    "notifier": "airflow.providers.http.notifications.HttpNotifier",
    "arguments": {"http_conn_id": "chat", "endpoint": "/hook", "json": {"text": "{{ notification.text }}"}},
}
HOSTILE = "{{ conn.mail.password }}<script>\nSubject: forged"


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what declares notifiers in a topology, and returns the outbox."""
    for name in ("EAST", "WEST", "VANTAGE"):
        monkeypatch.setenv(f"KAFKA_DR_LAB_{name}", "127.0.0.1:1")
    monkeypatch.setenv("KAFKA_DR_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKA_DR_TOPOLOGY", str(tmp_path / "topology.yaml"))

    def declare(**notifiers: Any) -> NotificationOutbox:
        document = {**yaml.safe_load(SOURCE.read_text()), "notifications": notifiers}
        (tmp_path / "topology.yaml").write_text(yaml.safe_dump(document))
        return NotificationOutbox(tmp_path / "evidence")

    return declare


def news(happened: str = "Do records arrive? FAILED", group: str = "orders") -> Notification:
    return Notification(
        group, "check_red", datetime.now(UTC), happened, ("1 of 2 canaries are lost",), "http://x/status"
    )


def send(notifier: str) -> None:
    operator = NotifyOperator(task_id="notify", notifier=notifier)
    try:
        operator.execute({})
    except SystemExit as ended:
        raise AirflowException(str(ended)) from None


def test_a_mail_says_what_happened_what_it_means_and_what_to_do_and_is_sent_once(
    declared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = declared(mail=MAIL)
    with mail_server() as (mailbox, port):
        monkeypatch.setenv("AIRFLOW_CONN_MAIL", _smtp(port))
        outbox.put(news())
        outbox.put(news(HOSTILE))
        send("mail")
        with pytest.raises(AirflowSkipException):
            send("mail")
    assert [message["Subject"] for message in mailbox.messages] == [
        "orders: Do records arrive? FAILED",
        "orders: {{ conn.mail.password }}<script>\\nSubject: forged",
    ]
    body = _body(mailbox.messages[0])
    for part in ("1 of 2 canaries are lost", "It means", "runbook of the DAG", "http://x/status"):
        assert part in body
    assert "<script" not in _body(mailbox.messages[1])
    assert "swordfish" not in _body(mailbox.messages[1])


def test_a_webhook_gets_the_same_and_a_notifier_that_fails_keeps_the_others_sending(
    declared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = declared(mail=MAIL, chat=WEB)
    outbox.put(news())
    monkeypatch.setenv("AIRFLOW_CONN_MAIL", _smtp(1))
    with web_server() as (bodies, port):
        monkeypatch.setenv(
            "AIRFLOW_CONN_CHAT", json.dumps({"conn_type": "http", "host": "http://127.0.0.1", "port": port})
        )
        with pytest.raises(
            AirflowException, match=r"notifier mail .* did not send orders: .* The next run tries again"
        ):
            send("mail")
        send("chat")
    assert "It means: A scheduled check found something" in json.loads(bodies[0])["text"]
    with mail_server() as (mailbox, port):
        monkeypatch.setenv("AIRFLOW_CONN_MAIL", _smtp(port))
        send("mail")
    assert len(mailbox.messages) == 1


def test_a_notification_says_in_which_situation_the_group_is_when_it_is_sent_and_the_one_step_that_helps(
    declared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox, store = declared(chat=WEB), WatchResultStore(tmp_path / "evidence")
    many = tuple(f"canary {number} is lost" for number in range(5))
    outbox.put(replace(news(), details=many))
    for watch in WATCHES:
        found = kept("orders", watch, looked_at=datetime.now(UTC))
        if watch == "health":
            found = replace(found, facts={**found.facts, "silent": ["east"]})
        store.keep_round(watch, [found], declared=["orders"])
    with web_server() as (bodies, port):
        monkeypatch.setenv(
            "AIRFLOW_CONN_CHAT", json.dumps({"conn_type": "http", "host": "http://127.0.0.1", "port": port})
        )
        send("chat")
    text = json.loads(bodies[0])["text"]
    assert "Now: NO ANSWER: east, which is active, does not answer since " in text
    assert "To do: Start an unplanned failover." in text
    assert "canary 2 is lost\n2 more: see the page." in text
    assert "It means" not in text


def test_a_web_server_that_refuses_is_named_and_nothing_counts_as_sent(
    declared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = declared(chat=WEB)
    outbox.put(news())
    with web_server(500) as (_, port):
        monkeypatch.setenv(
            "AIRFLOW_CONN_CHAT", json.dumps({"conn_type": "http", "host": "http://127.0.0.1", "port": port})
        )
        with pytest.raises(AirflowException, match="500"):
            send("chat")
    assert len(outbox.waiting("chat", datetime.now(UTC))) == 1


def test_a_notifier_sends_only_what_it_is_declared_for(declared: Any) -> None:
    outbox = declared(mail={**MAIL, "about": ["moved"]}, chat={**WEB, "groups": ["orders"], "about": ["check_good"]})
    outbox.put(news())
    for name in ("mail", "chat"):
        with pytest.raises(AirflowSkipException):
            send(name)


@pytest.mark.parametrize(
    ("about", "sent"),
    [("fence_missing", True), ("check_red", True), ("check_good", False), ("moved", False)],
)
def test_who_wants_every_red_check_is_sent_a_missing_fence_in_place_of_one(
    declared: Any, about: str, sent: bool
) -> None:
    declared(mail={**MAIL, "about": [about]}).put(replace(news(), occasion="fence_missing"))
    assert NotifiersWithNewsOperator().execute({}) == (["mail"] if sent else [])


@pytest.mark.parametrize(
    ("notifier", "arguments", "said"),
    [
        ("no.such.module.Notifier", {}, "cannot be imported"),
        ("airflow.providers.smtp.notifications.smtp.NoSuchThing", {}, "cannot be imported"),
        ("subprocess.run", {"args": ["id"]}, "is not a notifier of Airflow"),
        (MAIL["notifier"], {"colour": "red"}, "does not take these arguments"),
    ],
)
def test_a_class_that_is_no_notifier_is_refused_by_name(
    declared: Any, notifier: str, arguments: Any, said: str
) -> None:
    outbox = declared(mail={"notifier": notifier, "arguments": arguments})
    outbox.put(news())
    with pytest.raises(AirflowException, match=said):
        send("mail")


def test_only_a_notifier_with_news_gets_a_task(declared: Any) -> None:
    outbox = declared(mail=MAIL, chat={**WEB, "about": ["moved"]})
    assert NotifiersWithNewsOperator().execute({}) == []
    outbox.put(news())
    assert NotifiersWithNewsOperator().execute({}) == ["mail"]
    (waiting,) = outbox.waiting("mail", datetime.now(UTC))
    outbox.sent("mail", waiting, datetime.now(UTC))
    assert NotifiersWithNewsOperator().execute({}) == []


def test_a_look_that_turns_red_is_sent_with_the_address_of_the_group(declared: Any) -> None:
    outbox = declared(mail=MAIL)
    for outcome in ("ok", "failed", "failed"):
        with kept_result(logging.getLogger(__name__), {"run_id": "r"}, group="orders", watch="canary") as found:
            found.outcome, found.sentences = outcome, ("1 of 2 canaries are lost",)
    (news,) = outbox.waiting("mail", datetime.now(UTC))
    assert (news.occasion, news.details) == ("check_red", ("1 of 2 canaries are lost",))
    assert news.link.endswith("/kafka-dr/status#group-orders")


def test_an_outbox_that_cannot_be_written_does_not_fail_the_look(
    declared: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    declared(mail=MAIL)
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "notifications").write_text("a file where a folder belongs")
    with kept_result(logging.getLogger(__name__), {"run_id": "r"}, group="orders", watch="canary") as found:
        found.outcome, found.sentences = "failed", ("lost",)
    assert "Nobody is notified of this change" in caplog.text
    assert isinstance(found, LookResult)


def _smtp(port: int) -> str:
    extra = {"disable_ssl": True, "disable_tls": True, "retry_limit": 1, "timeout": 5}
    return json.dumps({"conn_type": "smtp", "host": "127.0.0.1", "port": port, "extra": extra})


def _body(message: Any) -> str:
    part = message.get_body(("html",)) or message
    return str(part.get_content())
