"""With `tags: keep` a wrong tag costs a tag, never the whole tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpora.linearise import delinearise, linearise, mend_tags
from pipeline.corpora.punctuation import TAG_OF, TAGS, agreeing_tag
from pipeline.corpora.trees import UNTAGGED, leaves, parse_tree, to_line
from pipeline.evaluation.brackets import DELETED_LABELS, VALID, score_brackets

GOLD = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (, ,) (ADVP (RB loudly)) (. .))"
WORDS = ["the", "dog", "barks", ",", "loudly", "."]
TAGS_OF_WORDS = ["DT", "NN", "VBZ", "RB", UNTAGGED, *sorted(TAGS)]


def test_our_punctuation_is_what_evalb_leaves_out():
    assert DELETED_LABELS - {"TOP", "-NONE-"} == TAGS


@given(st.lists(st.sampled_from(TAGS_OF_WORDS), min_size=6, max_size=6))
def test_whatever_the_tags_the_tree_is_scored(tags):
    symbols = linearise(parse_tree(GOLD), tags="keep")
    written = iter(tags)
    symbols = [s if s[0] in "()" else next(written) for s in symbols]
    tree, changed = mend_tags(delinearise(symbols, WORDS, tags="keep")[0])
    assert leaves(tree) == WORDS
    (sentence,) = score_brackets([to_line(tree)], [GOLD])
    assert sentence.status == VALID, sentence.problem
    assert sentence.matched == sentence.gold == sentence.test
    wrong = sum(agreeing_tag(tag, word) != tag for tag, word in zip(tags, WORDS, strict=True))
    assert changed == wrong


@pytest.mark.parametrize(
    ("tag", "word", "agreed"),
    [
        (".", "dog", UNTAGGED),
        ("NN", ".", "."),
        ("NN", "--", ":"),
        (":", ".", ":"),  # one mark for another: EVALB leaves both out
        ("''", "'", "''"),
        ("POS", "'", "POS"),
        ("HYPH", "-", "HYPH"),
        (":", "-", ":"),
        ("NN", "dog", "NN"),
        ("-LRB-", "-LRB-", "-LRB-"),
    ],
)
def test_only_a_contradiction_is_mended(tag, word, agreed):
    assert agreeing_tag(tag, word) == agreed


@pytest.mark.parametrize("mark", TAG_OF)
def test_every_mark_has_a_tag_of_punctuation(mark):
    assert agreeing_tag("NN", mark) in TAGS
