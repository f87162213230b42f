"""Stored documents: frozen dataclasses as JSON values, and back. cattrs walks the classes; here is what it cannot know.

A document is read whole or refused: each field has to be there and of its kind, and no other field may be. A field that
is stored in another form than it has says so, with :func:`stored` or with one of the types below.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from cattrs import Converter, transform_error
from cattrs.cols import homogenous_tuple_structure_factory, is_namedtuple, mapping_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from kafka_dr.causes import cause
from kafka_dr.named_rows import JournaledPositions, positions_to_json
from kafka_dr.positions import Committed, CommittedOffset, CountedRange, OffsetRange, SeedPoint, TopicPartition

_Content = TypeVar("_Content")
#: Reads what is stored; is also given the type.
_Read: TypeAlias = Callable[[Any, Any], Any]
_Write: TypeAlias = Callable[[Any], Any]


class Rows(NamedTuple):
    """Stores a mapping by name as rows in the order of the names, because a name is data and never a key.

    ``named`` is the field of the name, ``topic`` for instance, ``holding`` that of what the mapping holds.
    """

    named: str
    holding: str


class InForm(NamedTuple):
    """Stores a value as another one, of the type ``of``, that ``write`` returns and ``read`` takes."""

    of: Any
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


#: Times that are stored without parts of a second, with each of them, and as they are in what is sealed.
WholeSeconds: TypeAlias = Annotated[datetime, "seconds", "+00:00"]
Microseconds: TypeAlias = Annotated[datetime, "microseconds", "+00:00"]
ZuluTime: TypeAlias = Annotated[datetime, "microseconds", "Z"]
#: Of topics, their ids.
TopicIds: TypeAlias = Annotated[Mapping[str, str], Rows("topic", "topic_id")]
GroupPositions: TypeAlias = Annotated[Committed, Rows("group", "positions")]
#: Offsets that are read when they are first looked at.
LaterPositions: TypeAlias = Annotated[
    Mapping[TopicPartition, int],
    InForm(Any, positions_to_json, lambda rows: JournaledPositions(_checked(rows, list, tuple))),
]
#: Figures in their own order; the fields of a stored object are sorted.
InOrder: TypeAlias = Annotated[Mapping[str, float], InForm(tuple[tuple[str, float], ...], lambda of: of.items(), dict)]
#: Of the partitions of one topic, an offset.
ByNumber: TypeAlias = Annotated[
    Mapping[int, int], InForm(tuple[tuple[int, int], ...], lambda of: sorted(of.items()), dict)
]


class NotDecoded(ValueError):
    """What is stored is not what this version writes. The sentence says which field of it."""


class StoredDocument:
    """A frozen dataclass that is stored.

    ``derived`` names properties that are stored with the fields, for whoever reads the file. They are not read again.
    """

    __slots__ = ()
    derived: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return what is stored."""
        return encode(self)  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, found: Any) -> Self:
        """Read what :meth:`to_json` returned.

        :raises NotDecoded: it is something else
        """
        return decode(cls, found)

    @classmethod
    def from_part(cls, found: Mapping[str, Any]) -> Self:
        """Read this document from a larger one, which has its fields among others.

        :raises NotDecoded: a field is missing, or of another kind
        """
        names = _Layout.of(cls).names
        return decode(cls, {name: value for name, value in _checked(found, dict).items() if name in names})


class StoredRow:
    """A frozen dataclass that is stored as the list of its fields; a partition is two of them."""

    __slots__ = ()


def stored(name: str | None = None, *, omitted: bool = False, hidden: bool = False) -> dict[str, Any]:
    """Return the metadata of a field that is stored in another way than others.

    :param name: what it is called there
    :param omitted: whether it is left out while it has its default, as each field is that a later version adds
    :param hidden: whether it is not stored
    """
    return {"rename": name, "omit_if_default": omitted, "omit": hidden or None}


def encode(value: object, kind: Any = None) -> Any:
    """Return a value as JSON holds it.

    :param kind: its type, where that decides the form, as of a mapping by partition
    """
    return _CONVERTER.unstructure(value, unstructure_as=kind)


def decode(kind: type[_Content], found: Any) -> _Content:
    """Read what :func:`encode` returned.

    :raises NotDecoded: it is something else
    """
    try:
        return _CONVERTER.structure(found, kind)
    except Exception as error:
        said, _, where = transform_error(error, "", lambda of, _: cause(of))[0].rpartition(" @ ")
        raise NotDecoded(f"{where.lstrip('.') or 'it'} {said}") from error


class _Layout(NamedTuple):
    """The type and metadata of each field of a class, all names that are stored of it, and those that have to be.

    :param flat: whether its partition is stored as two fields
    """

    kinds: dict[str, Any]
    how: dict[str, dict[str, Any]]
    names: frozenset[str]
    required: frozenset[str]
    flat: bool

    @classmethod
    def of(cls, kind: type[Any]) -> _Layout:
        """Return the layout of a dataclass."""
        how = {each.name: {**stored(), **each.metadata} for each in fields(kind)}
        kinds = get_type_hints(kind, include_extras=True)
        names = {field: of["rename"] or field for field, of in how.items() if not of["omit"]}
        of_partition = ("topic", "partition") if kinds.get("partition") is TopicPartition else ()
        return cls(
            kinds,
            how,
            frozenset((*names.values(), *of_partition, *getattr(kind, "derived", ()))),
            frozenset((*of_partition, *(name for field, name in names.items() if not how[field]["omit_if_default"]))),
            bool(of_partition),
        )

    def overrides(self, hook: str, hook_of: Callable[[Any], Any]) -> dict[str, Any]:
        """Return what cattrs has to know of each field."""
        return {name: override(**of, **{hook: hook_of(self.kinds[name])}) for name, of in self.how.items()}


def _checked(found: Any, *kinds: type[Any]) -> Any:
    if type(found) in kinds:
        return found
    raise _unexpected(found, _WORDS[kinds[0]])


def _unexpected(found: object, expected: str) -> NotDecoded:
    said = repr(found)
    return NotDecoded(f"is {said if len(said) <= 80 else f'{said[:79]}…'}, and {expected} was expected")


def _reads_class(cls: type[Any], converter: Converter) -> _Read:
    def bound(kind: Any) -> _Read:
        # cattrs would hand on the type without what ``Annotated`` adds to a part of it.
        if get_origin(kind) not in (Union, UnionType):
            return converter.get_structure_hook(kind)
        (held,) = set(get_args(kind)) - {NoneType}
        read = converter.get_structure_hook(held)
        return lambda found, _: None if found is None else read(found, held)

    layout = _Layout.of(cls)
    overrides = layout.overrides("struct_hook", bound)
    read = make_dict_structure_fn(cls, converter, _cattrs_detailed_validation=True, **overrides)

    def structure(found: Any, _: Any) -> Any:
        keys = _checked(found, dict).keys()
        if not layout.required <= keys <= layout.names:
            for name in sorted(layout.required - keys):
                raise NotDecoded(f"lacks {name!r}")
            unknown = min(keys - layout.names)
            raise NotDecoded(f"has {unknown!r}, which this version does not know: use the version that wrote it")
        return read({**found, "partition": [found["topic"], found["partition"]]} if layout.flat else found, cls)

    return structure


def _writes_class(cls: type[Any], converter: Converter) -> _Write:
    layout = _Layout.of(cls)
    write = make_dict_unstructure_fn(
        cls, converter, **layout.overrides("unstruct_hook", converter.get_unstructure_hook)
    )
    if layout.flat:
        return lambda value: {**write(value), **value.partition._asdict()}
    if not (derived := getattr(cls, "derived", ())):
        return write
    return lambda value: {**{name: encode(getattr(value, name)) for name in derived}, **write(value)}


def _number(found: Any, _: Any) -> float:
    if abs(_checked(found, float, int)) <= sys.float_info.max:
        return float(found)
    raise _unexpected(found, _WORDS[float])


def _time(found: Any, _: Any) -> datetime:
    try:
        at = datetime.fromisoformat(_checked(found, str))
    except ValueError:
        raise _unexpected(found, "a time") from None
    if at.tzinfo is None:
        raise _unexpected(found, "a time with a time zone")
    return at.astimezone(UTC)


def _writes_time(kind: Any, _: Converter) -> _Write:
    parts, zone = kind.__metadata__
    return lambda at: at.astimezone(UTC).isoformat(timespec=parts).replace("+00:00", zone)


def _reads_choice(kind: Any, _: Converter) -> _Read:
    """Read one of the values of a ``Literal`` or of an enumeration."""
    choices = {getattr(each, "value", each): each for each in get_args(kind) or kind}

    def structure(found: Any, _: Any) -> Any:
        if type(found) in (str, int) and found in choices:
            return choices[found]
        raise _unexpected(found, f"one of {', '.join(map(str, choices))}")

    return structure


def _reads_list(kind: Any, converter: Converter) -> _Read:
    read = homogenous_tuple_structure_factory(kind, converter)
    make = frozenset if get_origin(kind) in (frozenset, Set) else tuple
    return lambda found, _: make(read(_checked(found, list, tuple), kind))


def _reads_mapping(kind: Any, converter: Converter) -> _Read:
    read = mapping_structure_factory(kind, converter)
    return lambda found, _: read(_checked(found, dict), kind)


def _parts_of(kind: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the names of the parts, none of a plain tuple, and their types."""
    named = {} if get_args(kind) else get_type_hints(kind, include_extras=True)
    return tuple(named), get_args(kind) or tuple(named.values())


def _reads_parts(kind: Any, converter: Converter) -> _Read:
    """Read a tuple of a known length, or something else that is stored as the list of its parts."""
    names, kinds = _parts_of(kind)
    reads = [converter.get_structure_hook(each) for each in kinds]
    after_partition = kinds[0] is TopicPartition

    def structure(found: Any, _: Any) -> Any:
        parts = _checked(found, list, tuple)
        parts = [parts[:2], *parts[2:]] if after_partition else parts
        if len(parts) != len(kinds):
            raise _unexpected(found, f"a list of {len(kinds) + after_partition}")
        read = [read(part, each) for read, part, each in zip(reads, parts, kinds, strict=True)]
        return kind(*read) if names else tuple(read)

    return structure


def _writes_parts(kind: Any, converter: Converter) -> _Write:
    names, kinds = _parts_of(kind)
    writes = [converter.get_unstructure_hook(each) for each in kinds]

    def unstructure(value: Any) -> list[Any]:
        parts = [getattr(value, name) for name in names] if names else value
        written = [write(part) for write, part in zip(writes, parts, strict=True)]
        return [*written[0], *written[1:]] if kinds[0] is TopicPartition else written

    return unstructure


def _continues_its_row(held: Any) -> bool:
    """Return whether the parts of what a partition has follow it in its row."""
    return bool({SeedPoint, CountedRange} & set(get_args(held))) or _is_row(held) or _is_plain_tuple(held)


def _reads_partitions(kind: Any, converter: Converter) -> _Read:
    """Read rows of a topic, a partition, and what it has; commit metadata may follow an offset.

    A document of a partition has the partition as a field instead.
    """
    key, held = get_args(kind)
    read, continues, a_document = converter.get_structure_hook(held), _continues_its_row(held), _is_document(held)

    def row(found: Any) -> tuple[tuple[str, int], Any]:
        if a_document:
            fields_of = dict(_checked(found, dict))
            found = [*_checked(fields_of.pop("partition", None), list, tuple), fields_of]
        if len(_checked(found, list, tuple)) < 2:
            raise _unexpected(found, "a partition")
        topic, number, *rest = found
        partition = _checked(topic, str), _checked(number, int)
        partition = TopicPartition(*partition) if key is TopicPartition else partition
        if continues:
            return partition, read(rest, held)
        if held is int and len(rest) == 2:
            return partition, CommittedOffset(_checked(rest[0], int), _checked(rest[1], str))
        if len(rest) != 1:
            raise _unexpected(found, "a partition and one value")
        return partition, read(rest[0], held)

    return lambda found, _: dict(map(row, _checked(found, list, tuple)))


def _writes_partitions(kind: Any, converter: Converter) -> _Write:
    held = get_args(kind)[1]
    write = converter.get_unstructure_hook(held)
    if held is int:
        return positions_to_json
    if _is_document(held):
        return lambda value: [{"partition": [*p], **write(of)} for p, of in sorted(value.items())]
    if _continues_its_row(held):
        # A partition without counted ranges has no row.
        return lambda value: [
            [*p, *write(of)] for p, of in sorted(value.items()) if of or CountedRange not in get_args(held)
        ]
    return lambda value: [[*p, write(of)] for p, of in sorted(value.items())]


def _reads_rows(kind: Any, converter: Converter) -> _Read:
    of, (named, holding) = get_args(kind)
    held = get_args(of)[1]
    read = converter.get_structure_hook(held)

    def row(found: Any) -> tuple[str, Any]:
        if _checked(found, dict).keys() != {named, holding}:
            raise _unexpected(found, f"an object of {named!r} and {holding!r}")
        return _checked(found[named], str), read(found[holding], held)

    return lambda found, _: dict(map(row, _checked(found, list, tuple)))


def _writes_rows(kind: Any, converter: Converter) -> _Write:
    of, (named, holding) = get_args(kind)
    write = converter.get_unstructure_hook(get_args(of)[1])
    return lambda value: [{named: name, holding: write(value[name])} for name in sorted(value)]


def _reads_form(kind: Any, converter: Converter) -> _Read:
    form = kind.__metadata__[0]
    read = converter.get_structure_hook(form.of)
    return lambda found, _: form.read(read(found, form.of))


def _writes_form(kind: Any, converter: Converter) -> _Write:
    form = kind.__metadata__[0]
    write = converter.get_unstructure_hook(form.of)
    return lambda value: write(form.write(value))


def _is_annotated(by: type[Any]) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is Annotated and isinstance(kind.__metadata__[0], by)


def _is_by_partition(kind: Any) -> bool:
    return get_origin(kind) in (Mapping, dict) and get_args(kind)[0] in (TopicPartition, tuple[str, int])


def _is_plain_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and Ellipsis not in get_args(kind)


def _is_document(kind: Any) -> bool:
    return is_dataclass(kind) and not _is_row(kind)


def _is_row(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OffsetRange | StoredRow)


def _is_list(kind: Any) -> bool:
    return get_origin(kind) in (Sequence, Set, frozenset) or (get_origin(kind) is tuple and not _is_plain_tuple(kind))


#: Later ones are asked first.
_FORMS: tuple[tuple[Callable[[Any], bool], Any, Any], ...] = (
    (is_dataclass, _reads_class, _writes_class),
    (lambda kind: get_origin(kind) in (Mapping, dict), _reads_mapping, None),
    (_is_list, _reads_list, None),
    (lambda kind: is_namedtuple(kind) or _is_plain_tuple(kind) or _is_row(kind), _reads_parts, _writes_parts),
    (_is_by_partition, _reads_partitions, _writes_partitions),
    (_is_annotated(Rows), _reads_rows, _writes_rows),
    (_is_annotated(InForm), _reads_form, _writes_form),
    (lambda kind: get_origin(kind) is Literal, _reads_choice, None),
    (lambda kind: kind in (WholeSeconds, Microseconds, ZuluTime), lambda *_: _time, _writes_time),
)
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
_WORDS[dict] = "an object"


def _converter() -> Converter:
    made = Converter(unstruct_collection_overrides={tuple: list, Sequence: list, frozenset: sorted, Set: sorted})
    for kind in (str, int, bool):
        made.register_structure_hook(kind, _checked)
    made.register_structure_hook(float, _number)
    made.register_structure_hook(datetime, _time)
    made.register_unstructure_hook(datetime, lambda at: at.astimezone(UTC).isoformat())
    made.register_structure_hook(timedelta, lambda found, _: timedelta(seconds=_number(found, float)))
    made.register_unstructure_hook(timedelta, timedelta.total_seconds)
    for enumeration in (Enum, StrEnum):
        made.register_structure_hook(enumeration, lambda found, kind: _reads_choice(kind, made)(found, kind))
        made.register_unstructure_hook(enumeration, lambda choice: choice.value)
    for matches, reads, writes in _FORMS:
        made.register_structure_hook_factory(matches, reads)
        if writes is not None:
            made.register_unstructure_hook_factory(matches, writes)
    return made


_CONVERTER = _converter()
