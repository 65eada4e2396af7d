"""The corpus card's figures against plain counting, and its page."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.corpora.card import (
    count_words,
    length_histogram,
    sample_pairs,
    vocabulary_use,
)
from pipeline.results.card import markdown
from pipeline.results.html_parts import render_markdown
from pipeline.results.report import _split_title

IDS = st.lists(st.integers(0, 9), min_size=1, max_size=40)


@given(IDS, IDS)
def test_vocabulary_use_is_what_counting_says(first, second):
    use = vocabulary_use({"en": np.array(first), "de": np.array(second)}, vocab_size=10)
    assert use == {
        "vocab_size": 10,
        "en": len(set(first)),
        "de": len(set(second)),
        "both": len(set(first) & set(second)),
        "neither": 10 - len(set(first) | set(second)),
        "under_100_times": len(set(first) | set(second)),
    }


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 7))
def test_length_histogram_is_what_counting_says(lengths, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.corpora.card.BLOCK", block)
        facts = length_histogram(np.cumsum([0, *lengths]))
    counts = Counter(lengths)
    assert facts["counts"] == [counts[n] for n in range(max(lengths) + 1)]
    assert facts["longest"] == max(lengths)
    assert facts["mean"] == pytest.approx(np.mean(lengths), abs=0.00501)
    assert facts["up_to"][10] == sum(length <= 10 for length in lengths)
    for name, share in (("median", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert sum(length <= facts[name] for length in lengths) >= share * len(lengths)
        assert sum(length < facts[name] for length in lengths) < share * len(lengths)


@pytest.mark.parametrize("n", [1, 9, 300])
def test_samples_are_pairs_of_the_same_line(tmp_path: Path, n):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, mark in zip(paths, "ab", strict=True):
        path.write_text("".join(f"{mark} \u2028 {number}\n" for number in range(1, n + 1)))
    pairs = sample_pairs(paths)
    assert len(pairs) == min(10, n)
    for pair in pairs:
        assert pair["text"] == [f"{mark} \u2028 {pair['line']}" for mark in "ab"]
    assert sample_pairs(paths) == pairs
    assert count_words(paths[0]) == 3 * n  # U+2028 is no white space to bytes


def page_of(text: list[str], *, title: str = "Toy", warning: str = "", path: str = "x") -> str:
    """A card with one sample pair."""
    counts = {"read": 3, "kept": 2, "dropped": {"empty": 1}, "parts": {"p": 3},
              "carriage_returns": {"en": 2, "de": 0}}  # fmt: skip
    tokens = {"src_tokens": 5, "tgt_tokens": 6, "src_unknown": 1, "tgt_unknown": 0}
    overlap = dict.fromkeys(
        ("sources", "sources_in_train", "targets", "targets_in_train", "train_pairs_in_it",
         "train_pairs_with_its_source", "train_pairs_with_its_target"), 0,
    )  # fmt: skip
    lengths = {"mean": 2.5, "median": 2, "p90": 3, "p99": 3, "longest": 3}
    facts = {
        "corpus": "toy",
        "sides": ["en", "de"],
        "splits": {"train": counts},
        "encoded": {"train": tokens},
        "words": {"en": 3, "de": 3},
        "tokens_per_word": {"en": 1.0, "de": 1.3},
        "lengths": {"en": lengths, "de": lengths},
        "subwords": {"model_type": "bpe", "byte_fallback": True, "n_symbols": 0},
        "learnt_from": {"drawn": 6, "lines": 6, "too_long": 0, "reserved": 0},
        "vocabulary_use": {"vocab_size": 9, "en": 1, "de": 2, "both": 1, "neither": 7,
                           "under_100_times": 2},
        "overlap": {"dev": overlap},
        "warnings": [warning] * bool(warning),
        "sources": [{"path": path, "sha256": "0" * 64, "splits": ["train"]}],
        "text_sha256": {"train.en": "1" * 64},
        "samples": [{"line": 7, "text": text}],
    }  # fmt: skip
    return markdown(facts, title=title)


def test_the_page_holds_cursed_text_in_one_cell():
    text = ["a | b\u2028c `d` <e> *f* " + "x" * 400, "[g](h)\\"]
    page = page_of(text, warning="p: 3 lines, where 4 are published")
    row = next(line for line in page.split("\n") if line.startswith("| 7 |"))
    assert row.replace("\\|", "").count("|") == 4
    assert len(row) < 400
    returns = "carriage return: train.en 2."
    for expected in ("empty 1", "published", "0" * 64, "1" * 64, "# Toy", "1.3", returns):
        assert expected in page


def python_markdown(page: str) -> str:
    """As the report shows cards."""
    return render_markdown(page, folder=Path())


def common_mark(page: str) -> str:
    """As GitHub and most others show Markdown."""
    found = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    return found.render(page)


class Seen(HTMLParser):
    """Text of a page by where it stands: table cells, items, headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.parts.append((tag, ""))

    def handle_data(self, data: str) -> None:
        if self.parts:
            tag, text = self.parts[-1]
            self.parts[-1] = (tag, text + data)

    def texts(self, tag: str) -> list[str]:
        return [text.rstrip("\n") for kind, text in self.parts if kind == tag]


DATA = st.text(
    st.one_of(
        st.sampled_from("&;lt<>quota#0123x\\`*_{}[]()|!~$:-+.\"'@/ =^"),
        st.characters(codec="utf-8", categories=("L", "N", "P", "S")),
    ),
    min_size=1,
    max_size=40,
).map(lambda text: f"x{text}x")


def one_space(text: str) -> str:
    """A browser shows any number of spaces as one."""
    return re.sub(" +", " ", text)


@pytest.mark.parametrize("render", [python_markdown, common_mark])
@given(texts=st.tuples(DATA, DATA))
@example(texts=("x&quot;x", "a < b"))
@example(texts=("&amp;lt; &#65; &copy", "<b>a</b> <!-- c --> <script>"))
@example(texts=(r"a \< b \\| c \_d\_", "| `a|b` ![i](j) [k][l] https://m.n"))
def test_what_stands_in_the_data_is_what_one_sees(render, texts):
    cells = Seen(render(page_of(list(texts)))).texts("td")
    assert [one_space(cell) for cell in cells[-2:]] == [one_space(text) for text in texts]


@pytest.mark.parametrize("render", [python_markdown, common_mark])
def test_titles_paths_and_warnings_are_shown_as_they_are(render):
    said = "a_b_c <d> &quot; *e* [f](g) | `h`"
    seen = Seen(render(page_of(["a", "b"], title=said, warning=said, path=said)))
    assert said in [*seen.texts("h1"), *seen.texts("h3")]
    assert said in seen.texts("li")
    assert said in seen.texts("td")


def test_controls_are_seen_and_break_no_row():
    text = "a\tb\rc\x0bd\x1ce\x85f\u2028g\x00h\xa0i"
    cells = Seen(python_markdown(page_of([text, "z"]))).texts("td")
    assert cells[-2:] == ["a\u2409b\u240dc\u240bd\u241ce\u2424f\u2424g\u2400h\xa0i", "z"]


def test_the_report_s_title_of_a_card_is_plain_text():
    page = page_of(["a", "b"], title="a & b <c> &quot; *d*")
    assert _split_title(page, default="")[0] == "a & b <c> &quot; *d*"
