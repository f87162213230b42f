"""Make texts of people and clusters harmless before they are shown. Such texts are always data.

A text that is shown may hide other texts, imitate a message of this project, or have an effect: a line break forges a
log line, an escape sequence changes a terminal, a bidirectional control character swaps left and right, ``<!--`` hides
the rest of a page. Such characters are made visible, as Python would write them: ``\\x1b``, ``\\u202e``.
"""

from __future__ import annotations

import re
import unicodedata

#: Letters and digits may look strange but do nothing; these kinds do: controls, formats such as those of direction,
#: halves of characters, private ones, unassigned ones, and separators of lines and paragraphs.
_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
#: Drawn as nothing although they count as letters or marks.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
#: What Markdown gives a meaning to, and may be escaped by a backslash (CommonMark 0.31, 2.4).
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
#: A code span, or a character that is escaped.
_ESCAPED = re.compile(rf"(`[^`]*`)|\\{_PUNCTUATION.pattern}")
#: Of it, what acts in the middle of a line.
_MARKUP = re.compile(r"([\\`*\[\]<>!|~&]|(?<![a-z0-9])_|_(?![a-z0-9]))")
#: What becomes a link although every sign of it is escaped: addresses are looked for when all else is done.
_ADDRESS = re.compile(r"://|www\.|@", re.IGNORECASE)
#: An address, in parts: scheme, user information, host and path, query and fragment.
_PARTS = re.compile(r"([a-z][a-z0-9+.-]*://)([^/?#]*@)?([^?#]*)([?#].*)?", re.IGNORECASE | re.DOTALL)
#: Texts in which nothing acts, and nothing is blank.
_PLAIN = re.compile(r"[ -~\n\t]*")
#: As many characters as a line of ours has room for.
_MOST_INLINE = 400


def line(text: object) -> str:
    """Return a text in one line, with nothing in it that acts."""
    return "".join(map(_shown, str(text)))


def block(text: object) -> str:
    """Return a text with its line breaks and tabs, and nothing else in it that acts."""
    told = str(text).replace("\r\n", "\n").replace("\r", "\n")
    if _PLAIN.fullmatch(told):
        return told  # as most texts of a page of many groups are
    return "".join(each if each in "\n\t" else _shown(each) for each in told)


def markdown(text: object) -> str:
    """Return a text as Markdown that shows it as it is, in one line: no markup, no HTML, no links."""
    return _escaped(line(text), _PUNCTUATION)


def inline(text: object) -> str:
    """Return the beginning of a text as Markdown for the middle of a line of ours, which lists show as it is typed.

    So only what acts there is escaped: a backslash before each comma would be hard to read.
    """
    told = line(" ".join(str(text).split()))
    return _escaped(told if len(told) <= _MOST_INLINE else f"{told[: _MOST_INLINE - 1]}…", _MARKUP)


def unescaped(told: str) -> str:
    """Return Markdown of this module for a reader that shows each character as it is; code spans do not change."""
    return _ESCAPED.sub(lambda found: found[1] or found[2], told)


def address(text: object) -> str:
    """Return an address in one line, without the parts that may hold a secret: user information, query and fragment.

    A text that is no address is returned as :func:`line` does.
    """
    found = _PARTS.fullmatch(str(text))
    if found is None:
        return line(text)
    scheme, login, place, query = found.groups()
    return f"{scheme}{'…@' if login else ''}{line(place)}{f'{query[0]}…' if query else ''}"


def code(text: object) -> str:
    """Return a text as a code span of Markdown; not for the cells of a table."""
    told = line(text)
    marks = "`" * (_longest_run(told) + 1)
    pad = " " if told.startswith("`") or told.endswith("`") or told.strip(" ") == "" else ""
    return f"{marks}{pad}{told}{pad}{marks}"


def fenced(text: object) -> str:
    """Return a text as a block of code of Markdown that nothing in it can end."""
    told = block(text)
    marks = "`" * max(3, _longest_run(told) + 1)
    return f"{marks}text\n{told}\n{marks}"


def _escaped(told: str, active: re.Pattern[str]) -> str:
    words = told.split(" ")
    return " ".join(code(word) if _ADDRESS.search(word) else active.sub(r"\\\1", word) for word in words)


def _shown(character: str) -> str:
    if unicodedata.category(character) in _ACTIVE or character in _BLANK or _is_variation(character):
        return character.encode("unicode_escape").decode("ascii")
    return " " if unicodedata.category(character) == "Zs" else character


def _is_variation(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
