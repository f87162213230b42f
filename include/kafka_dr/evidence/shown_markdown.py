"""The Markdown of a sheet as HTML: paragraphs, lists, emphasis and code. Everything else is text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from kafka_dr.quoting import block

#: Emphasis, a code span, a character that is escaped, or the next character.
_PARTS = re.compile(
    r"\*\*(?P<bold>(?:\\.|`[^`]*`|[^*\\`])+)\*\*"
    r"|(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)"
    r"|\\(?P<as_is>[!-/:-@\[-`{-~])"
)


def shown_markdown(text: str) -> Markup:
    """Return Markdown as HTML in which nothing of the text acts."""
    return Markup().join(_block(each) for each in block(text).split("\n\n") if each.strip())


def shown_line(text: str) -> Markup:
    """Return one line of Markdown as HTML."""
    return Markup().join(_inline(block(text)))


def _block(text: str) -> Markup:
    lines = text.split("\n")
    if all(line.startswith("* ") for line in lines):
        rows = Markup().join(Markup("<li>{}</li>").format(shown_line(line[2:])) for line in lines)
        return Markup("<ul>{}</ul>").format(rows)
    return Markup("<p>{}</p>").format(shown_line(text))


def _inline(text: str) -> Iterator[Markup]:
    end = 0
    for found in _PARTS.finditer(text):
        yield escape(text[end : found.start()])
        end = found.end()
        if found["bold"] is not None:
            yield Markup("<b>{}</b>").format(Markup().join(_inline(found["bold"])))
        elif found["code"] is not None:
            yield Markup("<code>{}</code>").format(found["code"].strip(" ") or found["code"])
        else:
            yield escape(found["as_is"])
    yield escape(text[end:])
