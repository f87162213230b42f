"""``erase`` as a person types it: who has to confirm it, and what the topology's rules remove."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner, Result

from kafka_dr.approvals.journaled import BY_KEY, BY_NOBODY
from kafka_dr.approvals.signed import erasure_is_signed, public_line
from kafka_dr.audit.erasure import erasures_in
from kafka_dr.command_line import erase as command
from kafka_dr.command_line.app import app
from kafka_dr.command_line.opened import plain_errors
from kafka_dr.evidence.signing import SigningKey
from kafka_dr.register import Phase
from support.kept_list import RUN
from support.kept_world import KeptWorld

ASKED = ("erase", "--group", "orders", "--key", "alice", "--reason", "request 4711")
DAY = timedelta(days=1).total_seconds()


class Terminal:
    """The command line in front of registers in memory.

    :param payloads_days: the rule of retention; ``None``: there is none
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, *, payloads_days: int | None = None) -> None:
        self.world = KeptWorld(folder / "evidence")
        self.bob, self.stranger = SigningKey.generate(), SigningKey.generate()
        self.group: Any = SimpleNamespace(
            name="orders",
            clusters=("east", "west"),
            approver_keys={"bob": public_line(self.bob.public_pem)},
            approvers=("bob",),
            approver_roles=(),
        )
        self.files = {}
        for name, key in {"bob": self.bob, "stranger": self.stranger}.items():
            self.files[name] = folder / name
            self.files[name].touch(mode=0o600)
            self.files[name].write_text(key.private_pem)

        @contextmanager
        def opened(_files: Any) -> Iterator[Any]:
            rules: dict[str, Any] = {} if payloads_days is None else {"payloads_days": payloads_days}
            clients = self.world.clients(**rules)
            cast("Any", clients.topology).group = lambda _: self.group
            with plain_errors():
                yield clients

        patch.setattr(command, "opened", opened)

    def types(self, *arguments: str) -> Result:
        """Run a command."""
        return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "300"})


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (("--confirmed",), 2, "nobody confirms this: give --approver-key FILE"),
        (("--confirmed", "--by", "Dana"), 2, "nobody confirms this: give --approver-key FILE"),
        (("--confirmed", "--break-glass"), 2, "--break-glass needs --by NAME"),
        (("--confirmed", "--by", "Dana", "--break-glass", "--approver-key", "x"), 2, "--break-glass needs --by NAME"),
        (("--confirmed", "--approver-key", "{stranger}"), 4, "is not the key of an approver"),
    ],
)
def test_without_an_approver_nothing_is_erased(terminal: Terminal, more: tuple[str, ...], code: int, said: str) -> None:
    before = terminal.world.content()
    found = terminal.types(*ASKED, *(each.format(**terminal.files) for each in more))
    assert (found.exit_code, said in " ".join(found.output.replace("\u2502", " ").split())) == (code, True), (
        found.output
    )
    assert (terminal.world.content(), terminal.world.journal()) == (before, {})


def test_an_approver_signs_what_is_erased(terminal: Terminal) -> None:
    assert "would be erased" in terminal.types(*ASKED).output
    done = terminal.types(*ASKED, "--confirmed", "--approver-key", str(terminal.files["bob"]))
    assert (done.exit_code, "confirmed by bob, who was verified by a key" in done.output) == (0, True), done.output
    fact = terminal.world.journal()["erased-1"]
    assert (fact["by"], fact["approver"], fact["verified"]) == ("bob", "bob", BY_KEY)
    assert erasure_is_signed(fact, terminal.group, RUN)


def test_a_break_glass_says_that_nobody_was_verified(terminal: Terminal) -> None:
    done = terminal.types(*ASKED, "--confirmed", "--by", "Dana", "--break-glass")
    assert (done.exit_code, "verified by nobody (break glass)" in done.output) == (0, True), done.output
    fact = terminal.world.journal()["erased-1"]
    assert (fact["by"], fact["verified"], fact["signature"]) == ("Dana", BY_NOBODY, "")


def test_what_the_topology_no_longer_keeps_is_shown_and_removed_when_it_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(tmp_path, monkeypatch, payloads_days=30)
    world, asked = terminal.world, ("erase", "--group", "orders", "--expired")
    refused = terminal.types(*asked, "--confirmed")
    assert (refused.exit_code, "nothing expires until it is stable" in refused.output) == (4, True), refused.output
    world.set_state(phase=Phase.STABLE, active="west", standby="east", epoch=1001, run="now")
    early = terminal.types(*asked)
    assert (early.exit_code, "nothing that the topology keeps" in early.output) == (0, True), early.output
    world.clock.advance(40 * DAY)
    before = world.content()
    shown = terminal.types(*asked, "--json")
    assert (shown.exit_code, len(json.loads(shown.output)["lists"])) == (1, 1), shown.output
    assert (world.content(), world.journal()) == (before, {})
    done = terminal.types(*asked, "--confirmed")
    assert (done.exit_code, "was erased" in done.output) == (0, True), done.output
    (erasure,) = erasures_in(world.journal())
    assert (erasure.by, erasure.verified) == ("the topology", "its rule in Git")
    assert b"alice" not in world.content()
    assert terminal.types(*asked, "--by", "Dana").exit_code == 2


def test_without_a_rule_the_command_says_that_nothing_expires(terminal: Terminal) -> None:
    found = terminal.types("erase", "--group", "orders", "--expired", "--confirmed")
    assert (found.exit_code, "declares no evidence.retention" in found.output) == (4, True), found.output
