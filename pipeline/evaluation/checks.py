"""Is this input what a score needs? Errors for what cannot be scored, named warnings for the rest.

A warning starts with its name and a colon. The rules are simple counts, stated with each function;
they look at hypotheses and references alike, since both get handed over in the wrong form.
"""

import re
from collections import Counter
from collections.abc import Sequence

from sacremoses.corpus import NonbreakingPrefixes

# Traces that tools leave behind and that no plain text holds: subword marks, the aggressive
# hyphen of Moses, the compound split, the unknown word of sentencepiece.
TOOL_MARKS = ("\u2581", "@@ ", "@-@", "##AT##", "\u2047")
# Pieces of vocabularies that are no text: begin, end, padding, unknown and the like, as fairseq,
# sentencepiece, BERT and GPT write them.
SPECIAL_PIECES = re.compile(
    r"</?(?:s|unk|pad|bos|eos|sos|eot|blank|mask|cls|sep|extra_id_\d+)>"
    r"|\[(?:UNK|PAD|CLS|SEP|MASK|BOS|EOS)\]|<\|[a-z_]+\|>",
    re.IGNORECASE,
)
# Moses's escapes; a few stand in real text, left over from the web.
ESCAPES = ("&apos;", "&quot;", "&amp;", "&lt;", "&gt;", "&#91;", "&#93;", "&#124;")
ESCAPES_SHARE = 0.005
LONE_PUNCTUATION = re.compile(r"[^\W_] [.,](?= |$)")
LONE_PUNCTUATION_SHARE = 0.1

# Frequent words of one language that are rare in the two others
FUNCTION_WORDS = {
    "en": {"the", "of", "and", "to", "is", "that", "for", "it", "with", "are", "this", "have"},
    "de": {"der", "die", "das", "und", "ist", "nicht", "ein", "eine", "von", "mit", "dem", "den"},
    "fr": {"le", "la", "les", "et", "est", "une", "du", "que", "dans", "pour", "pas", "sur"},
}
MOSES_LANGUAGES = frozenset(NonbreakingPrefixes().available_langs.values())
OWN_TOKENISERS = {"ja": "ja-mecab", "ko": "ko-mecab", "zh": "zh"}  # sacreBLEU's, in place of 13a
OTHER_LANGUAGE_RATIO = 2  # so many times as many words of another language as of the named one
OTHER_LANGUAGE_WORDS = 10  # and at least so many in all
WORD = re.compile(r"[^\W\d_]+")


def check_counts(
    hypotheses: Sequence[str], references: Sequence[str], *, names: tuple[str, str]
) -> None:
    """Raise ValueError for no lines at all or unequal numbers of lines, naming both files."""
    counts = f"{names[0]} has {len(hypotheses)} lines, {names[1]} has {len(references)} lines"
    if not hypotheses or not references:
        raise ValueError(f"nothing to score; both files need one sentence a line: {counts}")
    if len(hypotheses) != len(references):
        raise ValueError(
            "hypotheses and references must have one line for each sentence, in one order "
            f"(a line ends at \\n alone): {counts}"
        )


def translation_warnings(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str,
    names: tuple[str, str] = ("hypotheses", "references"),
) -> list[str]:
    """Every named warning about a translation and its references, in a fixed order."""
    warnings = [
        *_no_rules(language),
        *_blank("blank_hypotheses", hypotheses),
        *_blank("blank_references", references),
    ]
    if list(hypotheses) == list(references):
        warnings.append(f"identical: {names[0]} equals {names[1]} in all {len(references)} lines")
    for lines, name in zip((hypotheses, references), names, strict=True):
        warnings += [*_tokenized(lines, name), *_other_language(lines, name, language)]
    return warnings


def _no_rules(language: str) -> list[str]:
    """A target language that Moses or 13a is not made for: scores are no one else's."""
    warnings = []
    if language not in MOSES_LANGUAGES:
        warnings.append(
            "unknown_language: Moses has rules for "
            f"{', '.join(sorted(MOSES_LANGUAGES))}; tokenized_bleu takes those of English, as "
            f"tokenizer.perl does, for: {language}"
        )
    if language in OWN_TOKENISERS:
        warnings.append(
            "own_tokeniser: sacreBLEU takes another tokeniser than 13a for this language, so that "
            f"sacrebleu here is not comparable: {language}, {OWN_TOKENISERS[language]}"
        )
    return warnings


def _blank(name: str, lines: Sequence[str]) -> list[str]:
    """Lines of nothing but white space."""
    blank = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    if not blank:
        return []
    return [f"{name}: {len(blank)} of {len(lines)} lines, the first is line {blank[0]}"]


def _tokenized(lines: Sequence[str], name: str) -> list[str]:
    """A tool's mark or a vocabulary's special piece in any line, escapes in one line of 200, or a
    lone comma in a tenth of all."""
    marked = Counter(mark for line in lines for mark in TOOL_MARKS if mark in line)
    marked += Counter(
        piece for line in lines for piece in dict.fromkeys(SPECIAL_PIECES.findall(line))
    )
    escaped = Counter(mark for line in lines for mark in ESCAPES if mark in line)
    if max(escaped.values(), default=0) > ESCAPES_SHARE * len(lines):
        marked += escaped
    lone = sum(LONE_PUNCTUATION.search(line) is not None for line in lines)
    found = [f"{count} lines with {mark.strip()!r}" for mark, count in marked.most_common(3)]
    if lone > LONE_PUNCTUATION_SHARE * len(lines):
        found.append(f"{lone} lines with a space before a full stop or comma")
    if not found:
        return []
    return [
        f"tokenized_input: {name} does not look like plain text, which every score here expects "
        f"({', '.join(found)} of {len(lines)}); detokenise it first"
    ]


def _other_language(lines: Sequence[str], name: str, language: str) -> list[str]:
    """Twice as many function words of another language as of the target language."""
    if language not in FUNCTION_WORDS:
        return []
    words = Counter(word for line in lines for word in WORD.findall(line.lower()))
    counts = {code: sum(words[word] for word in listed) for code, listed in FUNCTION_WORDS.items()}
    likely = max(counts, key=lambda code: (counts[code], code == language))
    enough = max(OTHER_LANGUAGE_WORDS, OTHER_LANGUAGE_RATIO * counts[language])
    if likely == language or counts[likely] < enough:
        return []
    return [
        f"other_language: {name} should be {language} but has more function words of another "
        f"language ({', '.join(f'{code} {count}' for code, count in counts.items())}): {likely}"
    ]
