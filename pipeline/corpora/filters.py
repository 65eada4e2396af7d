"""The rules that drop training pairs. They act on pairs: no rule can shift one side."""

from collections.abc import Callable

from pipeline.config.corpus import Filters

Rule = Callable[[str, str, int, int], bool]  # (source, target, their words) -> drop the pair


def pair_rules(filters: Filters) -> list[tuple[str, Rule]]:
    """Named rules in the order they are asked; a pair is counted under the first that drops it.

    A word is what stands between blanks. Rules that look beyond one pair (duplicates, overlap
    with the test sets) are not here.
    """
    rules: list[tuple[str, Rule]] = []
    if filters.max_bytes is not None:
        limit_bytes = filters.max_bytes
        rules.append(("max_bytes", lambda s, t, n, m: max(_bytes(s), _bytes(t)) > limit_bytes))
    if filters.max_words is not None:
        limit = filters.max_words
        rules.append(("max_words", lambda s, t, n, m: n > limit or m > limit))
    if filters.max_ratio is not None:
        ratio = filters.max_ratio
        rules.append(("max_ratio", lambda s, t, n, m: max(n, m) > ratio * min(n, m)))
    if filters.drop_identical:
        rules.append(("identical", lambda s, t, n, m: s == t))
    return rules


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))
