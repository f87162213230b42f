"""A YAML file as plain values that remember their lines, with ``${NAME}`` expanded from the environment.

YAML's own loaders forget the line of a value and let a repeated key silently win; both matter in a file that
decides where production writes go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from kafka_dr.topology.mistakes import Mistake

#: The way to a value: keys of mappings and positions in lists.
Path = tuple[str | int, ...]

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: How many sections may be inside each other. The C loader needs stack for each one, and crashes if it has no more.
_DEEPEST = 50
#: How many values aliases may repeat. Ten aliases of ten aliases, nine times, would be a billion values.
_MOST_REPEATED = 10_000


def render(path: Path) -> str:
    """Return a path as a person writes it: ``clusters.east`` and ``topics[2]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says.

    :param root: mappings, lists and scalars; None when nothing could be read
    :param lines: the line of each value, by path
    :param written: of what is not written as it is read: where it is written, by path
    """

    root: object
    lines: Mapping[Path, int]
    written: Mapping[Path, Path] = field(default_factory=dict)

    def written_at(self, path: Path) -> Path:
        """Return where something is written."""
        for length in range(len(path), 1, -1):
            if (found := self.written.get(path[:length])) is not None:
                return (*found, *path[length:])
        return path

    def line(self, path: Path) -> int:
        """Return the line of a value, or of the nearest thing around it that exists."""
        path = self.written_at(path)
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)

    def place(self, path: Path) -> str:
        """Return where something is written, for a person: the path and the line."""
        return f"{render(self.written_at(path))} (line {self.line(path)})"

    def at(self, *path: str | int) -> object:
        """Return the value at a path, or None where there is none."""
        value = self.root
        for part in path:
            value = _member(value, part)
        return value

    def keys(self, *path: str | int) -> tuple[str, ...]:
        """Return the keys of the mapping at a path; none where there is no mapping."""
        value = self.at(*path)
        return tuple(value) if isinstance(value, dict) else ()

    def texts(self, *path: str | int) -> tuple[tuple[str, Path], ...]:
        """Return each non-empty text of the list at a path, with its own path; anything else is passed over."""
        value = self.at(*path)
        items = value if isinstance(value, list) else ()
        return tuple((item, (*path, number)) for number, item in enumerate(items) if isinstance(item, str) and item)

    def mistake(self, path: Path, seen: str, expected: str) -> Mistake:
        """Return a mistake with the line of the path."""
        return Mistake(self.line(path), render(self.written_at(path)), seen, expected)


def _member(value: object, part: str | int) -> object:
    if isinstance(value, dict):
        return value.get(part)
    inside = isinstance(value, list) and isinstance(part, int) and part < len(value)
    return value[part] if inside else None  # type: ignore[index]


def read(text: str, environ: Mapping[str, str]) -> tuple[Document, list[Mistake]]:
    """Read YAML.

    :param text: the content of the file
    :param environ: where ``${NAME}`` is looked up
    :returns: what could be read, and what is wrong with it as YAML
    """
    try:
        if deep := _too_deep(text):
            return Document(None, {}), [deep]
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        return Document(None, {}), [_syntax_mistake(error)]
    if node is None:
        return Document(None, {}), [Mistake(1, "", "the file is empty", "copy topology.example.yaml and edit it")]
    reader = _DocumentReader(environ)
    try:
        root = reader.value(node, ())
    except _TooMuchRepeated as error:
        seen = f"the aliases of this file repeat more than {_MOST_REPEATED} values"
        return Document(None, {}), [Mistake(error.line, "", seen, "write the values out, or repeat less")]
    return Document(root, reader.lines), reader.mistakes


def _too_deep(text: str) -> Mistake | None:
    """Return where sections are inside each other too deeply to be read. This asks the parser, which needs no stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            seen = f"more than {_DEEPEST} sections are inside each other"
            line = event.start_mark.line + 1 if event.start_mark else 1
            return Mistake(line, "", seen, "a topology needs fewer than 10: close some of them")
    return None


class _TooMuchRepeated(Exception):
    """Aliases repeat so much that reading would take too long, or all memory."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def _syntax_mistake(error: yaml.YAMLError) -> Mistake:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    seen = f"this is not YAML ({f'{context}, ' if context else ''}{problem})"
    return Mistake(mark.line + 1 if mark else 1, "", seen, "fix the indentation, colon or quote near this line")


@dataclass(slots=True)
class _DocumentReader:
    environ: Mapping[str, str]
    lines: dict[Path, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    _open: set[int] = field(default_factory=set)
    _read: set[int] = field(default_factory=set)
    _repeated: int = 0
    _scalars: yaml.constructor.SafeConstructor = field(default_factory=yaml.constructor.SafeConstructor)

    def value(self, node: yaml.Node, path: Path) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._count(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._open:
            self._wrong(path, node, "an alias points to a section that contains it", "write the values out")
            return None
        self._open.add(id(node))
        value = self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)
        self._open.discard(id(node))
        return value

    def _count(self, node: yaml.Node) -> None:
        """Count a value that was read before: only an alias leads to it again."""
        self._repeated += id(node) in self._read
        self._read.add(id(node))
        if self._repeated > _MOST_REPEATED:
            raise _TooMuchRepeated(node.start_mark.line + 1)

    def _sequence(self, node: yaml.Node, path: Path) -> list[object]:
        return [self.value(item, (*path, number)) for number, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            here = (*path, key)
            if key in values:
                first = self.lines[here]
                self._wrong(here, key_node, f"this key was already given in line {first}", "keep one of the two")
                continue
            self.lines[here] = key_node.start_mark.line + 1
            values[key] = self.value(value_node, here)
        return values

    def _key(self, node: yaml.Node, path: Path) -> str:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            return str(node.value)
        text = str(node.value) if isinstance(node, yaml.ScalarNode) else "a list or mapping"
        here = (*path, text)
        if text == "<<":
            self._wrong(here, node, "merge keys are not read here", "write the values out")
        else:
            self._wrong(here, node, "YAML does not read this key as text", "put it in quotes")
        return text

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> object:
        try:
            value: object = self._scalars.construct_object(node)
        except (ValueError, yaml.YAMLError):
            self._wrong(path, node, f"{node.value!r} cannot be read as {node.tag}", "put it in quotes")
            return None
        return self._expanded(value, node, path) if isinstance(value, str) else value

    def _expanded(self, text: str, node: yaml.ScalarNode, path: Path) -> str:
        def replacement(match: re.Match[str]) -> str:
            name = match[1]
            if not _NAME.fullmatch(name):
                self._wrong(path, node, f"${{{name}}} names no environment variable", "write ${NAME}")
            elif not self.environ.get(name):
                seen = f"the environment variable {name} is not set"
                self._wrong(path, node, seen, f"set {name} before starting, or write the value here")
            else:
                return self.environ[name]
            return match[0]

        return _VARIABLE.sub(replacement, text)

    def _wrong(self, path: Path, node: yaml.Node, seen: str, expected: str) -> None:
        self.mistakes.append(Mistake(node.start_mark.line + 1, render(path), seen, expected))
