"""EVALB's listing character by character, a brute-force count, and the sentences it leaves out."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.evaluation.brackets import (
    CUTOFF_LENGTH,
    DELETED_FOR_LENGTH,
    DELETED_LABELS,
    EQUAL_LABELS,
    ERROR,
    SKIP,
    VALID,
    read_parse,
    score_brackets,
    summarize,
)
from pipeline.evaluation.evalb_report import evalb_report
from pipeline.files import read_lines

ORACLES = ["craft_p10", "craft_p35", "gum_identity", "gum_p10", "gum_p35"]
GOLD = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (NN mats)))) (. .)))"


@pytest.mark.parametrize("case", ORACLES)
def test_every_line_of_evalb(shared_data: Path, case: str) -> None:
    folder = shared_data / "oracle_evalb"
    sentences = score_brackets(
        read_lines(folder / f"{case}.test"), read_lines(folder / f"{case}.gold")
    )
    assert evalb_report(sentences) == read_lines(folder / f"{case}.evalb")
    assert summarize(sentences) == summarize(sentences, all_lines=True)  # nothing left out


def test_settings_are_those_of_collins(shared_data: Path) -> None:
    settings = [
        line.split() for line in read_lines(shared_data / "oracle_evalb" / "COLLINS.prm")
        if line.strip() and not line.startswith("#")
    ]  # fmt: skip
    assert {
        value for key, value in (s for s in settings if s[0] == "DELETE_LABEL")
    } == DELETED_LABELS
    assert ["DELETE_LABEL_FOR_LENGTH", *DELETED_FOR_LENGTH] in settings
    assert ["CUTOFF_LEN", str(CUTOFF_LENGTH)] in settings
    assert [s[1:] for s in settings if s[0] == "EQ_LABEL"] == [["ADVP", "PRT"]]
    assert EQUAL_LABELS == {"PRT": "ADVP"}


def one(test: str, gold: str = GOLD):
    (sentence,) = score_brackets([test], [gold])
    return sentence


def test_a_row_by_hand() -> None:
    # S and both NPs of the gold are found; VP and PP are not; (X ...) overlaps VP
    row = one("(TOP (S (X (NP (DT the) (NN cat)) (VBD sat)) (IN on) (NP (NN mats)) (. .)))")
    assert (row.matched, row.gold, row.test, row.crossing) == (3, 5, 4, 1)
    assert (row.words, row.correct_tags, row.length, row.status) == (5, 5, 6, VALID)


def test_labels_and_words_that_do_not_count() -> None:
    assert one(GOLD.replace("(. .)", "(, .)")).matched == 5  # one deleted tag for another
    assert one(GOLD.replace("NP (DT", "NP-SBJ=1 (DT")).matched == 5  # label cut at - and =
    assert one(GOLD.replace("(DT the)", "(DT the) (-NONE- *T*-1)")).matched == 5
    assert one(GOLD.replace("(VP (", "(VP (NP (-NONE- *)) (")).test == 5  # an empty bracket
    assert one(GOLD.replace("TOP", "ROOT")).test == 6  # a root by another name is a bracket
    assert one("( (S (NP (NN a) (NN b))))", "( (S (NP (NN a) (NN b))))").gold == 3  # so is no name
    particle = "(S (NP (PRP I)) (VP (VBP give) (PRT (RP up))))"
    assert one(particle.replace("PRT", "ADVP"), particle).matched == 4
    tagged = one(GOLD.replace("NN cat", "NNP cat").replace("IN", "TO"))
    assert (tagged.correct_tags, tagged.matched) == (3, 5)


def test_trace_does_not_count_for_length() -> None:
    trees = [f"(S (NP (NN a)) (VP {'(VB b) ' * 39}(-NONE- *)))"]
    assert summarize(score_brackets(trees, trees), max_length=40)["sentences"] == 1
    trees = [f"(S (NP (NN a)) (VP {'(VB b) ' * 39}(. .)))"]
    assert summarize(score_brackets(trees, trees), max_length=40)["sentences"] == 0


def test_a_parser_without_tags_is_given_those_of_the_gold_tree() -> None:
    """Else its full stops would count as words, and every sentence with one as an error."""
    untagged = re.sub(r"\((\S+) ([^\s()]+)\)", r"(XX \2)", GOLD)
    assert untagged.count("XX") == 6
    row = one(untagged.replace("(PP (", "(X ("))
    assert (row.status, row.matched, row.gold, row.test) == (VALID, 4, 5, 5)
    summary = summarize([row])
    assert (summary["untagged"], summary["tagging_accuracy"]) == (1, None)
    tagged = summarize(score_brackets([GOLD.replace("(PP (", "(X (")], [GOLD]))
    assert (tagged["untagged"], tagged["tagging_accuracy"]) == (0, 100.0)
    same = {key: value for key, value in summary.items() if "tag" not in key}
    assert same == {key: value for key, value in tagged.items() if "tag" not in key}
    # one word tagged is a parser that tags; so is one of no words, or of too few
    assert one(untagged.replace("(XX cat)", "(NN cat)")).status == ERROR
    assert one(untagged.replace("(XX cat)", "")).status == ERROR
    assert one("(TOP (XX .))", "(TOP (. .))").status == SKIP
    traced = GOLD.replace("(DT the)", "(-NONE- *T*-1) (DT the)")
    assert one(untagged, traced).matched == 5


@pytest.mark.parametrize(
    ("test", "status", "problem"),
    [
        ("", SKIP, "no words"),
        ("   ", SKIP, "no words"),
        ("(TOP (. .))", SKIP, "no words"),
        ("()", SKIP, "no words"),
        ("((((", SKIP, "brackets never closed: 4"),
        ("<unk>", SKIP, "a word that is not in a (tag word) pair: <unk>"),
        (GOLD.replace("(NN cat)", ""), ERROR, "words, gold and hypothesis: 5 and 4"),
        (GOLD.replace("cat", "dog"), ERROR, "word 2 differs, gold and hypothesis: cat and dog"),
        (GOLD.replace("(NN cat)", "(. cat)"), ERROR, "words, gold and hypothesis: 5 and 4"),
        (GOLD[:-1], ERROR, "brackets never closed: 1"),
        (GOLD + ")", ERROR, "a closing bracket too many at character 82"),
        (")" + GOLD, ERROR, "a closing bracket too many at character 1"),
        (GOLD + " on", ERROR, "a word that is not in a (tag word) pair: on"),
        (GOLD.replace("(NN cat)", "(NN cat cat)"), ERROR, "words, gold and hypothesis: 5 and 4"),
    ],
)
def test_sentences_that_evalb_leaves_out(test: str, status: int, problem: str) -> None:
    sentence = one(test)
    assert (sentence.status, sentence.problem) == (status, problem)
    assert (sentence.matched, sentence.correct_tags, sentence.crossing) == (0, 0, 0)
    assert (sentence.gold, sentence.words) == (5, 5)
    assert evalb_report([sentence])[3] == (
        f"   1    6    {status}    0.00   0.00     0      0    0      0      0     0     0.00"
    )


def test_both_figures_when_some_lines_are_unusable() -> None:
    gold = [GOLD] * 4
    test = [GOLD, "", GOLD.replace("cat", "dog"), GOLD.replace("(PP (", "(X (")]
    sentences = score_brackets(test, gold)
    dropped, wrong = summarize(sentences), summarize(sentences, all_lines=True)
    assert (dropped["errors"], dropped["skips"], dropped["sentences"]) == (1, 1, 4)
    assert (dropped["recall"], dropped["precision"], dropped["score"]) == (90.0, 90.0, 90.0)
    assert (dropped["complete_match"], dropped["tagging_accuracy"]) == (50.0, 100.0)
    # 9 of 4 x 5 gold brackets are found; 15 are proposed, 5 of them in the wrong words
    assert (wrong["recall"], wrong["precision"]) == (45.0, 60.0)
    assert wrong["score"] == pytest.approx(2 * 45 * 60 / 105)
    assert (wrong["complete_match"], wrong["tagging_accuracy"]) == (25.0, 50.0)
    report = evalb_report(sentences)
    for line in (
        "Number of sentence        =      4",
        "Number of Error sentence  =      1",
        "Number of Skip  sentence  =      1",
        "Number of Valid sentence  =      2",
        "Bracketing FMeasure       =  90.00",
    ):
        assert report.count(line) == 2  # all, and up to 40 words


def test_nothing_usable_at_all() -> None:
    sentences = score_brackets(["", "x"], [GOLD, GOLD])
    for all_lines in (False, True):
        summary = summarize(sentences, all_lines=all_lines)
        assert (summary["score"], summary["recall"], summary["complete_match"]) == (0.0, 0.0, 0.0)
    assert len(evalb_report(sentences)) == 34 + 2


def test_over_200_brackets_with_both_figures() -> None:
    """The original's tables end at 200 brackets and words; a long chain and a wide tree count."""
    chain = "(S " + "(A (B b) " * 250 + ")" * 251
    wide = "(S " + " ".join(f"(NP (N{i} w{i}) (X x))" for i in range(300)) + ")"
    shorter = wide.replace("(NP (N0 w0) (X x))", "(N0 w0) (X x)")
    sentences = score_brackets([chain, shorter, GOLD], [chain, wide, wide])
    assert [s.matched for s in sentences] == [251, 300, 0]
    assert [s.gold for s in sentences] == [251, 301, 301]
    dropped, wrong = summarize(sentences), summarize(sentences, all_lines=True)
    assert dropped["recall"] == pytest.approx(100 * 551 / 552)
    assert dropped["precision"] == 100.0
    assert wrong["recall"] == pytest.approx(100 * 551 / 853)
    assert wrong["precision"] == pytest.approx(100 * 551 / 556)


def test_deep_and_wide_trees_neither_crash_nor_crawl() -> None:
    deep = "(A " * 100_000 + "(B b)" + ")" * 100_000
    wide = "(S " + "(NP (N n) (M m)) " * 20_000 + ")"
    comb = "(X (A a) " * 3_000 + ")" * 3_000  # right-branching: every span differs
    began = time.process_time()
    for tree, brackets in ((deep, 100_000), (wide, 20_001), (comb, 3_000)):
        assert one(tree, tree).matched == brackets
        assert one(tree[:-1], tree).status == ERROR
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "gold", ["", "  ", "(S (NN a)", "(S (NN a)))", "the cat sat", "(S a (NN b))"]
)
def test_gold_must_be_trees(gold: str) -> None:
    with pytest.raises(ValueError, match=r"wsj23\.gold, line 2 is not a bracketed tree"):
        score_brackets([GOLD, GOLD], [GOLD, gold], name="wsj23.gold")


def test_white_space_is_ascii_as_in_c() -> None:
    spaced = GOLD.replace(" ", " \t ").replace("(", " ( ").replace(" ( ", " (")
    assert one(spaced).matched == 5
    parse = read_parse("(NP (CD 20\u00a0000) (NN x\u2028y))")
    assert parse.words == ["20\u00a0000", "x\u2028y"]


# brute force: nested tuples, explicit loops over all pairs of brackets

LABELS = st.sampled_from(["S", "NP", "NP-SBJ", "VP=2", "ADVP", "PRT", "TOP", "-NONE-", "", "X-1=2"])
TAGS = st.sampled_from(["NN", "VB", "ADVP", "PRT", ".", ",", "-NONE-", "NN-X"])


@st.composite
def trees(draw, n_words: int):
    """A random tree over words w0 ... as nested (label, children) and (tag, word)."""
    nodes = [(draw(TAGS), f"w{i}") for i in range(n_words)]
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(start + 1, len(nodes)))
        nodes[start:end] = [(draw(LABELS), nodes[start:end])]
    return ("TOP", nodes)


def text_of(tree) -> str:
    label, below = tree
    inside = below if isinstance(below, str) else " ".join(map(text_of, below))
    return f"({label} {inside})"


def counted_by_hand(tree):
    """(words, tags, spans) after EVALB's deletions, by recursion."""
    words, tags, spans = [], [], []

    def walk(node) -> None:
        label, below = node
        if isinstance(below, str):
            if label not in {"TOP", "-NONE-", ",", ":", "``", "''", "."}:
                words.append(below)
                tags.append("ADVP" if label == "PRT" else label)
            return
        start = len(words)
        for child in below:
            walk(child)
        name = label.split("-")[0].split("=")[0]
        if len(words) > start and name != "TOP":
            spans.append([start, len(words), "ADVP" if name == "PRT" else name])

    walk(tree)
    return words, tags, spans


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_brute_force(data) -> None:
    n_words = data.draw(st.integers(1, 9))
    gold, test = data.draw(trees(n_words)), data.draw(trees(n_words))
    gold_words, gold_tags, gold_spans = counted_by_hand(gold)
    test_words, test_tags, test_spans = counted_by_hand(test)
    row = one(text_of(test), text_of(gold))
    assert (row.gold, row.test) == (len(gold_spans), len(test_spans))
    if gold_words != test_words or not test_words:
        assert row.status == (ERROR if test_words else SKIP)
        return
    left, matched, crossing = [list(span) for span in gold_spans], 0, 0
    for span in test_spans:
        if span in left:
            left.remove(span)
            matched += 1
        start, end, _ = span
        crossing += any(a < start < b < end or start < a < end < b for a, b, _ in gold_spans)
    tags = sum(g == t for g, t in zip(gold_tags, test_tags, strict=True))
    assert (row.status, row.matched, row.crossing) == (VALID, matched, crossing)
    assert (row.words, row.correct_tags) == (len(gold_words), tags)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_laws(data) -> None:
    n_words = data.draw(st.integers(1, 9))
    pairs = [(text_of(data.draw(trees(n_words))), text_of(data.draw(trees(n_words)))) for _ in "ab"]
    there = summarize(score_brackets([a for a, _ in pairs], [b for _, b in pairs]))
    back = summarize(score_brackets([b for _, b in pairs], [a for a, _ in pairs]))
    if not there["skips"] + back["skips"]:
        assert there["score"] == pytest.approx(back["score"])  # recall and precision change places
        assert there["recall"] == pytest.approx(back["precision"])
    same = summarize(score_brackets([a for a, _ in pairs], [a for a, _ in pairs]))
    if same["gold_brackets"]:
        assert (same["score"], same["no_crossing"], same["complete_match"]) == (100, 100, 100)


@given(st.text(st.sampled_from("() \tABn.-="), max_size=60))
@settings(max_examples=300)
def test_any_output_gives_a_row(output: str) -> None:
    row = one(output)
    assert row.status in (VALID, ERROR, SKIP)
    assert (row.gold, row.matched) == (5, 0) or row.status == VALID
