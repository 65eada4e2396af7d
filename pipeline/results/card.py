"""The corpus card as a page and a figure, from the facts of `pipeline.corpora.card`."""

from typing import Any

from pipeline.results.figure_style import Drawn, new_figure, variant

SHOWN_CHARACTERS = 300
MARKUP = frozenset("\\`*_{}[]<>|#&~$")
PICTURES = {chr(code): chr(0x2400 + code) for code in range(32)} | {
    "\x7f": "\u2421",
    **dict.fromkeys("\x85\u2028\u2029", "\u2424"),
}


def markdown(facts: dict[str, Any], *, title: str) -> str:
    """The card in Markdown."""
    sides = " and ".join(facts["sides"])
    return (
        "\n\n".join(
            section
            for section in (
                f"# {plain(title)}\n\nCorpus `{facts['corpus']}`, sides {sides}.",
                _pairs(facts),
                _lengths(facts),
                _vocabulary(facts),
                _overlap(facts),
                _baselines(facts),
                _warnings(facts),
                _files(facts),
                _samples(facts),
            )
            if section
        )
        + "\n"
    )


def length_figure(facts: dict[str, Any]) -> Drawn:
    """Histogram of the training sequences' lengths in tokens, one line a side."""
    figure, axes = new_figure(height_inches=2.4)
    axis = axes[0, 0]
    for index, (side, lengths) in enumerate(facts["lengths"].items()):
        axis.plot(lengths["counts"], label=side, **variant(index))
    axis.set(xlabel="tokens, end of sequence counted (up to 200)", ylabel="training sequences")
    axis.set_ylim(bottom=0)
    axis.legend()
    return Drawn("lengths", "Lengths", "Lengths of the training text in tokens.", figure)


def _pairs(facts: dict[str, Any]) -> str:
    rows = []
    for split, counts in facts["splits"].items():
        encoded = facts["encoded"][split]
        dropped = ", ".join(f"{rule} {n:,}" for rule, n in counts.get("dropped", {}).items())
        rows.append(
            [split, f"{counts['read']:,}", dropped or "none by rule", f"{counts['kept']:,}",
             f"{encoded['src_tokens']:,}", f"{encoded['tgt_tokens']:,}"]
        )  # fmt: skip
    header = ["split", "read", "dropped", "kept", *(f"{side} tokens" for side in facts["sides"])]
    parts = [
        [split, plain(name), f"{count:,}"]
        for split, counts in facts["splits"].items()
        for name, count in counts["parts"].items()
    ]
    returns = [
        f"{split}.{side} {count:,}"
        for split, counts in facts["splits"].items()
        for side, count in counts.get("carriage_returns", {}).items()
        if count
    ]
    ends = [f"Lines that end in a carriage return: {', '.join(returns)}."] * bool(returns)
    return "\n\n".join(
        ["## Pairs", _table(header, rows), _table(["split", "part", "pairs"], parts), *ends]
    )


def _lengths(facts: dict[str, Any]) -> str:
    rows = [
        [side, f"{facts['words'][side]:,}", facts["tokens_per_word"][side], lengths["mean"],
         lengths["median"], lengths["p90"], lengths["p99"], lengths["longest"]]
        for side, lengths in facts["lengths"].items()
    ]  # fmt: skip
    header = ["side", "words", "tokens per word", "mean", "median", "90 %", "99 %", "longest"]
    return "\n\n".join(
        ["## Lengths of the training text, in tokens", _table(header, rows), "![](lengths.svg)"]
    )


def _vocabulary(facts: dict[str, Any]) -> str:
    use, settings = facts["vocabulary_use"], facts["subwords"]
    first, second = facts["sides"]
    unknown = {
        split: encoded["src_unknown"] + encoded["tgt_unknown"]
        for split, encoded in facts["encoded"].items()
    }
    return (
        f"## Vocabulary\n\n{settings['model_type']}, {use['vocab_size']:,} ids"
        + (f", {settings['n_symbols']} of them tree symbols" if settings["n_symbols"] else "")
        + f"; learnt from {facts['learnt_from']['drawn']:,} of {facts['learnt_from']['lines']:,} "
        f"lines ({facts['learnt_from']['too_long']:,} too long, "
        f"{facts['learnt_from']['reserved']:,} with U+2585 left out). "
        f"Byte fallback: {'yes' if settings['byte_fallback'] else 'no'}. Unknown tokens: "
        + ", ".join(f"{split} {count:,}" for split, count in unknown.items())
        + ".\n\n"
        + _table(
            [f"used in {first}", f"used in {second}", "in both", "in neither", "under 100 times"],
            [[f"{use[key]:,}" for key in (first, second, "both", "neither", "under_100_times")]],
        )
    )


def _overlap(facts: dict[str, Any]) -> str:
    header = ["split", *(f"{side} sentences found" for side in facts["sides"]),
              "training pairs with one of them", "training pairs equal"]  # fmt: skip
    rows = [
        [split, f"{o['sources_in_train']:,} of {o['sources']:,}",
         f"{o['targets_in_train']:,} of {o['targets']:,}",
         f"{o['train_pairs_with_its_source']:,} and {o['train_pairs_with_its_target']:,}",
         f"{o['train_pairs_in_it']:,}"]
        for split, o in facts["overlap"].items()
    ]  # fmt: skip
    return "\n\n".join(["## Sentences of dev and test in the training text", _table(header, rows)])


def _baselines(facts: dict[str, Any]) -> str:
    rows = [
        [name, *(f"{value['score']:.2f}" for value in scores.values())]
        for name, scores in facts.get("baselines", {}).items()
    ]
    if not rows:
        return ""
    metrics = next(iter(facts["baselines"].values()))
    signatures = "; ".join(f"{name}: `{value['signature']}`" for name, value in metrics.items())
    return "\n\n".join(
        ["## What test scores without translating", _table(["system", *metrics], rows), signatures]
    )


def _warnings(facts: dict[str, Any]) -> str:
    return "\n".join(["## Warnings\n", *(f"- {plain(line)}" for line in facts["warnings"])]) * bool(
        facts["warnings"]
    )


def _files(facts: dict[str, Any]) -> str:
    raw = [[plain(file["path"]), ", ".join(file["splits"]), f"`{file['sha256']}`"]
           for file in facts["sources"]]  # fmt: skip
    text = [[name, f"`{digest}`"] for name, digest in facts["text_sha256"].items()]
    return "\n\n".join(
        ["## Files", _table(["raw file", "splits", "sha256"], raw),
         _table(["prepared text", "sha256"], text)]
    )  # fmt: skip


def _samples(facts: dict[str, Any]) -> str:
    rows = [[pair["line"], *map(_shown, pair["text"])] for pair in facts["samples"]]
    return "\n\n".join(["## Sample pairs", _table(["line", *facts["sides"]], rows)])


def _shown(text: str) -> str:
    """A line of the corpus as a table cell, cut off where it is long."""
    cut = text[:SHOWN_CHARACTERS] + " ..." * (len(text) > SHOWN_CHARACTERS)
    return plain(cut)


def plain(text: str) -> str:
    """Markdown in which one sees the text itself, whatever markup or entities stand in it.

    Entities do it in every Markdown; of backslashes each takes its own characters. Ends of lines
    and other control characters are shown as their pictures, since a cell holds one line.
    """
    return "".join(
        f"&#{ord(character)};" if character in MARKUP else PICTURES.get(character, character)
        for character in text
    )


def _table(header: list[Any], rows: list[list[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
