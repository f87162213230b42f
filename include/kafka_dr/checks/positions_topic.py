"""How much of a flow's positions must be read: only full segments are compacted, so their size decides it.

Exactly-once tasks write their positions with every transaction. Canaries, audits and failovers read the topic.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_dr.errors import KafkaDrError
from kafka_dr.outcomes import Check
from kafka_dr.runs.run import Run

NAME = "positions_topic_compacts"
#: A topic whose segments are full sooner than at this size, or at this age, is read in a moment.
_LARGEST_BYTES = 64 * 1024**2
_LONGEST_MS = 3_600_000
_SIZE, _AGE = "segment.bytes", "segment.ms"
#: What to set, as kafka-configs.sh takes it.
SETTINGS = "segment.bytes=1048576,min.cleanable.dirty.ratio=0.01"


def positions_topic_compacts(run: Run) -> Check:
    """Say how the topic of positions is set; large segments are a warning and stop no run."""
    topic = run.clients.replicator(run.flow).positions_topic
    if topic is None:
        return Check(NAME, "ok", f"the positions of {run.flow} are in no topic")
    try:
        found = run.operator(run.target).topics.configs([topic.name])[topic.name]
    except KafkaDrError as error:
        said = f"the settings of {topic.name} on {run.target}, where positions are kept, cannot be read: {error}"
        return Check(NAME, "warning", f"{said}. Correct {topic.declared_at}")
    return judged(f"{topic.name} on {run.target}", found)


def judged(topic: str, settings: Mapping[str, str]) -> Check:
    """Return the check for these settings of the topic.

    :param topic: its name and cluster, for the sentence
    :param settings: effective configuration by key
    """
    said = ", ".join(f"{key} {settings.get(key, 'unknown')}" for key in (_SIZE, _AGE))
    known = _SIZE in settings and _AGE in settings
    if known and (int(settings[_SIZE]) <= _LARGEST_BYTES or int(settings[_AGE]) <= _LONGEST_MS):
        return Check(NAME, "ok", f"{topic} is compacted often: {said}")
    return Check(
        NAME,
        "warning",
        f"{topic} has {said}, expected segments of at most {_LARGEST_BYTES // 1024**2} MiB or one hour: Kafka compacts "
        f"only full segments, and whoever asks for positions reads all that is not compacted. To change that, "
        f"set {SETTINGS.replace(',', ' and ')} on it with kafka-configs.sh",
    )
