"""Texts of people and clusters, hostile ones among them, judged by a renderer of Markdown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kafka_dr.quoting import block, code, fenced, inline, line, markdown

#: With everything on that Airflow's page knows, and more: HTML, tables, strikethrough, addresses that become links.
RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": True, "typographer": False})
#: Lists of runs know addresses by ``://``, ``www.`` and ``@`` alone.
IN_A_NOTE = MarkdownIt("gfm-like", {"html": True, "linkify": True, "typographer": False})
assert IN_A_NOTE.linkify is not None
IN_A_NOTE.linkify.set({"fuzzy_link": False, "fuzzy_ip": False})
ATTACKS = (
    "routine\n\n<!--",
    "x\n\n# Dry run: nothing will be changed\n\n~~~\n",
    "```\n\n**Approve**\n```",
    "````text\n`````",
    "</pre></code><script>alert(1)</script>",
    "[click](https://example.com) ![x](https://example.com/a.png)",
    "see https://example.com or www.example.com or a@example.com or mailto:a@b.c",
    "| a | b |\n| --- | --- |\n| ok | ok |",
    "* a\n* b\n1. c\n> d\n---\n===",
    "&lt;b&gt; &#42;&#42;x&#42;&#42; &nbsp;",
    "`code` ``code`` \\`x\\` \\",
    "_a_ *b* ~~c~~ __d__ orders_of_today",
    "\x1b[2J\x1b[31mred\x07\x00\x7f\x9b1m",
    "\u202egnihton\u202c \u2066x\u2069 \u200bzero\ufeff",
    "a\r\nINFO check ok\u2028b\u2029c\x0bd\x0ce\x85f",
    "[^1]: note\n[x]: https://example.com",
    "     indented\n\ttab",
    "",
    " ",
    "`",
    "``` ```",
)
hostile = st.one_of(
    st.text(alphabet=st.characters(), max_size=60),
    st.text(alphabet="`~*_[]()<>!&#|\\-+=:@/w.\n\r\t a1", max_size=60),
    st.lists(st.sampled_from(ATTACKS), max_size=3).map("".join),
)


def harmless(text: str) -> bool:
    """Whether no character of a text acts, line breaks and tabs apart."""
    kinds = {unicodedata.category(each) for each in text if each not in "\n\t"}
    return not kinds & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def tokens(source: str) -> list[tuple[str, str]]:
    """Return what a text means as Markdown: each kind of element with the text in it."""
    return [
        (each.type, each.content)
        for block_token in RENDERER.parse(source)
        for each in (block_token.children or [block_token])
        if each.type not in ("paragraph_open", "paragraph_close")
    ]


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_a_sentence_is_a_sentence(attack: str) -> None:
    assert_shown_as_it_is(attack)


@given(hostile)
def test_any_text_in_a_sentence_is_text(text: str) -> None:
    assert_shown_as_it_is(text)


@given(hostile)
@example("\n".join(ATTACKS[:10]))
@example("\n".join(ATTACKS[10:]))
def test_any_text_in_the_middle_of_a_line_of_ours_is_text(text: str) -> None:
    found = IN_A_NOTE.parse(f"REJECTED by bob: {inline(text)}.")
    assert [each.type for each in found] == ["paragraph_open", "inline", "paragraph_close"]
    parts = [(each.type, each.content) for each in found[1].children or ()]
    assert {kind for kind, _ in parts} <= {"text", "text_special", "code_inline"}, parts
    told = line(" ".join(text.split()))
    told = told if len(told) <= 400 else f"{told[:399]}…"
    assert "".join(content for _, content in parts) == f"REJECTED by bob: {told}."


def test_a_long_text_in_the_middle_of_a_line_is_cut() -> None:
    assert inline("a" * 500) == "a" * 399 + "…"
    assert inline("cannot read /a/b_c, (d): e.") == "cannot read /a/b_c, (d): e."


def assert_shown_as_it_is(text: str) -> None:
    found = tokens(f"* **failed** before{markdown(text)}after, *ours*\n")
    kinds = [kind for kind, _ in found if kind not in ("text", "text_special", "code_inline")]
    item = ["bullet_list_open", "list_item_open", "strong_open", "strong_close", "em_open", "em_close"]
    assert kinds == [*item, "list_item_close", "bullet_list_close"], found
    said = "".join(content for _, content in found)
    assert said == f"failed before{line(text)}after, ours"


@given(hostile)
@example("`")
@example("")
def test_a_code_span_shows_its_text_and_ends(text: str) -> None:
    found = [each for each in tokens(f"a {code(text)} b") if each[1]]
    assert found[0] == ("text", "a ")
    assert found[-1] == ("text", " b")
    assert [kind for kind, _ in found[1:-1]] == ["code_inline"]
    assert found[1][1].strip() == line(text).strip()


@given(hostile, hostile)
@example("routine\n\n<!--", "```")
@example("```\n</details>\n<!--", "~~~")
def test_nothing_in_a_fence_ends_it(text: str, other: str) -> None:
    found = RENDERER.parse(f"# Ours\n\n{fenced(text)}\n\nbetween\n\n{fenced(other)}\n")
    kinds = [token.type for token in found]
    heading, paragraph = (["heading_open", "inline", "heading_close"], ["paragraph_open", "inline", "paragraph_close"])
    assert kinds == [*heading, "fence", *paragraph, "fence"]
    assert found[3].content.rstrip("\n") == block(text).rstrip("\n")


@given(hostile)
def test_what_is_shown_does_nothing(text: str) -> None:
    assert harmless(line(text))
    assert "\n" not in line(text)
    assert "\t" not in line(text)
    assert harmless(block(text))
    assert len(line(text).splitlines()) <= 1
    for rendered in (markdown(text), code(text)):
        assert harmless(rendered)
        assert len(rendered.splitlines()) <= 1


def test_plain_words_stay_as_they_are() -> None:
    said = "Häfen, 東京 und Ελλάδα: 10 % mehr — naïve façade"
    assert line(said) == said
    assert block("two\nlines\there") == "two\nlines\there"


def test_what_acts_can_be_read() -> None:
    assert line("a\nb\x1b[2J\u202ec") == "a\\nb\\x1b[2J\\u202ec"
