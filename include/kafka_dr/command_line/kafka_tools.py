"""Commands of Kafka's own tools, as a person types them: ACLs, offsets of consumer groups, records of the register.

The names are those of Kafka's own download (``kafka-acls.sh``); some packages leave out the ``.sh``. The options are
those that Kafka 3 and 4 know. Names of topics, groups and principals are quoted for the shell. Files are read and
written in the folder that the commands run in.
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from kafka_dr.clusters.model import Acl, AclOperation, ResourceType
from kafka_dr.clusters.tool_access import ToolAccess
from kafka_dr.positions import TopicPartition
from kafka_dr.register.records import REGISTER_TOPIC

#: More names than this do not fit into a line that a person can check.
_MOST_NAMES = 100
_OPTIONS = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
}
#: A tab: no name of a group, a run or a fact has one, and JSON escapes it.
_SEPARATOR = "\"$(printf '\\t')\""
#: Shows how many offsets of each partition in ``ends.txt`` are missing in ``copied.txt``.
LEFT_TO_COPY = (
    """awk -F: 'FILENAME == "copied.txt" {c[$1 ":" $2] = $3; next} """
    """$3 > c[$1 ":" $2] + 0 {print $1 ":" $2 ": " $3 - c[$1 ":" $2] " left"}' copied.txt ends.txt"""
)


@dataclass(frozen=True, slots=True, order=True)
class _Product:
    """ACLs that one command can name: every principal may, or may not, do every operation on every name."""

    resource: ResourceType
    pattern: str
    principals: tuple[str, ...]
    operations: tuple[AclOperation, ...]
    names: tuple[str, ...]


def add_denies(access: ToolAccess, denies: Collection[Acl]) -> tuple[str, ...]:
    """Return the commands that add exactly these DENYs; one that is there already does no harm."""
    return tuple(f"{access.tool('kafka-acls.sh')} --add {_arguments(each)}" for each in _products(denies))


def add_allows(access: ToolAccess, allows: Collection[Acl]) -> tuple[str, ...]:
    """Return the commands that add exactly these ALLOWs."""
    tool = access.tool("kafka-acls.sh")
    return tuple(f"{tool} --add {_arguments(each, 'allow')}" for each in _products(allows))


def remove_allows(access: ToolAccess, allows: Collection[Acl]) -> tuple[str, ...]:
    """Return the commands that remove exactly these ALLOWs, without a question."""
    tool = access.tool("kafka-acls.sh")
    return tuple(f"{tool} --remove --force {_arguments(each, 'allow')}" for each in _products(allows))


def remove_denies(access: ToolAccess, denies: Collection[Acl]) -> tuple[str, ...]:
    """Return the commands that remove exactly these DENYs, without a question."""
    return tuple(f"{access.tool('kafka-acls.sh')} --remove --force {_arguments(each)}" for each in _products(denies))


def changed_by_owners(where: str, denies: Collection[Acl], *, adding: bool) -> tuple[str, ...]:
    """Return commands that say which DENYs a person has to write or remove where the access rules are kept.

    :param where: as it continues "kept in"
    """
    if not denies:
        return ()
    what = "WRITE THESE DENYs to" if adding else "REMOVE THESE DENYs from"
    first = f"{what} {where}, where access rules are kept, let them be applied, and wait until brokers act on it:"
    lines = (
        f"  deny {' '.join(each.principals)}: {' '.join(each.operations)} on {each.resource} {' '.join(each.names)} "
        f"({each.pattern})"
        for each in _products(denies)
    )
    return tuple(f"echo {shlex.quote(line)}" for line in (first, *lines))


def _arguments(product: _Product, permission: Literal["deny", "allow"] = "deny") -> str:
    option = _OPTIONS.get(product.resource)
    return " ".join(
        (
            *(f"--{permission}-principal {shlex.quote(name)}" for name in product.principals),
            *(f"--operation {tool_word(operation)}" for operation in product.operations),
            *(f"{option} {shlex.quote(name)}" if option else "--cluster" for name in product.names),
            f"--resource-pattern-type {product.pattern}",
        )
    )


def tool_word(named: AclOperation | ResourceType) -> str:
    """Return an operation or a kind of resource as the tool writes it: ``AlterConfigs``."""
    return "".join(word.capitalize() for word in named.value.split("_"))


def _products(denies: Collection[Acl]) -> Iterable[_Product]:
    """Group DENYs so that each command names a full product of principals, operations and names."""
    by_resource: dict[tuple[ResourceType, str, str], dict[str, set[AclOperation]]] = {}
    for acl in denies:
        by_principal = by_resource.setdefault((acl.resource, acl.pattern.value, acl.name), {})
        by_principal.setdefault(acl.principal, set()).add(acl.operation)
    names: dict[tuple[ResourceType, str, tuple[str, ...], tuple[AclOperation, ...]], list[str]] = {}
    for (resource, pattern, name), by_principal in by_resource.items():
        same: dict[tuple[AclOperation, ...], list[str]] = {}
        for principal, operations in by_principal.items():
            same.setdefault(tuple(sorted(operations)), []).append(principal)
        for operations_of, principals in same.items():
            names.setdefault((resource, pattern, tuple(sorted(principals)), operations_of), []).append(name)
    for (resource, pattern, who, what), found in sorted(names.items()):
        found.sort()
        for begin in range(0, len(found), _MOST_NAMES):
            yield _Product(resource, pattern, who, what, tuple(found[begin : begin + _MOST_NAMES]))


def write_register(access: ToolAccess, records: Iterable[tuple[bytes, bytes]]) -> tuple[str, ...]:
    """Return the commands that write records to a cluster's register, one for each record."""
    return tuple(_produced(access, shlex.quote(key.decode()), shlex.quote(value.decode())) for key, value in records)


def write_ends(access: ToolAccess, key: str) -> str:
    """Return the command that writes the shell variable ``ENDS`` to the register, as journaled log ends."""
    return _produced(access, shlex.quote(key), '"{\\"ends\\":[$ENDS]}"')


def write_fact_with(access: ToolAccess, key: str, rest: str, field: str, variable: str) -> str:
    """Return the command that journals a fact of which one field is what :func:`keep_ends` has kept.

    :param rest: the rest of the fact: JSON without its closing brace
    """
    return _produced(access, shlex.quote(key), f'{shlex.quote(rest)}",\\"{field}\\":[${variable}]}}"')


def _produced(access: ToolAccess, key: str, value: str) -> str:
    producer = access.tool("kafka-console-producer.sh", "--producer.config")
    settings = f"--property parse.key=true --property key.separator={_SEPARATOR}"
    return f"printf '%s\\t%s\\n' {key} {value} | {producer} --topic {REGISTER_TOPIC} {settings}"


def read_register(access: ToolAccess, key: str) -> str:
    """Return the command that shows the newest record of a key; it fails if there is none."""
    consumer = access.tool("kafka-console-consumer.sh", "--consumer.config")
    settings = "--partition 0 --offset earliest --timeout-ms 5000 --property print.key=true"
    isolated = "--isolation-level read_committed"
    return f"{consumer} --topic {REGISTER_TOPIC} {settings} {isolated} | grep -F {shlex.quote(key)} | tail -n 1"


def log_ends(access: ToolAccess, topics: Collection[str], prefixes: Collection[str]) -> str:
    """Return the command that shows the log end offset of every partition of the group: ``topic:partition:offset``."""
    return f"{access.tool('kafka-get-offsets.sh')} --topic {shlex.quote(_pattern(topics, prefixes))}"


def _pattern(topics: Collection[str], prefixes: Collection[str]) -> str:
    """Return a regular expression for Java and grep: of what names of topics can hold, only a dot means anything."""
    named = (*((name, "") for name in sorted(topics)), *((prefix, ".*") for prefix in sorted(prefixes)))
    return "|".join(name.replace(".", r"\.") + rest for name, rest in named)


def change_topics(
    access: ToolAccess, topics: Collection[str], prefixes: Collection[str], settings: Mapping[str, str], *, kept: str
) -> tuple[str, ...]:
    """Return the commands that set the same on every topic of the group.

    :param kept: the file that gets what all topics had set before
    """
    tool, added = access.tool("kafka-configs.sh"), ",".join(f"{key}={value}" for key, value in settings.items())
    named = f"{access.tool('kafka-topics.sh')} --list | grep -xE {shlex.quote(_pattern(topics, prefixes))}"
    return (
        f"{tool} --describe --entity-type topics > {shlex.quote(kept)}",
        # A tool takes a second or two for each topic: several run at the same time.
        f"{named} | xargs -P 8 -I TOPIC {tool} --alter --entity-type topics --entity-name TOPIC --add-config {added}",
    )


def keep_ends(
    access: ToolAccess, topics: Collection[str], prefixes: Collection[str], variable: str = "ENDS", *, without: str = ""
) -> str:
    """Return the command that puts the same into a shell variable, as the journal writes it.

    :param without: what every name begins with, and is left out
    """
    rows = f'awk -F: \'{{printf "%s[\\"%s\\",%s,%s]", s, substr($1, {len(without) + 1}), $2, $3; s=","}}\''
    return f"{variable}=$({log_ends(access, topics, prefixes)} | {rows})"


def open_transactions(access: ToolAccess) -> str:
    """Return the command that shows the transactions which have not ended; it succeeds if there are none."""
    return f"{access.tool('kafka-transactions.sh')} list | grep -E 'Ongoing|Prepare' || true"


def write_refused(probe: ToolAccess, topic: str, limit: int) -> str:
    """Return the command that succeeds if the probe may not write to a topic; nothing is ever written.

    :param limit: the topic's ``max.message.bytes``; the record is larger, so a broker that permits it refuses it, too
    """
    return f"{_too_large(probe, topic, limit)} | grep TopicAuthorizationException"


def write_permitted(probe: ToolAccess, topic: str, limit: int) -> str:
    """Return the command that succeeds if the probe may write to a topic; nothing is ever written."""
    return f"{_too_large(probe, topic, limit)} | grep RecordTooLargeException"


def _too_large(probe: ToolAccess, topic: str, limit: int) -> str:
    producer = probe.tool("kafka-console-producer.sh", "--producer.config")
    sizes = (
        f"--producer-property max.request.size={limit + 65536} --producer-property buffer.memory={2 * limit + 65536}"
    )
    record = f"head -c {limit + 1} /dev/zero | tr '\\0' x"
    return f"{record} | {producer} {sizes} --compression-codec none --topic {shlex.quote(topic)} 2>&1"


def offsets_file(offsets: Mapping[str, Mapping[TopicPartition, int]]) -> str:
    """Return offsets of consumer groups as ``--from-file`` reads them: the rows of a single group do not name it."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    for group, found in sorted(offsets.items()):
        named = (group,) if len(offsets) > 1 else ()
        rows.writerows((*named, p.topic, p.partition, offset) for p, offset in sorted(found.items()))
    return written.getvalue()


def options_file(groups: Iterable[str], topics: Iterable[str] = ()) -> str:
    """Return options for a tool, one a line: names can hold everything but a line break."""
    options = (*(f"--group={name}" for name in sorted(groups)), *(f"--topic={name}" for name in sorted(topics)))
    return "".join(f"{each}\n" for each in options)


def reset_from_file(access: ToolAccess, options: str, offsets: str) -> str:
    """Return the command that sets the offsets of consumer groups without members.

    :param options: the file of :func:`options_file`
    :param offsets: the file of :func:`offsets_file`
    """
    return f"{_reset(access, options)} --from-file {shlex.quote(offsets)} --execute"


def reset_to_time(access: ToolAccess, options: str) -> str:
    """Return the command that lets consumer groups resume at the time in the shell variable ``SINCE``."""
    return f'{_reset(access, options)} --to-datetime "$SINCE" --execute'


def positions_of_groups(access: ToolAccess, options: str) -> str:
    """Return the command that shows what consumer groups have committed, and how many offsets they have left.

    :param options: the file of :func:`options_file`
    """
    return f"{_of_groups(access, options)} --describe"


def _reset(access: ToolAccess, options: str) -> str:
    return f"{_of_groups(access, options)} --reset-offsets"


def _of_groups(access: ToolAccess, options: str) -> str:
    tool = access.tool("kafka-consumer-groups.sh")
    return f"tr '\\n' '\\0' < {shlex.quote(options)} | xargs -0 {tool}"
