"""Section 3 once more, in plain PyTorch: one sentence pair at a time, loops over heads, no packing,
no fused products, no custom gradients. Slow and obvious; what the model must equal."""

import math

import torch
from torch import Tensor


def attention(x_TD: Tensor, memory_SD: Tensor, w: dict[str, Tensor], name: str, config, causal):
    h, dk, dv = config.n_heads, config.d_k, config.d_v
    if f"{name}.qkv.weight" in w:
        wq, wk, wv = w[f"{name}.qkv.weight"].split([h * dk, h * dk, h * dv])
    else:
        wq = w[f"{name}.q.weight"]
        wk, wv = w[f"{name}.kv.weight"].split([h * dk, h * dv])
    heads = []
    for i in range(h):
        q = x_TD @ wq[i * dk : (i + 1) * dk].T
        k = memory_SD @ wk[i * dk : (i + 1) * dk].T
        v = memory_SD @ wv[i * dv : (i + 1) * dv].T
        scores = q @ k.T / math.sqrt(dk)
        if causal:
            hidden = torch.arange(len(k))[None] > torch.arange(len(q))[:, None]
            scores = scores.masked_fill(hidden, -math.inf)
        e = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
        heads.append(e / e.sum(dim=1, keepdim=True) @ v)
    return torch.cat(heads, dim=1) @ w[f"{name}.out.weight"].T


def norm(x: Tensor, w: dict[str, Tensor], name: str) -> Tensor:
    mean = x.mean(dim=1, keepdim=True)
    variance = ((x - mean) ** 2).mean(dim=1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def feed_forward(x: Tensor, w: dict[str, Tensor], name: str) -> Tensor:
    inner = x @ w[f"{name}.inner.weight"].T + w[f"{name}.inner.bias"]
    return inner.clamp(min=0) @ w[f"{name}.out.weight"].T + w[f"{name}.out.bias"]


def embed(ids: list[int], w: dict[str, Tensor], config) -> Tensor:
    table, d = w["embedding.weight"], config.d_model
    rows = [table[i] * math.sqrt(d) for i in ids]
    if config.positions == "sinusoidal":
        for position, row in enumerate(rows):
            pe = torch.zeros(d, dtype=table.dtype)
            for i in range(0, d, 2):
                pe[i] = math.sin(position / 10000 ** (i / d))
                pe[i + 1] = math.cos(position / 10000 ** (i / d))
            rows[position] = row + pe.float()  # the model's table is float32
    elif config.positions == "learned":
        rows = [row + w["positions.table"][p] for p, row in enumerate(rows)]
    return torch.stack(rows)


def states(src: list[int], tgt: list[int], w: dict[str, Tensor], config) -> Tensor:
    """[len(tgt), d_model]: decoder output after each token of tgt (which starts with bos)."""
    x = embed(src, w, config)
    for n in range(config.n_layers):
        layer = f"encoder.{n}"
        own = attention(x, x, w, f"{layer}.attention", config, causal=False)
        x = norm(x + own, w, f"{layer}.attention_residual.norm")
        inner = feed_forward(x, w, f"{layer}.feed_forward")
        x = norm(x + inner, w, f"{layer}.feed_forward_residual.norm")
    memory, x = x, embed(tgt, w, config)
    for n in range(config.n_layers):
        layer = f"decoder.{n}"
        own = attention(x, x, w, f"{layer}.attention", config, causal=config.causal)
        x = norm(x + own, w, f"{layer}.attention_residual.norm")
        seen = attention(x, memory, w, f"{layer}.memory_attention", config, causal=False)
        x = norm(x + seen, w, f"{layer}.memory_attention_residual.norm")
        inner = feed_forward(x, w, f"{layer}.feed_forward")
        x = norm(x + inner, w, f"{layer}.feed_forward_residual.norm")
    return x


def loss(pairs, w: dict[str, Tensor], config, label_smoothing: float) -> tuple[Tensor, Tensor]:
    """Smoothed loss and plain nll, summed over the targets of (src, tgt) pairs that end in eos."""
    total = nll = torch.zeros((), dtype=torch.float64)
    for src, tgt in pairs:
        logits = states(src, [1, *tgt[:-1]], w, config) @ w["embedding.weight"].T
        p = logits - torch.log(torch.exp(logits).sum(dim=1, keepdim=True))
        vocabulary = logits.size(1)
        for row, target in zip(p, tgt, strict=True):
            wanted = torch.full((vocabulary,), label_smoothing / vocabulary, dtype=row.dtype)
            wanted[target] += 1 - label_smoothing
            total = total - (wanted * row).sum()
            nll = nll - row[target]
    return total, nll


def adam(p: Tensor, g: Tensor, m: Tensor, v: Tensor, *, step: int, lr, betas, eps):
    """Kingma and Ba (2015), algorithm 1; updates p, m and v in place."""
    m.mul_(betas[0]).add_((1 - betas[0]) * g)
    v.mul_(betas[1]).add_((1 - betas[1]) * g * g)
    m_hat, v_hat = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
    p.sub_(lr * m_hat / (torch.sqrt(v_hat) + eps))
