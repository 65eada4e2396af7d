"""Words as English treebanks have them, for parsing text that nobody tokenised.

After the conventions of the Penn Treebank: punctuation and clitics are words of their own, round
brackets are -LRB- and -RRB-, double quotes are `` and ''. A full stop is split off only at the
end of the sentence, so abbreviations keep theirs. Treebanks differ in more than that (CRAFT and
GUM split at hyphens, the Penn Treebank does not): for the best trees, give words as the parser's
own treebank has them.
"""

import re

from pipeline.corpora.trees import split_words

BRACKETS = {"(": "-LRB-", ")": "-RRB-"}

_RULES = [
    (re.compile(r'(^|[ (\[{<])"'), r"\1 `` "),
    (re.compile(r'"'), " '' "),
    (re.compile(r"(^|[ (\[{<])'(?=\w)(?!(?:s|m|d|ll|re|ve|em|tis|twas)\b)", re.I), r"\1 ` "),
    (re.compile(r"\.\.\.+"), r" \g<0> "),
    (re.compile(r"--+|—|–"), r" \g<0> "),
    (re.compile(r"[;!$%()\[\]{}<>]|\?(?!\w)|[@#&](?!\w)|(?<!\w)[@#&]"), r" \g<0> "),
    (re.compile(r",(?!\d)|(?<!\d),|:(?!\d|//)|(?<!\d):(?!//)"), r" \g<0> "),
    (re.compile(r"(?<![.\s])\.(?=\s*(?:''|'|`|-RRB-|[)\]}>]|\s)*$)"), " . "),
    (re.compile(r"(?<=\w)(n't)\b", re.I), r" \1"),
    (re.compile(r"(?<=\S)('(?:s|m|d|ll|re|ve))(?=\s|$)", re.I), r" \1"),
    (re.compile(r"(?<=\w)'(?=\s|$)"), " '"),
    (re.compile(r"\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b", re.I), r" \1\3\5 \2\4\6 "),
]


def penn_words(text: str) -> list[str]:
    """The words of one sentence; [] where there is none."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return [BRACKETS.get(word, word) for word in split_words(text)]


def escape_brackets(word: str) -> str:
    """A word that can stand in a tree: its round brackets written -LRB- and -RRB-."""
    return re.sub(r"[()]", lambda match: BRACKETS[match[0]], word)
