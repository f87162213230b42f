"""MirrorMaker 2 that Strimzi's operator runs on Kubernetes, declared by a ``KafkaMirrorMaker2`` resource.

All that is asked goes through the resource. What somebody does at Connect's REST API, the operator takes back.
Tested against answers built from the resource's published schema, not on a Kubernetes cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from urllib.parse import quote

from kafka_dr.clock import Clock
from kafka_dr.clusters import TopicPartition
from kafka_dr.durations import duration
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from kafka_dr.kubernetes import Document, KubernetesApi
from kafka_dr.naming import Naming
from kafka_dr.replication.existing import strimzi_resource as declared
from kafka_dr.replication.existing.mirrormaker_connect import copies_topic, left_out, unfit_settings
from kafka_dr.replication.existing.port import Abilities, Ability, ExistingStatus, PartStatus
from kafka_dr.replication.existing.strimzi_resource import DeclaredMirror
from kafka_dr.waiting import PAUSE_SECONDS, wait_until

_GROUP = "/apis/kafka.strimzi.io"
#: Newest first; a cluster serves at least one of them.
_VERSIONS = ("v1", "v1beta2")
#: How long the operator may take to list or alter offsets, in seconds: it reconciles every two minutes at the latest.
_OFFSETS_SECONDS = 150.0


class StrimziMirrorMaker:
    """One mirror of a ``KafkaMirrorMaker2`` resource.

    :param api: of the Kubernetes cluster, as an account that may get and update the resource, and get, create and
        update ConfigMaps in its namespace
    :param namespace: of the resource
    :param name: of the resource
    :param source: the alias of the cluster that the mirror reads
    :param owns: whether a topic belongs to the protection group
    :param naming: of the copies; ``None``: they have the names of their originals
    """

    def __init__(
        self,
        api: KubernetesApi,
        *,
        namespace: str,
        name: str,
        source: str,
        owns: Callable[[str], bool],
        naming: Naming | None = None,
        clock: Clock,
        offsets_seconds: float = _OFFSETS_SECONDS,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._source = source
        self._owns = owns
        self._naming = naming
        self._clock = clock
        self._offsets_seconds = offsets_seconds
        self._path = ""

    @property
    def described(self) -> str:
        """The mirror, its resource and the address of the API server."""
        where = self._api.where
        return f"the mirror of {self._source} in KafkaMirrorMaker2 {self._namespace}/{self._name} at {where}"

    def abilities(self) -> Abilities:
        """Return what the operator can be asked for, as the resource is declared now."""
        mirror = self._mirror(self._resource())
        exactly = mirror.config.get("exactly.once.support") == "required"
        said = "exactly.once.support is required" if exactly else "exactly.once.support is not required"
        asked = "state is declared in the resource, and its operator carries it out; whoever applies the resource from "
        asked += "a repository must not take that back"
        return Abilities(
            state=Ability(True, "its operator shows that in the resource"),
            positions=_by_config_map(mirror, "listOffsets"),
            exactly_once=Ability(exactly, said),
            stop=Ability(True, asked),
            resume=Ability(True, asked),
            seed=_by_config_map(mirror, "alterOffsets"),
        )

    def status(self) -> ExistingStatus:
        """Return what the operator last saw of each connector; a mirror that nobody declares any more is absent."""
        resource = self._read()
        mirror = None if resource is None else declared.mirror_of(resource, self._source)
        if resource is None or mirror is None:
            name = f"the mirror of {self._source} in {self._namespace}/{self._name}"
            return ExistingStatus((PartStatus(name, "absent"),))
        return _status(resource, mirror)

    def unfit(self, topics: Iterable[str]) -> tuple[str, ...]:
        """Return what of the resource speaks against it."""
        resource = self._read()
        if resource is None:
            return (f"there is no {self._namespace}/{self._name}: correct namespace and resource",)
        mirror = declared.mirror_of(resource, self._source)
        if mirror is None or declared.SOURCE not in mirror.keys:
            return (f"{self._name} has no mirror with a sourceConnector that reads {self._source}",)
        found = []
        if (resource["metadata"].get("annotations") or {}).get(declared.PAUSED) == "true":
            found.append(f"{self._name} has the annotation {declared.PAUSED}, so nothing that is asked is carried out")
        name = mirror.connector(declared.SOURCE)
        config = {"source.cluster.alias": self._source, **mirror.config}
        return (*found, *unfit_settings(name, config, tuple(topics), owns=self._owns, naming=self._naming))

    def stop(self, deadline_seconds: float) -> ExistingStatus:
        """Declare every connector of the mirror as stopped, and wait until the operator shows that."""
        return self._declare(lambda mirror: dict.fromkeys(mirror.keys, "stopped"), deadline_seconds)

    def resume(self, was: ExistingStatus, deadline_seconds: float) -> ExistingStatus:
        """Declare each connector as what it did, and wait until the operator shows that."""
        if (now := self.status()).is_gone:
            return now
        deadline = self._clock.monotonic() + deadline_seconds
        failed = {part.name for part in was.parts if part.state == "failed"}
        # The operator lets a task that failed stay so; one that was stopped has no task.
        broken = {part.name for part in now.parts if part.state == "failed"} - failed
        if broken:
            self._declare(
                lambda mirror: {key: "stopped" for key, name in mirror.names.items() if name in broken},
                deadline_seconds,
            )
        return self._declare(
            lambda mirror: {
                key: declared.wanted_state(was.state_of(name))
                for key, name in mirror.names.items()
                if was.state_of(name) not in ("unknown", "absent")
            },
            deadline - self._clock.monotonic(),
            # What had failed before fails again; that is what was there.
            may_fail=failed,
        )

    def positions(self) -> dict[TopicPartition, int] | None:
        """Return the positions that the operator lists, of the group's topics alone."""
        mirror = self._mirror(self._resource())
        if not (name := mirror.config_map("listOffsets")):
            return None
        self._ask_for_offsets(mirror, "list")
        found = self._api.read(f"{self._config_maps}/{quote(name)}")
        if found is None:
            raise TryAgain(f"the operator has listed no offsets into the ConfigMap {name}: try again")
        return {p: at for p, at in declared.positions_in(found, mirror).items() if self._owns(p.topic)}

    def uncopied(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return the partitions of topics that the mirror's patterns do not match."""
        return self._left_out(self._mirror(self._resource()), partitions)

    def seed(self, positions: Mapping[TopicPartition, int]) -> tuple[TopicPartition, ...]:
        """Give the stopped connector these positions, and read them back if the resource lets offsets be listed.

        :raises Refused: it is not stopped, or the resource names no ConfigMap for it
        :raises NeedsPerson: what was read back is something else
        """
        resource = self._resource()
        mirror = self._mirror(resource)
        name = mirror.connector(declared.SOURCE)
        if not (able := _by_config_map(mirror, "alterOffsets")).can:
            raise Refused(f"{name} takes no positions: {able.reason}")
        if declared.connector_status(resource, name).settled != "stopped":
            raise Refused(f"{name} is not stopped, so it takes no positions: stop it first")
        uncopied = self._left_out(mirror, positions)
        wanted = {p: positions[p] for p in positions.keys() - frozenset(uncopied)}
        content = declared.offsets_document(mirror, wanted.items())
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "data": {mirror.entry: content}}
        self._api.put(self._config_maps, mirror.config_map("alterOffsets"), config_map)
        self._ask_for_offsets(mirror, "alter")
        found = self.positions()
        if found is None:
            return uncopied
        if wrong := [p for p, at in wanted.items() if self._owns(p.topic) and found.get(p, 0) != at]:
            raise NeedsPerson(
                f"{name} was given positions, and {wrong[0]} was read back as {found.get(wrong[0], 0)} instead of "
                f"{wanted[wrong[0]]}: leave it stopped and find out who sets them"
            )
        return uncopied

    def remove(self) -> None:
        """Refuse: its operator would create it again, as long as the resource declares it."""
        raise Refused(f"{self.described} cannot be deleted: its owner removes the mirror from the resource")

    def transactional_ids(self) -> tuple[str, ...]:
        """Return the ids of all tasks, if the connector is exactly-once."""
        resource = self._resource()
        mirror = self._mirror(resource)
        if mirror.config.get("exactly.once.support") != "required":
            return ()
        tasks = int((mirror.spec.get(declared.SOURCE) or {}).get("tasksMax") or 1)
        begin = f"{declared.worker_group(resource, mirror)}-{mirror.connector(declared.SOURCE)}"
        return tuple(f"{begin}-{number}" for number in range(tasks))

    def _left_out(self, mirror: DeclaredMirror, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        return left_out(partitions, lambda topic: copies_topic(mirror.config, topic))

    def _declare(
        self,
        states: Callable[[DeclaredMirror], Mapping[str, declared.WantedState]],
        deadline_seconds: float,
        *,
        may_fail: Collection[str] = (),
    ) -> ExistingStatus:
        """Declare states by key of the connector, and wait until the operator shows them.

        :param may_fail: the connectors that failed before
        :raises TryAgain: it does not show them, or a connector that has to run has failed
        """

        def changed(resource: Document) -> Document:
            mirror = self._mirror(resource)
            return declared.with_states(resource, mirror, states(mirror))

        mirror = self._mirror(self._api.change(self._resource_path(), changed))
        wanted = {mirror.connector(key): state for key, state in states(mirror).items()}
        found = wait_until(
            self.status,
            # One that failed does not run by itself, but it can still be stopped.
            lambda seen: all(
                seen.state_of(name) in ((state, "failed") if state == "running" else (state,))
                for name, state in wanted.items()
            ),
            clock=self._clock,
            seconds=deadline_seconds,
            pause_seconds=PAUSE_SECONDS,
            retry=TryAgain,
        )
        failed = {name for name in may_fail if found.state_of(name) == "failed"}
        if left := [name for name, state in wanted.items() if found.state_of(name) != state and name not in failed]:
            raise TryAgain(
                f"{left[0]} is {found.state_of(left[0])}, expected {wanted[left[0]]}: look at the status of "
                f"{self._namespace}/{self._name}, and whether its operator runs"
            )
        return found

    def _ask_for_offsets(self, mirror: DeclaredMirror, verb: declared.OffsetsVerb) -> None:
        """Let the operator list or alter offsets, and wait until it has done so.

        :raises TryAgain: it has not, or says that it cannot; then it is not asked any longer
        """
        path = self._resource_path()
        self._api.change(path, lambda found: declared.asking_for_offsets(found, mirror, verb))
        answered = wait_until(
            self._resource,
            lambda found: not declared.is_asking(found),
            clock=self._clock,
            seconds=self._offsets_seconds,
            pause_seconds=PAUSE_SECONDS,
            retry=TryAgain,
        )
        if declared.is_asking(answered):
            said = declared.warnings(answered, "ListOffsets" if verb == "list" else "AlterOffsets")
            self._api.change(path, declared.without_asking)
            raise TryAgain(
                f"the operator did not {verb} offsets of {mirror.connector(declared.SOURCE)} within "
                f"{duration(self._offsets_seconds)} ({said or 'it said nothing'})"
            )

    def _read(self) -> Document | None:
        """Return the resource, in the version that the cluster serves; ``None`` if there is none."""
        for version in _VERSIONS:
            path = f"{_GROUP}/{version}/namespaces/{quote(self._namespace)}/kafkamirrormaker2s/{quote(self._name)}"
            if (found := self._api.read(path)) is not None:
                self._path = path
                return found
        return None

    def _resource(self) -> Document:
        if (found := self._read()) is None:
            raise Refused(f"there is no {self._namespace}/{self._name}: correct existing_replication")
        return found

    def _resource_path(self) -> str:
        if not self._path:
            self._resource()
        return self._path

    def _mirror(self, resource: Mapping[str, object]) -> DeclaredMirror:
        found = declared.mirror_of(resource, self._source)
        if found is None:
            raise Refused(f"{self._name} has no mirror that reads {self._source}: correct existing_replication")
        return found

    @property
    def _config_maps(self) -> str:
        return f"/api/v1/namespaces/{quote(self._namespace)}/configmaps"


def _status(resource: Document, mirror: DeclaredMirror) -> ExistingStatus:
    found = [declared.connector_status(resource, name) for name in mirror.names.values()]
    return ExistingStatus(tuple(PartStatus(each.name, each.settled, each.failure) for each in found))


def _by_config_map(mirror: DeclaredMirror, verb: declared.OffsetsKey) -> Ability:
    if name := mirror.config_map(verb):
        return Ability(True, f"the operator does that through the ConfigMap {name}")
    key = "toConfigMap" if verb == "listOffsets" else "fromConfigMap"
    return Ability(False, f"the resource does not declare sourceConnector.{verb}.{key}.name: add it")
