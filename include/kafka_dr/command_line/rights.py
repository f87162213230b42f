"""``rights``: which rights each principal needs on each cluster, in the form in which a company keeps them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated

import typer

from kafka_dr.command_line import rights_formats
from kafka_dr.command_line.exit_codes import with_exit_codes
from kafka_dr.command_line.opened import CommandFiles, TopologyFile, plain_errors
from kafka_dr.errors import Refused
from kafka_dr.rights import NeededRight, needed_on, without_patterns
from kafka_dr.topology.cluster import ClusterSpec


class RightsFormat(StrEnum):
    """Where a company keeps its access rules."""

    MARKDOWN = "markdown"
    KAFKA_ACLS = "kafka-acls"
    STRIMZI = "strimzi"
    TERRAFORM = "terraform"
    CONFLUENT_TERRAFORM = "confluent-terraform"
    JSON = "json"


#: How each form is written.
FORMATS: Mapping[RightsFormat, Callable[[str, ClusterSpec, tuple[NeededRight, ...]], str]] = {
    RightsFormat.MARKDOWN: rights_formats.markdown,
    RightsFormat.KAFKA_ACLS: rights_formats.kafka_acls,
    RightsFormat.STRIMZI: rights_formats.strimzi,
    RightsFormat.TERRAFORM: rights_formats.terraform,
    RightsFormat.CONFLUENT_TERRAFORM: rights_formats.confluent_terraform,
    RightsFormat.JSON: rights_formats.as_json,
}


@with_exit_codes
def rights(
    cluster: Annotated[str, typer.Argument(help="the cluster that the rights are for", show_default=False)],
    kept_in: Annotated[
        RightsFormat, typer.Option("--format", help="how they are written; strimzi and terraform are JSON")
    ] = RightsFormat.MARKDOWN,
    topology: TopologyFile = None,
) -> None:
    """Print the rights that operator, probe, audit, replicator and drill need on a cluster, from the topology.

    Nothing is read from a cluster, and nothing is changed. The rights of applications are their owners' matter.
    """
    with plain_errors():
        declared = CommandFiles(topology, None).read_topology()
        spec = declared.cluster(cluster)
        groups = [group for group in declared.protection_groups.values() if cluster in group.clusters]
        if not groups:
            raise Refused(f"the topology has no protection group on {cluster}: declare one, then ask for its rights")
    typer.echo(FORMATS[kept_in](cluster, spec, needed_on(cluster, spec, groups)))
    for group in without_patterns(groups):
        sys.stderr.write(
            f"{group} has topic_patterns, which ACLs do not know: grant the rights on its topics for each topic that "
            "they match, too\n"
        )
