"""Whatever the state: nobody is let in before the other cluster refuses writes, and no DENY of others is touched."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_dr.clusters import Acl, TopicPartition
from kafka_dr.command_line import by_hand_page
from kafka_dr.command_line.by_hand import Procedure, procedures
from kafka_dr.command_line.by_hand_facts import ByHandFacts, FoundOn, SampleTopic, _translated
from kafka_dr.fencing import plan
from kafka_dr.fencing.closure import closing
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.offsets.translate.answers import TranslatedOffset, translations_to_json
from kafka_dr.register import Phase, RegisterState
from kafka_dr.register.added_acls import AddedAcls
from kafka_dr.register.roles import Role, Roles
from kafka_dr.register.transitions import adopted as adopted_record
from kafka_dr.replication.by_hand import ConnectByHand
from kafka_dr.routing import FileRouter
from kafka_dr.topology.blocks import MemberOf
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup
from support.memory_router import MemoryRouter
from support.register_states import a_state

TOPOLOGY = Path(__file__).resolve().parents[3] / "include" / "topology.yaml"
ENVIRON = {
    **os.environ,
    "KAFKA_DR_LAB_HOME": "/srv/lab",
    "KAFKA_DR_LAB_EAST": "e:1",
    "KAFKA_DR_LAB_WEST": "w:1",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}
ORDERS = load(TOPOLOGY, ENVIRON).protection_groups["orders"]
NOW = datetime(2026, 1, 2, 3, tzinfo=UTC)
STABLE = a_state(run="a", at=NOW)
STATES = {
    "stable": STABLE,
    "switching": a_state(phase=Phase.SWITCHING, verb="planned_failover", run="p", at=NOW),
    "handed_over": a_state(phase=Phase.HANDED_OVER, active="west", standby="east", run="p", at=NOW),
    "diverged": a_state(phase=Phase.DIVERGED, active="west", standby="east", run="u", at=NOW),
    "unfenced": a_state(phase=Phase.UNFENCED, active="west", standby="east", run="u", at=NOW),
}
SAMPLE = SampleTopic("orders.payments")


def facts(state: RegisterState, group: ProtectionGroup = ORDERS, **changes: object) -> ByHandFacts:
    """Return facts of a group whose clusters both answer."""
    found = {name: FoundOn(AddedAcls(plan.standby(group.on(name))), sample=SAMPLE) for name in ("east", "west")}
    known: dict[str, object] = {
        "servers": {"east": "e:1", "west": "w:1"},
        "router": FileRouter(Path("/srv/route/orders.json")),
        "route_servers": {"east": "e:1", "west": "w:1"},
        "flows": {name: ConnectByHand(name, HttpEndpoint(f"http://{name}")) for name in ("east", "west")},
        "found": found,
        **changes,
    }
    return ByHandFacts(group, state, **known)  # type: ignore[arg-type]


def commands(procedure: Procedure) -> list[str]:
    """Return all commands of a way out in their order."""
    return [command for step in procedure.steps for command in step.commands]


def first(found: list[str], *words: str) -> int:
    """Return where the first command with all these words is."""
    return next(number for number, command in enumerate(found) if all(word in command for word in words))


def test_the_state_says_which_ways_out_there_are() -> None:
    ways = {name: [each.name for each in procedures(facts(state), NOW)] for name, state in STATES.items()}
    assert ways == {
        "stable": ["move"],
        "switching": ["go_back", "move"],
        "handed_over": ["finish"],
        "diverged": ["fence"],
        "unfenced": ["fence"],
    }


@pytest.mark.parametrize("state", ["stable", "switching", "handed_over"])
def test_nobody_is_let_in_before_the_other_cluster_refuses_writes_and_the_register_says_who_is_active(
    state: str,
) -> None:
    for procedure in procedures(facts(STATES[state]), NOW):
        found = commands(procedure)
        opened = first(found, "--remove", "User:orders-app")
        assert first(found, "--add", "User:orders-app") < first(found, "TopicAuthorizationException") < opened
        if procedure.name != "finish":
            assert first(found, "printf", "group/orders", '"phase"') < opened
        assert opened < first(found, "RecordTooLargeException")


def test_a_deny_is_recorded_before_it_is_added_and_forgotten_after_it_is_lifted() -> None:
    found = commands(procedures(facts(STABLE), NOW)[0])
    assert first(found, "fence/orders/east") < first(found, "--add", "e:1")
    lifted = max(number for number, command in enumerate(found) if "--remove" in command)
    assert any("fence/orders/west" in command for command in found[lifted:])


def test_a_deny_of_others_is_neither_lifted_nor_recorded() -> None:
    foreign = min(plan.write_fence(ORDERS))
    ours = plan.standby(ORDERS) - {foreign}
    found = {"east": FoundOn(AddedAcls(), sample=SAMPLE), "west": FoundOn(AddedAcls(ours), frozenset({foreign}))}
    (move,) = procedures(facts(STABLE, found=found), NOW)
    lifted = [command for command in commands(move) if "--remove" in command and "w:1" in command]
    shown = [c for c in lifted if foreign.name in c and f"--deny-principal {foreign.principal} " in c]
    assert not [c for c in shown if "--topic" in c and "--operation Write" in c]


def test_a_deny_of_every_operation_is_lifted_and_forgotten_as_those_that_it_covers() -> None:
    closed = frozenset(map(closing, plan.application_denies(ORDERS) | plan.change_fence(ORDERS)))
    ours = AddedAcls(closed | plan.probe_fence(ORDERS) | plan.probe_freeze(ORDERS))
    for found in ({"west": FoundOn(ours, sample=SAMPLE)}, {}):
        (move,) = procedures(facts(STABLE, found=found), NOW)
        lifted = [command for command in commands(move) if "--remove" in command and "w:1" in command]
        kinds = {(deny.resource, deny.name) for deny in closed}
        named = {kind for kind in kinds for c in lifted if "--operation All" in c and f" {kind[1]}" in c}
        assert named == kinds
        forgotten = [command for command in commands(move) if "fence/orders/west" in command][-1]
        assert '"ALL"' not in forgotten.partition("lifted")[0]


def test_a_source_that_does_not_answer_has_steps_that_can_be_left_out() -> None:
    found = {"west": FoundOn(AddedAcls(plan.standby(ORDERS)), sample=SAMPLE)}
    (move,) = procedures(facts(STABLE, found=found), NOW)
    assert [step.only_if for step in move.steps if any("e:1" in each for each in step.commands)] == [
        "east",
        "east",
        "east",
    ]


def test_hundreds_of_consumer_groups_take_a_few_commands_and_files() -> None:
    groups = {f"orders-{number}": frozenset({"orders.payments"}) for number in range(450)}
    translated = {f"orders-t{number}": {TopicPartition("orders.payments", 0): number} for number in range(150)}
    found = {"east": FoundOn(AddedAcls(), groups=groups, translated=translated)}
    switching = facts(STATES["switching"], found=found)
    move = next(each for each in procedures(switching, NOW) if each.name == "move")
    resets = [command for command in commands(move) if "--reset-offsets" in command]
    assert len(resets) == 2 + 5
    files = {name: text for step in move.steps for name, text in step.files.items()}
    listed = "".join(text for name, text in files.items() if name.startswith("groups"))
    assert listed.count("--group=") == 600
    assert files["offsets-1.csv"].startswith("orders-t0,orders.payments,0,0\n")
    text = by_hand_page.text(switching, [move], NOW, folder="/safe", client_files={})
    assert len(text.splitlines()) < 150


def test_on_paper_all_but_the_commands_is_a_comment_and_files_are_written_by_the_text() -> None:
    names = ("it's $HOME", "orders-\nEND-OF-FILE\nreboot")
    groups = {name: frozenset({"orders.payments"}) for name in names}
    known = facts(STABLE, found={"east": FoundOn(AddedAcls(), groups=groups)})
    text = by_hand_page.text(known, procedures(known, NOW), NOW, folder="", client_files={"a.properties": "x=1\ny=2\n"})
    assert "#     x=1" in text
    assert (
        "cat > groups-by-time-1.txt <<'END-OF-FILE'\n--group=it's $HOME\n--topic=orders.payments\nEND-OF-FILE" in text
    )
    known_words = ("#", "kafka-", "printf", "sleep", "curl", "awk", "cat", "ENDS=", "SINCE=", "tr ", "head ", "chmod")
    assert "reboot" not in text
    heredoc = ("--group=", "--topic=", "END-OF-FILE")
    assert all(not line or line.startswith((*known_words, *heredoc)) for line in text.splitlines())


def test_where_access_rules_are_kept_elsewhere_a_person_changes_them_there_and_no_tool_does() -> None:
    kept = facts(STABLE, kept_in={"west": "/srv/rules/west.json"})
    (move,) = procedures(kept, NOW)
    found = commands(move)
    assert any("kafka-acls.sh" in each and " e:1 " in each for each in found), "east's brokers are changed themselves"
    assert not any("kafka-acls.sh" in each and " w:1 " in each for each in found)
    removed = first(found, "REMOVE THESE DENYs from /srv/rules/west.json")
    assert found[removed + 1].startswith("echo '  deny User:")
    assert first(found, "THESE DENYs to /srv/rules/west.json") < removed
    assert "on topic orders. (prefixed)" in "\n".join(found[removed:])


def test_of_a_route_that_no_command_reaches_the_step_names_who_can_be_asked() -> None:
    (procedure,) = procedures(facts(STATES["handed_over"], router=MemoryRouter()), NOW)
    (step,) = [step for step in procedure.steps if step.title.startswith("send the applications to west")]
    assert step.commands == ()
    assert step.title.endswith(": ask whoever keeps their route to let it lead to w:1")


def of_three(state: RegisterState) -> ByHandFacts:
    servers = {"east": "e:1", "west": "w:1", "north": "n:1"}
    ours = AddedAcls(plan.standby(ORDERS))
    return facts(
        state,
        servers=servers,
        route_servers=servers,
        flows={name: ConnectByHand(name, HttpEndpoint(f"http://{name}")) for name in servers},
        found={name: FoundOn(ours, sample=SAMPLE) for name in servers},
    )


def test_of_several_standbys_each_that_holds_the_copy_is_a_way_out_and_all_registers_know_before_it_opens() -> None:
    adopted = adopted_record("orders", active="east", standbys=["west", "north"], run="a", at=NOW)
    ways = procedures(of_three(adopted), NOW)
    assert [each.title for each in ways] == [
        "move orders from east to north",
        "move orders from east to west",
    ]
    for way, target, other in zip(ways, ("n:1", "w:1"), ("w:1", "n:1"), strict=True):
        found = commands(way)
        opened = first(found, "--remove", "User:orders-app")
        assert target in found[opened]
        for register in (target, other, "e:1"):
            assert first(found, "group/orders", "unplanned_failover", "printf") < opened
            written = [
                n for n, each in enumerate(found) if "unfenced" in each and register in "".join(found[n : n + 2])
            ]
            assert written, register
            assert min(written) < opened
    assert "north stays closed" in ways[1].when
    head, *_ = by_hand_page.text(of_three(adopted), ways, NOW, folder="a folder", client_files={}).splitlines()
    assert "standby north and west" in head


def test_of_several_standbys_one_that_was_given_up_is_fenced_and_another_one_can_be_moved_to() -> None:
    state = a_state(epoch=1003, run="u", verb="unplanned_failover", phase=Phase.UNFENCED, at=NOW, partner="east")
    each = (("east", Role.UNFENCED), ("north", Role.COPY), ("west", Role.ACTIVE))
    ways = procedures(of_three(replace(state, roles=Roles(each))), NOW)
    assert [way.title for way in ways] == [
        "move orders from west to north",
        "keep applications out of east, the old cluster",
    ]
    seed = next(each for each in commands(ways[0]) if "flow_seed" in each)
    assert ('"target": "west"' in seed, '"held": true' in seed) == (True, True)


def test_a_copy_with_another_name_is_closed_to_its_flow_and_let_in_nobody() -> None:
    named = ORDERS.model_copy(update={"flow": ORDERS.flow.model_copy(update={"naming": "default", "separator": "_"})})
    groups = {"orders-readers": frozenset({"orders.payments"})}
    apart = frozenset[Acl]().union(*(plan.apart(named, name) for name in named.clusters))
    ours = AddedAcls(plan.standby(named) | apart)
    found = {name: FoundOn(ours, groups=groups, sample=SAMPLE) for name in named.clusters}
    (move,) = procedures(facts(replace(STABLE, copies_named="_"), named, found=found), NOW)
    done = commands(move)
    lifted = "\n".join(each for each in done if "--remove" in each)
    assert "User:orders-app" in lifted
    assert not any(name in lifted for name in ("east_orders", "west_orders", named.replicator_principal))
    closed = first(done, "--add", named.replicator_principal, "east_orders.", "w:1")
    assert closed < first(done, "--remove", "User:orders-app")
    journaled = done[first(done, "left_with_copies")]
    assert ('"old": "east"' in journaled, "$COPIED" in journaled) == (True, True)
    assert not any("flow_seed" in each for each in done)
    kept = done[first(done, "COPIED=$(")]
    assert ("east_orders" in kept, f"substr($1, {len('east_') + 1})" in kept) == (True, True)
    assert "east_orders" in done[first(done, "ENDS=$(")], "groups and canary are judged by these, too"
    (options,) = (text for step in move.steps for name, text in step.files.items() if name.startswith("groups-by"))
    assert options.splitlines() == ["--group=orders-readers", "--topic=east_orders.payments", "--topic=orders.payments"]


@pytest.mark.parametrize(("phase", "known"), [(Phase.SWITCHING, True), (Phase.STABLE, False)])
def test_offsets_that_an_ended_run_has_translated_are_none_of_the_next_move(phase: Phase, known: bool) -> None:
    partition = TopicPartition("orders.payments", 0)
    position = TranslatedOffset(5, 7, "exact", 0, "found", group="orders-readers", partition=partition)
    journal = {"translations": translations_to_json([position])}
    found = _translated(journal, a_state(phase=phase, run="a", at=NOW))
    assert (set(found) == {"orders-readers"}) is known


@pytest.mark.parametrize("state", ["stable", "handed_over"])
def test_where_copies_are_read_first_readers_are_let_in_before_writers(state: str) -> None:
    flow = ORDERS.flow.model_copy(update={"naming": "default", "order": "copy_first", "copy_first_seconds": 90})
    group, read = ORDERS.model_copy(update={"flow": flow}), {"orders-head": frozenset({"orders.payments"})}
    ours = AddedAcls(plan.standby(group))
    found = {name: FoundOn(ours, groups=read, sample=SAMPLE) for name in ("east", "west")}
    steps = procedures(facts(STATES[state], group, found=found), NOW)[0].steps
    titles = [step.title for step in steps]
    readers, route, waiting, writers = (
        next(n for n, title in enumerate(titles) if said in title)
        for said in ("read on west, and not write", "send the applications", "have read the copies", "in on west. The")
    )
    assert readers < route < waiting < writers
    lifted = {n: " ".join(steps[n].commands) for n in (readers, writers)}
    assert "--operation Write --topic" not in lifted[readers]
    assert "--operation Read" in lifted[readers]
    assert "--operation Write" in lifted[writers]
    assert "east." in titles[waiting]
    assert "west." not in titles[waiting]
    assert steps[waiting].files == {"groups-that-read.txt": "--group=orders-head\n"}


def test_a_group_that_nobody_reads_is_opened_at_once_by_hand() -> None:
    flow = ORDERS.flow.model_copy(update={"naming": "default", "order": "copy_first"})
    titles = [step.title for step in procedures(facts(STABLE, ORDERS.model_copy(update={"flow": flow})), NOW)[0].steps]
    assert not any("have read the copies" in title for title in titles)


def test_where_members_serve_together_groups_that_move_are_let_in_on_an_open_member_and_nothing_else() -> None:
    named = ORDERS.model_copy(update={"flow": ORDERS.flow.model_copy(update={"naming": "default"})})
    group = named.as_member(MemberOf("shop", "east", {"east": "orders", "west": "shop-west"}))
    frozen = plan.standby(group.on("west"))
    assert frozen
    (move,) = procedures(facts(STABLE, group), NOW)
    lifted = [each for each in commands(move) if "--remove" in each and "w:1" in each]
    assert lifted
    assert all("--group" in each and "--topic" not in each for each in lifted)
    names = (*group.consumer_groups, *group.consumer_group_prefixes)
    assert any(name in each for name in names for each in lifted)
