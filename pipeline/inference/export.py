"""Models in the formats that people serve from: Hugging Face's Marian class, and CTranslate2.

Both know heads of width d_model / n_heads only, and biases on every projection. Narrower heads are
filled up with zeros, which changes no score once the queries make up for the wider scale; biases
are zero. Marian's class has the sines of a position before its cosines, where section 3.5 has them
in turns: it gets a model whose channels are reordered everywhere, which computes the same.
"""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from pipeline.config.schema import ModelConfig
from pipeline.encoded import BOS_ID, EOS_ID, PAD_ID, UNK_ID
from pipeline.files import atomic_folder, write_json
from pipeline.inference.beam import NEVER_IDS
from pipeline.inference.translator import vocabulary_of
from pipeline.model.attention import MultiHeadAttention
from pipeline.model.folder import ModelFolder
from pipeline.model.positions import sinusoids
from pipeline.model.transformer import Transformer, projections

MOST_POSITIONS = 1024  # rows of the exported table of positions


def export_marian(folder: ModelFolder, output: str | Path) -> None:
    """Write a folder for `transformers.MarianMTModel.from_pretrained` and `MarianTokenizer`.

    It appears whole or not at all. Raises ValueError for a parser, learned positions, and heads
    wider than d_model / n_heads.
    """
    pieces, weights = _pieces(folder), marian_weights(folder.load())
    source, target = folder.languages
    with atomic_folder(output) as made:
        save_file(weights, made / "model.safetensors", metadata={"format": "pt"})
        config = marian_config(folder.model, vocab_size=folder.vocab_size)
        write_json(made / "config.json", config)
        write_json(made / "generation_config.json", _marian_generation(folder))
        write_json(made / "vocab.json", {piece: number for number, piece in enumerate(pieces)})
        write_json(
            made / "tokenizer_config.json",
            {
                "tokenizer_class": "MarianTokenizer",
                "source_lang": source,
                "target_lang": target,
                "unk_token": pieces[UNK_ID],
                "eos_token": pieces[EOS_ID],
                "pad_token": pieces[PAD_ID],
                "model_max_length": MOST_POSITIONS,
                "separate_vocabs": False,
            },
        )
        for name in ("source.spm", "target.spm"):
            shutil.copyfile(folder.path / "subwords.model", made / name)


def export_ctranslate2(
    folder: ModelFolder, output: str | Path, *, quantization: str | None = None
) -> None:
    """Write a folder for `ctranslate2.Translator`; its tokens are the pieces of subwords.model.

    It appears whole or not at all. quantization: as CTranslate2 names it (int8, bfloat16, ...).
    Raises ValueError for a parser and heads wider than d_model / n_heads, ImportError without the
    package.
    """
    pieces = _pieces(folder)
    spec = ctranslate2_spec(folder.load(), pieces)
    try:
        spec.optimize(quantization=quantization)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"--quantization {quantization}: {error}") from None
    with atomic_folder(output) as made:
        spec.save(str(made))
        shutil.copyfile(folder.path / "subwords.model", made / "subwords.model")


def ctranslate2_spec(model: Transformer, pieces: Sequence[str]) -> Any:
    """A valid `ctranslate2.specs.TransformerSpec` of a model with this vocabulary."""
    import ctranslate2

    config = model.config
    spec = ctranslate2.specs.TransformerSpec.from_config(
        (config.n_layers, config.n_layers),
        config.n_heads,
        pre_norm=False,
        activation=ctranslate2.specs.Activation.RELU,
    )
    table = {
        "sinusoidal": lambda: sinusoids(MOST_POSITIONS, config.d_model),
        "learned": lambda: model.positions.table,
        "none": lambda: torch.zeros(MOST_POSITIONS, config.d_model),
    }[config.positions]()
    embedding = model.embedding.weight.numpy()
    for side, layers in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        embeddings = side.embeddings
        (embeddings[0] if isinstance(embeddings, list) else embeddings).weight = embedding
        side.scale_embeddings = True
        side.position_encodings.encodings = table.numpy()
        for layer_spec, layer in zip(side.layer, layers, strict=True):
            _ctranslate2_attention(layer_spec.self_attention, layer.attention)
            _norm(layer_spec.self_attention.layer_norm, layer.attention_residual)
            if hasattr(layer, "memory_attention"):
                _ctranslate2_attention(layer_spec.attention, layer.memory_attention)
                _norm(layer_spec.attention.layer_norm, layer.memory_attention_residual)
            for linear_spec, linear in (
                (layer_spec.ffn.linear_0, layer.feed_forward.inner),
                (layer_spec.ffn.linear_1, layer.feed_forward.out),
            ):
                linear_spec.weight, linear_spec.bias = linear.weight.numpy(), linear.bias.numpy()
            _norm(layer_spec.ffn.layer_norm, layer.feed_forward_residual)
    spec.decoder.projection.weight = embedding
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token, spec.config.eos_token = pieces[BOS_ID], pieces[EOS_ID]
    spec.config.unk_token, spec.config.decoder_start_token = pieces[UNK_ID], pieces[BOS_ID]
    spec.config.add_source_eos = True
    spec.validate()
    return spec


def marian_weights(model: Transformer) -> dict[str, Tensor]:
    """The weights by the names of `transformers.MarianMTModel`, contiguous."""
    if model.config.positions != "sinusoidal":
        raise ValueError(
            "Hugging Face's Marian class has sinusoidal positions only; export to ctranslate2 "
            f"instead: model.positions {model.config.positions}"
        )
    turns = torch.arange(model.config.d_model).view(-1, 2).T.flatten()  # 0, 2, ..., 1, 3, ...
    table = model.embedding.weight
    weights = {
        "model.shared.weight": table[:, turns],
        "final_logits_bias": torch.zeros(1, len(table)),
    }
    for side, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, layer in enumerate(layers):
            weights |= _marian_layer(layer, f"model.{side}.layers.{number}", turns)
    return {name: tensor.contiguous() for name, tensor in weights.items()}


def filled_projections(attention: MultiHeadAttention, *, d_model: int) -> list[Tensor]:
    """W^Q, W^K, W^V and W^O with heads of width d_model / n_heads.

    Raises ValueError where d_k or d_v is wider than that, or n_heads doesn't divide d_model.
    """
    heads = attention.n_heads
    width, rest = divmod(d_model, heads)
    parts = projections(attention)
    if rest or max(attention.q_width, attention.v_width) > d_model:
        raise ValueError(
            f"the format needs heads of at most d_model / n_heads = {d_model / heads:g} numbers: "
            f"d_k {attention.q_width // heads}, d_v {attention.v_width // heads}"
        )
    *inputs, out = [part.clone() for part in parts]
    inputs[0] *= math.sqrt(width / (attention.q_width // heads))
    inputs = [_fill(part, heads, width) for part in inputs]
    return [*inputs, _fill(out.T, heads, width).T]


def _fill(weight: Tensor, heads: int, width: int) -> Tensor:
    """[heads * narrow, D] to [heads * width, D], zeros at the end of each head."""
    split = weight.unflatten(0, (heads, -1))
    filled = weight.new_zeros(heads, width, weight.size(1))
    filled[:, : split.size(1)] = split
    return filled.flatten(0, 1)


def _pieces(folder: ModelFolder) -> list[str]:
    if folder.kind != "translation":
        raise ValueError(
            f"only translation models are exported: {folder.path} is for {folder.kind}"
        )
    return vocabulary_of(folder).pieces


def _marian_layer(layer: Any, prefix: str, turns: Tensor) -> dict[str, Tensor]:
    """The weights of one layer; `turns` reorders every channel of the model's width."""
    named: dict[str, Tensor] = {}
    attentions = {"self_attn": (layer.attention, layer.attention_residual)}
    if hasattr(layer, "memory_attention"):
        attentions["encoder_attn"] = (layer.memory_attention, layer.memory_attention_residual)
    norms = {"final_layer_norm": layer.feed_forward_residual.norm}
    for name, (attention, residual) in attentions.items():
        *inputs, out = filled_projections(attention, d_model=len(turns))
        for kind, weight in zip("qkv", inputs, strict=True):
            named[f"{name}.{kind}_proj.weight"] = weight[:, turns]
            named[f"{name}.{kind}_proj.bias"] = weight.new_zeros(len(weight))
        named[f"{name}.out_proj.weight"] = out[turns]
        named[f"{name}.out_proj.bias"] = out.new_zeros(len(out))
        norms[f"{name}_layer_norm"] = residual.norm
    for name, norm in norms.items():
        named[f"{name}.weight"], named[f"{name}.bias"] = norm.weight[turns], norm.bias[turns]
    inner, out = layer.feed_forward.inner, layer.feed_forward.out
    named["fc1.weight"], named["fc1.bias"] = inner.weight[:, turns], inner.bias
    named["fc2.weight"], named["fc2.bias"] = out.weight[turns], out.bias[turns]
    return {f"{prefix}.{name}": tensor for name, tensor in named.items()}


def marian_config(config: ModelConfig, *, vocab_size: int) -> dict[str, Any]:
    """Keys of `transformers.MarianConfig`."""
    sides = {
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in (
            ("layers", config.n_layers),
            ("ffn_dim", config.d_ff),
            ("attention_heads", config.n_heads),
        )
    }
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": vocab_size,
        "decoder_vocab_size": vocab_size,
        "d_model": config.d_model,
        **sides,
        "activation_function": "relu",
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "normalize_before": False,
        "max_position_embeddings": MOST_POSITIONS,
        "pad_token_id": PAD_ID,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "decoder_start_token_id": BOS_ID,
        "forced_eos_token_id": EOS_ID,
        "is_encoder_decoder": True,
        "torch_dtype": "float32",
    }


def _marian_generation(folder: ModelFolder) -> dict[str, Any]:
    return {
        "num_beams": folder.decoding.beam_size,
        "length_penalty": 0.0,  # its penalty is another formula than section 6.1's
        "max_length": MOST_POSITIONS,
        "suppress_tokens": list(NEVER_IDS),
        "pad_token_id": PAD_ID,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "decoder_start_token_id": BOS_ID,
        "forced_eos_token_id": EOS_ID,
    }


def _ctranslate2_attention(spec: Any, attention: MultiHeadAttention) -> None:
    q, k, v, out = (
        part.numpy() for part in filled_projections(attention, d_model=attention.out.weight.size(0))
    )
    stacked = [[q], [k, v], [out]] if hasattr(attention, "kv") else [[q, k, v], [out]]
    for linear, parts in zip(spec.linear, stacked, strict=True):
        linear.weight = torch.cat([torch.from_numpy(part) for part in parts]).numpy()
        linear.bias = torch.zeros(len(linear.weight)).numpy()


def _norm(spec: Any, residual: Any) -> None:
    spec.gamma, spec.beta = residual.norm.weight.numpy(), residual.norm.bias.numpy()
