"""What the owners of readers do on another cluster, in sentences: the same for every verb, check and report. Pure."""

from __future__ import annotations

#: Of a sink of Connect.
SINK_MOVE = "point its Connect cluster at the new active cluster, or create it on one there under the same name"
SINK_OWN_OFFSETS = "If it keeps offsets of its own, as sinks of files and tables do to write exactly once"


def restart_share_group(target: str) -> str:
    """Return what has to be done with the members of a share group.

    :param target: the cluster on which it starts again
    """
    return (
        f"keep its members stopped from the failover on, run its reset commands, then start them on {target}. "
        "If it starts without that, share.auto.offset.reset decides, and its default, latest, skips records"
    )


def reset_application(target: str) -> str:
    """Return how a Kafka Streams application begins again without its state.

    :param target: the cluster on which it starts again
    """
    return (
        f"Before it starts on {target}: stop it everywhere, run its reset command, and "
        "delete its state.dir on every instance. It then reads its input topics from their start, so its state lacks "
        "what has expired there"
    )
