"""SGML test sets give the lines that the plain text has, each reference replaced once."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.sgml import iter_segments, unescape
from pipeline.files import read_lines

LINES = st.lists(
    st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), min_size=1).map(
        lambda line: line.strip(" \t\r\n") or "x"
    ),
    min_size=1,
    max_size=8,
)


def sgml(lines, *, escape=html.escape, inside=""):
    """As mteval writes it: documents of some segments, upper-case or lower-case tags."""
    parts = ['<srcset setid="newstest2014" srclang="any">']
    for start in range(0, len(lines), 3):
        parts.append(f'<doc sysid="src" docid="d{start}" genre="news">\n<hl>')
        for number, line in enumerate(lines[start : start + 3], start=start + 1):
            tag = "seg" if number % 2 else "SEG"
            parts.append(f'<{tag} id="{number}">{inside}{escape(line)}{inside}</{tag}>')
        parts.append("</hl></doc>")
    return "\n".join([*parts, "</srcset>\n"])


@given(LINES, st.sampled_from(["", " ", "\n", " \r\n\t"]))
def test_escaped_segments_come_back(lines, inside):
    assert list(iter_segments(sgml(lines, inside=inside), name="x")) == lines


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("&quot;Ja&quot;", '"Ja"'),
        ("d&apos;accord", "d'accord"),
        ("R&amp;D", "R&D"),
        ("&lt;b&gt;", "<b>"),
        ("&#91;1&#93;", "[1]"),
        ("&#x20AC;", "€"),
        ("&amp;quot;", "&quot;"),
        ("AT&T &notin x &copy", "AT&T &notin x &copy"),
        ("&unknown;", "&unknown;"),
    ],
)
def test_references_are_replaced_once_and_only_if_they_are_some(raw, text):
    assert unescape(raw) == text
    assert list(iter_segments(f"<seg id=1>{raw}</seg>", name="x")) == [text]


def test_a_line_end_inside_a_segment_is_a_space():
    text = "<seg id='1'>one\n  two&#10;three</seg>"
    assert list(iter_segments(text, name="x")) == ["one two three"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain text\n", "no <seg>"),
        ("<seg id=1>a\n<seg id=2>b</seg>", "segment 1 has no </seg>"),
        ("<seg id=1>a</seg>\n<seg id=2>b", "segment 2 has no </seg>"),
    ],
)
def test_damage_is_named(text, said):
    with pytest.raises(ValueError, match=f"x.sgm: .*{said}"):
        list(iter_segments(text, name="x.sgm"))


@pytest.mark.parametrize(
    "name", ["2013.en-de.en", "2013.en-de.de", "2014.en-de.de", "2014.en-fr.fr"]
)
@pytest.mark.parametrize("escape", [html.escape, lambda s: s.replace("&", "&amp;")])
def test_newstest_as_sgml_gives_the_lines_of_the_text(shared_data, name, escape):
    lines = read_lines(shared_data / "newstest" / f"newstest{name}")
    assert list(iter_segments(sgml(lines, escape=escape), name=name)) == lines
