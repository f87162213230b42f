"""From a file to a Topology, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path as FilePath
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from kafka_dr.causes import cause
from kafka_dr.counted import counted
from kafka_dr.quoting import address
from kafka_dr.topology.blocks_rules import with_groups_of_blocks
from kafka_dr.topology.document import Document, Path, read, render
from kafka_dr.topology.mistakes import Mistake, TopologyError
from kafka_dr.topology.model import Topology
from kafka_dr.topology.route import ROUTE_KINDS
from kafka_dr.topology.rules import rule_mistakes

#: What pydantic's rules want, in the words of someone who edits YAML.
_WANTED = {
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
    "finite_number": "a finite number",
    "int_type": "a whole number without quotes",
    "int_from_float": "a whole number",
    "float_type": "a number without quotes",
    "string_type": "text, in quotes if YAML would read it as something else",
    "literal_error": "one of {expected}",
    "tuple_type": "a list",
    "model_type": "a section with keys",
    "model_attributes_type": "a section with keys",
    "dict_type": "a section with keys",
}

#: The sections whose entries get their key as their name, and what such an entry is called.
_NAMED_BY_KEY = {"protection_groups": "group", "observed_flows": "flow", "stretch_clusters": "cluster"}


def load(path: FilePath, environ: Mapping[str, str]) -> Topology:
    """Read and check a topology.

    :param path: the YAML file
    :param environ: where ``${NAME}`` is looked up
    :raises TopologyError: carrying every mistake that was found
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        seen = f"the file cannot be read ({cause(error)})"
        raise TopologyError(path, [Mistake(1, "", seen, "check the path, KAFKA_DR_TOPOLOGY and the rights")]) from error
    document, mistakes = read(text, environ)
    if document.root is None:
        raise TopologyError(path, mistakes)
    document = with_groups_of_blocks(document)
    topology, shape = _validated(document)
    # The groups of a block share what is wrong with it.
    rules = dict.fromkeys(rule_mistakes(document))
    mistakes = _first_of_each_place(mistakes, [*shape, *rules])
    if topology is None or mistakes:
        raise TopologyError(path, mistakes)
    return topology


def _validated(document: Document) -> tuple[Topology | None, list[Mistake]]:
    named_itself = [
        document.mistake(
            (section, name, "name"), f"a {word} is named by its key", "remove this line, or rename the key"
        )
        for section, word in _NAMED_BY_KEY.items()
        for name in document.keys(section)
        if document.at(section, name, "name") is not None
    ]
    try:
        return Topology.model_validate(_with_names(document.root)), named_itself
    except ValidationError as error:
        written, of_blocks = _by_block(document, map(_by_kind, error.errors()))
        found = [*named_itself, *_shape_mistakes(document, written)]
        return None, _first_of_each_place(found, dict.fromkeys(_shape_mistakes(document, of_blocks)))


def _by_kind(error: ErrorDetails) -> ErrorDetails:
    """Return an error about which model a section is as what it is to its writer: one about the key ``kind``."""
    if error["type"] not in ("union_tag_not_found", "union_tag_invalid"):
        return error
    found = {key: value for key, value in error["ctx"].items() if key == "expected_tags"}
    return {
        **error,
        "type": "literal_error" if found else "missing",
        "loc": (*error["loc"], "file", "kind"),
        "input": error["input"].get("kind"),
        "ctx": {"expected": found.get("expected_tags")},
    }


def _written(loc: Iterable[str | int]) -> Path:
    """Return the path of a value in the file. Pydantic puts the kind of a route after its key."""
    parts = tuple(loc)
    tags = [before == "route" and part in ROUTE_KINDS for before, part in pairwise(("", *parts))]
    return tuple(part for part, tag in zip(parts, tags, strict=True) if not tag)


def _by_block(document: Document, errors: Iterable[ErrorDetails]) -> tuple[list[ErrorDetails], list[ErrorDetails]]:
    """Return the errors in what is written, and those in the groups of a block."""
    found: tuple[list[ErrorDetails], list[ErrorDetails]] = ([], [])
    for error in errors:
        found[tuple(error["loc"])[:2] in document.written].append(error)
    return found


def _with_names(root: object) -> object:
    """Give each group, each observed flow and each stretch cluster its key as its name."""
    if not isinstance(root, dict):
        return root
    named = {}
    for section in _NAMED_BY_KEY:
        if isinstance(found := root.get(section), dict):
            named[section] = {
                key: {**each, "name": key} if isinstance(each, dict) else each for key, each in found.items()
            }
    return {**root, **named}


def _first_of_each_place(early: Iterable[Mistake], late: Iterable[Mistake]) -> list[Mistake]:
    """Drop what only follows from a mistake that was found earlier at the same key."""
    kept = list(early)
    places = {mistake.path for mistake in kept}
    return kept + [mistake for mistake in late if mistake.path not in places]


def _shape_mistakes(document: Document, errors: Iterable[ErrorDetails]) -> Iterator[Mistake]:
    errors = list(errors)
    renamed: set[Path] = set()
    for error in errors:
        if error["type"] == "extra_forbidden":
            *parent, key = error["loc"]
            near = _nearest(str(key), _model_at(parent), document.keys(*_written(parent)))
            renamed |= {(*parent, near)} if near else set()
            yield document.mistake(_written(error["loc"]), "there is no such key", _instead(near, _model_at(parent)))
    for error in errors:
        if error["type"] == "missing" and tuple(error["loc"]) not in renamed:
            key = str(error["loc"][-1])
            yield document.mistake(
                _written(error["loc"]), "this key is missing", f"add {key}: {_description(error['loc'])}"
            )
        elif error["type"] not in ("missing", "extra_forbidden") and not _only_too_few_are_right(error):
            yield _value_mistake(document, error)


def _only_too_few_are_right(error: ErrorDetails) -> bool:
    """A list is also called too short when its entries are wrong; each of those is reported by itself."""
    return error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]


def _value_mistake(document: Document, error: ErrorDetails) -> Mistake:
    loc = tuple(part for part in error["loc"] if part != "[key]")
    path = _written(loc)
    if "[key]" in error["loc"]:
        return document.mistake(path, "this name is not usable", "use letters, digits, - and _, up to 100")
    wanted = _WANTED.get(error["type"], "").format(**error.get("ctx", {}))
    description = _description(loc)
    expected = f"write {wanted}: {description}" if wanted and description else f"write {wanted or description}"
    return document.mistake(path, _shown(error["input"], error["type"]), expected)


def _shown(value: object, error_type: str) -> str:
    if value is None:
        return "nothing is written here"
    if isinstance(value, dict):
        return "a section with keys is written here" if value else "this section is empty"
    if isinstance(value, (list, tuple)):
        return f"this list has {counted(len(value), 'entry', 'entries')}" if value else "this list is empty"
    if isinstance(value, bool):
        return f"YAML reads this as {'true' if value else 'false'}"
    if isinstance(value, str):
        value = address(value) if "://" in value else value  # a person may have put a password into it
        return f"{value!r} is text" if error_type.endswith("_type") else f"{value!r} is written here"
    return f"{value!r} is written here"


def _nearest(key: str, model: type[BaseModel] | None, taken: Iterable[str]) -> str | None:
    free = [name for name in model.model_fields if name not in taken and name != "name"] if model else []
    near = get_close_matches(key, free, n=1, cutoff=0.7)
    return near[0] if near else None


def _instead(near: str | None, model: type[BaseModel] | None) -> str:
    if near:
        return f"write {near}, the nearest that there is"
    known = ", ".join(name for name in model.model_fields if name != "name") if model else ""
    return f"remove it, or write one of: {known}"


def _model_at(path: Iterable[str | int]) -> type[BaseModel] | None:
    """Return the model that describes a section, by walking the types of the fields."""
    here: Any = Topology
    for part in path:
        if isinstance(here, type) and issubclass(here, BaseModel):
            field = here.model_fields.get(str(part))
            here = field.annotation if field else None
        elif set(ROUTE_KINDS.values()) <= set(get_args(here)):
            here = ROUTE_KINDS.get(str(part))
        else:
            here = get_args(here)[-1] if get_args(here) else None
    return here if isinstance(here, type) and issubclass(here, BaseModel) else None


def _description(path: Iterable[str | int]) -> str:
    """Return what is said about the nearest key that has a description."""
    parts = list(path)
    while parts:
        model = _model_at(parts[:-1])
        field = model.model_fields.get(str(parts[-1])) if model else None
        if field and field.description:
            return field.description
        parts.pop()
    return render(tuple(path))
