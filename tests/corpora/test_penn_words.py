"""Words of raw text: the Penn Treebank's conventions, and nothing that a tree cannot hold."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.corpora.penn_words import escape_brackets, penn_words
from pipeline.corpora.trees import Tree, leaves, parse_tree, to_line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It didn't bark at Mr. Smith's cat.", "It did n't bark at Mr. Smith 's cat ."),
        ('The "big" one (a dog) barked.', "The `` big '' one -LRB- a dog -RRB- barked ."),
        ("They paid $5,000.50 -- 10% of it.", "They paid $ 5,000.50 -- 10 % of it ."),
        ('She said, "I cannot go."', "She said , `` I can not go . ''"),
        ("At 10:30, the dogs' owner left...", "At 10:30 , the dogs ' owner left ..."),
        ("AT&T's page is http://a.org/b?c=1.", "AT&T 's page is http://a.org/b?c=1 ."),
        ("Really?!", "Really ? !"),
        ("Already tokenised , as it is .", "Already tokenised , as it is ."),
        ("  two\tspaces\r", "two spaces"),
        ("a\u00a0b c", "a\u00a0b c"),
        ("", ""),
        (" \t", ""),
    ],
)
def test_conventions(text, words):
    assert penn_words(text) == words.split(" ") if words else penn_words(text) == []


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_gives_words_that_a_tree_can_hold(text):
    words = penn_words(text)
    if words:
        tree = Tree("S", (Tree("XX", (word,)) for word in words))
        assert leaves(parse_tree(to_line(tree))) == words
    else:
        assert not text.strip(" \t\r\n")


@given(text=st.text(st.characters(exclude_characters='\t\r\n()"-', exclude_categories=["Cs"])))
@example(text="'0")
def test_no_character_is_lost_but_spaces(text):
    """A single quote that opens is written as a grave accent, as treebanks have it."""
    words = "".join(penn_words(text))
    assert words.replace("`", "'") == text.replace(" ", "").replace("`", "'")


@given(word=st.text(st.sampled_from("()ab-"), min_size=1))
def test_escaped_words_fit_into_trees(word):
    assert escape_brackets(word) == word.replace("(", "-LRB-").replace(")", "-RRB-")
