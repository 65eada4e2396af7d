"""Which words are punctuation, and the tags that say so: EVALB leaves them out by their tags.

A word of the output with the wrong kind of tag would leave it with other words than the gold tree,
and the whole tree out of the score.
"""

from pipeline.corpora.trees import UNTAGGED

TAG_OF = {
    ",": ",",
    **dict.fromkeys((".", "?", "!"), "."),
    **dict.fromkeys((":", ";", "--", "...", "…", "—", "–"), ":"),
    **dict.fromkeys(("``", "“"), "``"),
    **dict.fromkeys(("''", "”", '"'), "''"),
}  # punctuation in every treebank; "-", "'" and the like are words in some
TAGS = frozenset(TAG_OF.values())
MENDED = "punctuation_tag"  # what a mended tag counts as, among a tree's repairs


def agreeing_tag(tag: str, word: str) -> str:
    """The tag, or where it and the word contradict each other the one that does not.

    A punctuation mark has one of `TAGS`, else its usual one; a word with a letter or a digit has
    none of them, else XX.
    """
    if word in TAG_OF:
        return tag if tag in TAGS else TAG_OF[word]
    return UNTAGGED if tag in TAGS and any(map(str.isalnum, word)) else tag
