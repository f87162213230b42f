"""The text of a first topology: what is known, why it is proposed, and each question with what to do."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

from kafka_dr.checks.authorizers import ALLOW_EVERYONE, SUPER_USERS, undeclared_authorizers
from kafka_dr.clusters.model import ResourceType
from kafka_dr.counted import counted
from kafka_dr.quoting import line
from kafka_dr.register import REGISTER_TOPIC
from kafka_dr.set_up.answers import APPROVERS, INIT_ROLES, InitAnswers
from kafka_dr.set_up.proposal import ProposedGroup, ProposedSetUp, copied_from, traces_of_replication
from kafka_dr.set_up.seen import SeenCluster
from kafka_dr.topology.names import canary_topic_of, covers

#: How the line begins that a person has to decide.
QUESTION = "QUESTION: "
_WIDTH = 118
_GROUPS = "protection_groups:"
#: A line that begins the entry of a group.
_NAMED = re.compile(r"  (\S+):")
_ENDS_A_LINE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
_KINDS = (
    ("topics", ResourceType.TOPIC, False),
    ("topic_prefixes", ResourceType.TOPIC, True),
    ("consumer_groups", ResourceType.GROUP, False),
    ("consumer_group_prefixes", ResourceType.GROUP, True),
    ("transactional_ids", ResourceType.TRANSACTIONAL_ID, False),
    ("transactional_id_prefixes", ResourceType.TRANSACTIONAL_ID, True),
)


def topology_text(active: SeenCluster, standby: SeenCluster, proposal: ProposedSetUp, answers: InitAnswers) -> str:
    """Return the whole file."""
    return "".join(f"{each}\n" for each in _lines(active, standby, proposal, answers))


def questions(text: str) -> list[str]:
    """Return the questions that a topology still has, each in one line that begins with the group that it is about."""
    found: list[str] = []
    group, asked, in_groups = "", False, False
    for written in text.splitlines():
        each = written.strip()
        begins = each.startswith(f"# {QUESTION}")
        asked = begins or (asked and each.startswith("#   "))
        if begins:
            found.append(f"{group}{each.removeprefix(f'# {QUESTION}')}")
        elif asked:
            found[-1] += f" {each.removeprefix('#').strip()}"
        elif written[:1].strip(" #"):
            in_groups, group = written.startswith(_GROUPS), ""
        elif in_groups and (named := _NAMED.fullmatch(written)):
            group = f"{named[1]}: "
    return found


def _lines(active: SeenCluster, standby: SeenCluster, proposal: ProposedSetUp, answers: InitAnswers) -> Iterator[str]:
    yield from _said(
        "",
        "Proposed by python -m kafka_dr init, from what two clusters showed. It is yours: edit it. A line that begins "
        "with QUESTION is for you: answer it, and remove the line. include/topology.example.yaml explains every key.",
    )
    yield "evidence:"
    if not answers.evidence:
        yield from _asked(
            "  ",
            "where is evidence kept? This folder is for a first try. Name a URI such as s3a://BUCKET/PATH or a "
            "path outside both datacenters that every worker reaches: include/guide/keep-evidence.md",
        )
    yield f"  root: {_value(answers.evidence or str(answers.folder.absolute() / 'evidence'))}"
    yield "  signing_connection: kafka_dr_signing"
    yield ""
    yield from _asked("", "in which datacenter is Airflow? Add airflow_runs_in: the name of a cluster, or elsewhere.")
    yield "clusters:"
    for cluster in (active, standby):
        yield from _cluster(cluster, answers)
    yield ""
    for each in proposal.left_out:
        yield from _asked("", each)
    yield _GROUPS
    for group in proposal.groups:
        yield from _group(group, active, standby, answers)


def _cluster(cluster: SeenCluster, answers: InitAnswers) -> Iterator[str]:
    name, protocol = cluster.name, cluster.settings.security_protocol
    yield f"  {name}:"
    yield f"    cluster_id: {_value(cluster.cluster_id)}"
    yield "    connections:"
    yield from (f"      {role}: kafka_{name}_{role}" for role in INIT_ROLES)
    if name not in answers.rest:
        yield from _asked(
            "    ",
            f"where is the REST API of the workers next to {name}? Say it with --rest, which fills the connection "
            f"connect_{name} and the worker's listeners, or write it into both.",
        )
    yield f"    connect: connect_{name}"
    yield f"    connect_group_id: dr-connect-{name}"
    if wrong := cluster.without_acls:
        yield from _asked("    ", f"{wrong}. Or see access_rules, kept_by: command.")
    for each in undeclared_authorizers(name, cluster.shown, None):
        yield from _asked("    ", each)
    if cluster.hides(ALLOW_EVERYONE):
        yield from _asked(
            "    ",
            f"the brokers of {name} hide {ALLOW_EVERYONE}: add allow_everyone_if_no_acl with its value, true or false.",
        )
    yield from _said("    ", "How workers in the other datacenter reach it; the files are on each worker.")
    yield "    replicator:"
    yield f"      bootstrap_servers: {_value(cluster.settings.bootstrap_servers)}"
    yield f"      security_protocol: {protocol}"
    if cluster.settings.sasl_mechanism and protocol.startswith("SASL_"):
        yield f"      sasl_mechanism: {cluster.settings.sasl_mechanism}"
    if cluster.settings.ca_file and protocol.endswith("SSL"):
        yield f"      ca_file: {_value(f'{answers.workers_folder}/{name}-ca.pem')}"
    if protocol == "SSL":
        yield f"      keystore_file: {_value(f'{answers.workers_folder}/{name}-replicator.pem')}"
    yield f"    replicator_secrets: {_value(f'{answers.workers_folder}/{name}-secrets.properties')}"
    yield from _asked(
        "    ", f"do applications reach {name} at another address? Then add application_bootstrap_servers: HOST:PORT."
    )


def _group(group: ProposedGroup, active: SeenCluster, standby: SeenCluster, answers: InitAnswers) -> Iterator[str]:
    yield f"  {group.name}:"
    yield f"    clusters: [{active.name}, {standby.name}]"
    yield f"    initial_active: {active.name}"
    for each in group.questions:
        yield from _asked("    ", each)
    yield from _said("    ", "What moves together, because it shares consumer groups, writers or transactional ids.")
    canary = canary_topic_of(group.name)
    for key, resource, prefix in _KINDS:
        names = group.names(resource, prefix=prefix)
        if key == "topics" and not covers(canary, literals=names, prefixes=group.names(resource, prefix=True)):
            names.append(canary)
        if names:
            yield f"    {key}: {_value(names)}"
    yield from _people(group, active, standby, answers)
    yield "    route:"
    yield "      kind: file"
    yield from _asked(
        "      ", "is this path on a disk that all workers share? Applications read there which cluster is active."
    )
    yield f"      path: {_value(str(answers.folder.absolute() / 'routes' / f'{group.name}.json'))}"
    yield from _asked(
        "    ", "which objectives were agreed with the owners of these topics? These values are examples."
    )
    yield "    objectives: {rpo_seconds: 60, rto_seconds: 300, write_outage_seconds: 10}"
    if (brokers := min(len(active.shown), len(standby.shown))) < 3:
        yield from _said("    ", "A cluster has fewer than three brokers.")
        yield f"    flow: {{replication_factor: {max(1, brokers)}}}"
    yield from _existing(group, standby)


def _people(group: ProposedGroup, active: SeenCluster, standby: SeenCluster, answers: InitAnswers) -> Iterator[str]:
    if group.principals:
        yield from _said("    ", "Who may write these topics, or read them in one of the consumer groups, by the ACLs.")
    else:
        yield from _asked(
            "    ",
            "no ACL shows which principals use these topics: replace User:UNKNOWN by all of them. A fence denies only "
            "principals that are named here.",
        )
    yield f"    principals: {_value(group.principals or ['User:UNKNOWN'])}"
    if group.readers:
        yield from _asked(
            "    ",
            "do these principals read in consumer groups that move? Then name them in principals instead. They may "
            "read the topics, and no consumer group of theirs is known.",
        )
        yield f"    readers: {{principals: {_value(group.readers)}}}"
    for role in INIT_ROLES:
        yield f"    {role}_principal: {_value(answers.principal(role, active.settings.security_protocol))}"
    hidden = active.hides(SUPER_USERS) or standby.hides(SUPER_USERS)
    if not answers.super_users and hidden:
        yield from _asked("    ", f"the brokers hide {SUPER_USERS}: name all of them, because no fence stops them.")
    yield f"    super_users: {_value(answers.super_users)}"
    if not answers.approvers:
        yield from _said("    ", f"Who has the role {APPROVERS} of FAB, see fab-roles.sh. Or name people.")
    yield f"    approvers: {_value(answers.approvers)}"
    if not answers.approvers:
        yield f"    approver_roles: [{APPROVERS}]"
    yield from _asked(
        "    ", "may the person who begins a run approve it, too, so that one can act at night? False: four eyes."
    )
    yield "    requester_may_approve: true"


def _existing(group: ProposedGroup, standby: SeenCluster) -> Iterator[str]:
    owned = [each for each in group.owned if each.resource is ResourceType.TOPIC]
    copied = [
        t for t in standby.topics if any(each.name == t or (each.prefix and t.startswith(each.name)) for each in owned)
    ]
    traces = traces_of_replication(standby)
    if not copied and not traces:
        return
    seen = [f"{standby.name} has {counted(len(copied), 'topic')} with the names of this group"] if copied else []
    seen += [f"MirrorMaker has made {', '.join(map(line, traces[:3]))} there"] if traces else []
    seen += [f"{', '.join(map(line, group.copiers))} may write them there alone"] if group.copiers else []
    ours = " If the group is adopted, this project does: remove this." if REGISTER_TOPIC in standby.topics else ""
    yield from _asked(
        "    ",
        f"what copies the topics of {group.name} now? {', and '.join(seen)}. If something does, fill this in and "
        "remove the signs: include/guide/take-over.md. If nothing does, the topics have to be empty on the standby."
        f"{ours}",
    )
    yield "    # existing_replication:"
    yield "    #   replicator: mirrormaker_connect  # or mirrormaker, strimzi, confluent_replicator, external"
    yield f"    #   principal: {_value(group.copiers[0] if group.copiers else 'User:')}"
    for alias in copied_from(standby)[:1]:
        yield f"    #   source_alias: {_value(alias)}  # with mirrormaker and strimzi"


def _said(indent: str, text: str) -> Iterator[str]:
    begin = f"{indent}# "
    yield from textwrap.wrap(line(text), _WIDTH, initial_indent=begin, subsequent_indent=begin, break_on_hyphens=False)


def _asked(indent: str, text: str) -> Iterator[str]:
    """Yield a question; the lines that continue it are indented, so that it can be read as one again."""
    first, more = f"{indent}# {QUESTION}", f"{indent}#   "
    yield from textwrap.wrap(line(text), _WIDTH, initial_indent=first, subsequent_indent=more, break_on_hyphens=False)


def _value(value: object) -> str:
    """Return a value as YAML reads it: JSON, without the signs that only YAML takes for the end of a line."""
    written = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
    return _ENDS_A_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
