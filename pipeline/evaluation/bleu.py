"""The two BLEUs, always named, and chrF, as sacreBLEU metrics.

`tokenized_bleu` is the figure of the paper's tables: Moses tokens, German compounds split at
hyphens, multi-bleu's arithmetic. `sacrebleu` and `chrf` are the library's own, on plain text.
"""

import re
from functools import cache

import sacremoses
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEUScore

# Perl reads these as junk and drops them; Python's regular expressions would call them spaces.
PERL_JUNK = dict.fromkeys(range(0x1C, 0x20))
COMPOUND_HYPHEN = re.compile(rb"(\S)-(\S)")


def translation_metrics(languages: str) -> dict[str, Metric]:
    """The metrics of a language pair such as "en-de", by the names used everywhere."""
    return {
        "tokenized_bleu": tokenized_bleu_metric(target_language(languages)),
        # force: the warning about tokenised input is ours (checks.py), for every metric
        "sacrebleu": BLEU(tokenize="13a", force=True),
        "chrf": CHRF(),
    }


def target_language(languages: str) -> str:
    """ "de" of "en-de". Raises ValueError for anything that is not two language codes."""
    if not re.fullmatch(r"[a-z]{2,3}-[a-z]{2,3}", languages):
        raise ValueError(f"languages must be source-target, such as en-de: {languages!r}")
    return languages.partition("-")[2]


def tokenized_bleu_metric(language: str) -> BLEU:
    """BLEU as the paper's authors scored: Moses tokens, compounds split for German alone.

    Without smoothing sacreBLEU's arithmetic is that of multi-bleu.perl, to the last digit.
    """
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    metric.tokenizer = MosesTokens(language, split_compounds=language == "de")
    metric.tokenizer_signature = metric.tokenizer.signature()
    return metric


class MosesTokens:
    """A sacreBLEU tokeniser: a line of plain text to Moses tokens joined by one space.

    The default mode of tokenizer.perl: no aggressive hyphens (-a), special characters escaped.
    """

    def __init__(self, language: str, *, split_compounds: bool) -> None:
        self.language = language
        self.split_compounds = split_compounds
        self._moses = _moses_tokenizer(language)

    def __call__(self, line: str) -> str:
        tokens = self._moses.tokenize(line.translate(PERL_JUNK), return_str=True)
        return split_compounds(tokens) if self.split_compounds else tokens

    def signature(self) -> str:
        split = "+compounds" if self.split_compounds else ""
        return f"moses-{self.language}{split}-sacremoses-{sacremoses.__version__}"


@cache
def _moses_tokenizer(language: str) -> sacremoses.MosesTokenizer:
    return sacremoses.MosesTokenizer(lang=language)


def split_compounds(tokens: str) -> str:
    """`rich-text` to `rich ##AT##-##AT## text`, as the line of Perl used with multi-bleu does it.

    That line works on bytes and its matches do not overlap: `a-b-c` gives
    `a ##AT##-##AT## b-c`, but `a-ä-c` is split twice, since `ä` has two bytes to share. A
    no-break space is no space to it.
    """
    if "-" not in tokens:
        return tokens
    return COMPOUND_HYPHEN.sub(rb"\1 ##AT##-##AT## \2", tokens.encode("utf-8")).decode("utf-8")


def format_multi_bleu(score: BLEUScore) -> str:
    """The line that multi-bleu.perl prints for a score."""
    precisions = "/".join(f"{precision:.1f}" for precision in score.precisions)
    ratio = score.sys_len / score.ref_len if score.ref_len else 0.0
    return (
        f"BLEU = {score.score:.2f}, {precisions} (BP={score.bp:.3f}, ratio={ratio:.3f}, "
        f"hyp_len={score.sys_len}, ref_len={score.ref_len})"
    )
