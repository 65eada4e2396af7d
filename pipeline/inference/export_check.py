"""Does an exported model translate as ours does? The package that reads it is asked."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch

from pipeline.encoded import EOS_ID
from pipeline.files import read_json
from pipeline.inference.translator import Translator
from pipeline.model.folder import ModelFolder

Format = Literal["transformers", "ctranslate2"]
Search = Callable[[list[int], int, int], list[int]]  # source, beam, longest: ids, none of them eos


def differences(
    folder: ModelFolder, exported: Path, format_: Format, lines: Sequence[str]
) -> tuple[int, list[tuple[str, str, str]]]:
    """How many lines were compared, and those that differ: line, our text, the exported model's.

    Both search without a length penalty, since its formulas differ. Lines whose translation goes
    beyond half of the limit are left out: at the limit the searches end by different rules, and
    hypotheses that reach it compete with ours. Raises ImportError without the package.
    """
    translator = Translator(folder, device="cpu")
    decoding = folder.decoding.model_copy(update={"length_penalty": 0.0})
    ours = [best for best, *_ in translator.run(lines, decoding=decoding, max_tokens=4096)]
    search = {"transformers": _transformers, "ctranslate2": _ctranslate2}[format_](exported)
    compared, differing = 0, []
    for line, source, output in zip(lines, translator.encode(lines), ours, strict=True):
        longest = len(source) + 1 + decoding.max_extra_tokens
        if 2 * output.n_tokens > longest:
            continue
        compared += 1
        theirs = translator.vocabulary.decode(search(source, decoding.beam_size, longest))
        if theirs != output.text:
            differing.append((line, output.text, theirs))
    return compared, differing


def _transformers(exported: Path) -> Search:
    from transformers import MarianMTModel
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    model = MarianMTModel.from_pretrained(exported).eval()

    def search(source: list[int], beam_size: int, longest: int) -> list[int]:
        found = model.generate(
            input_ids=torch.tensor([[*source, EOS_ID]]),
            num_beams=beam_size,
            length_penalty=0.0,
            max_length=longest + 1,
        )
        return [number for number in found[0, 1:].tolist() if number != EOS_ID]

    return search


def _ctranslate2(exported: Path) -> Search:
    import ctranslate2

    translator = ctranslate2.Translator(str(exported), device="cpu")
    pieces = read_json(exported / "shared_vocabulary.json")
    ids = {piece: number for number, piece in enumerate(pieces)}

    def search(source: list[int], beam_size: int, longest: int) -> list[int]:
        (found,) = translator.translate_batch(
            [[pieces[number] for number in source]],
            beam_size=beam_size,
            length_penalty=0.0,
            min_decoding_length=0,
            max_decoding_length=longest,
            disable_unk=True,
        )
        return [ids[piece] for piece in found.hypotheses[0]]

    return search
