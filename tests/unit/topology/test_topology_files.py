"""The two files that come with the project: the lab's world, and the one that explains every key."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from support.route_file import route_file

INCLUDE = Path(__file__).parents[3] / "include"
EXAMPLE = INCLUDE / "topology.example.yaml"
LAB = {
    "KAFKA_DR_LAB_HOME": "/lab",
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
}


def models_in(annotation: Any) -> list[type[BaseModel]]:
    found = [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []
    return found + [model for part in get_args(annotation) for model in models_in(part)]


def every_model(model: type[BaseModel]) -> set[type[BaseModel]]:
    inner = [each for field in model.model_fields.values() for each in models_in(field.annotation)]
    return {model}.union(*(every_model(each) for each in inner))


EVERY_KEY = sorted(
    (model.__name__, key)
    for model in every_model(Topology)
    for key in model.model_fields
    if (model.__name__, key) not in (("ProtectionGroup", "name"), ("ObservedFlowSpec", "name"))
)


def test_the_labs_topology_is_sound() -> None:
    topology = load(INCLUDE / "topology.yaml", LAB)

    orders = topology.group("orders")
    assert orders.owns_topic(orders.canary_topic)
    assert str(route_file(orders)) == "/lab/route/orders.json"
    assert topology.cluster("west").replicator_secrets == "/lab/connect/west/secrets.properties"


def test_the_example_is_sound_without_any_variable() -> None:
    assert load(EXAMPLE, {}).group("orders").flow.tasks_max == 4


@pytest.mark.parametrize(("model", "key"), EVERY_KEY)
def test_the_example_explains_every_key(model: str, key: str) -> None:
    """The first use of a key has a comment above it, or above the keys right before it."""
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    uses = [number for number, line in enumerate(lines) if line.strip().startswith(f"{key}:")]
    assert uses, f"{model}.{key} does not occur"
    above = [line.strip() for line in lines[: uses[0]] if line.strip()]
    sections = [line for line in reversed(above[-3:]) if line.startswith("#")]
    assert sections, f"{model}.{key} has no comment above it"


def test_the_example_shows_the_defaults_that_it_names() -> None:
    """Where the example says "Default: X", X is what the models say."""
    text = EXAMPLE.read_text(encoding="utf-8").splitlines()
    said = {
        text[number + 1].split(":")[0].strip(): line.rsplit("Default: ", 1)[1].rstrip(".")
        for number, line in enumerate(text)
        if "Default: " in line
    }
    defaults: dict[str, list[Any]] = {}
    for model in every_model(Topology):
        for key, field in model.model_fields.items():
            defaults.setdefault(key, []).append(field.default)
    wrong = {
        key: value
        for key, value in said.items()
        if value not in ("none", "the replicator's above") and yaml.safe_load(value) not in defaults[key]
    }
    assert wrong == {}
    assert len(said) >= 15
