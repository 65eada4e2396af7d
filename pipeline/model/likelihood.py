"""Sections 3.4 and 5.4: the loss over the vocabulary, and perplexity.

The logits of N tokens over V pieces are by far the largest tensors of training (V = 37,000). They
are computed a few rows at a time, and the gradient of those rows at once with them, so that
memory does not grow with N x V.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from pipeline.model.layout import ROWS
from pipeline.model.linear import product

# N tokens, R rows of a piece, C rows of a chunk, D d_model, V vocabulary

PIECE_BYTES = 64 << 20  # of logits: small enough for memory, large enough for matrix products
CHUNK_BYTES = 4 << 20  # of probabilities on a CPU: they stay in its cache
MOST_ROWS = 1024
PART = 1 << 13  # rows of the weight whose gradient is computed at once


class _VocabularyLoss(torch.autograd.Function):
    """The gradient is known in the forward pass already: the loss is only ever scaled after it.

    d loss / d logits = softmax - (1 - eps) onehot - eps / V. The last term is the same for all
    pieces of the vocabulary, so its share of the sums is taken from sums over the vocabulary.
    """

    @staticmethod
    def forward(ctx, states_ND, weight_VD, targets_N, eps, with_gradient):
        tokens, vocabulary = len(states_ND), len(weight_VD)
        loss, nll = (states_ND.new_zeros((), dtype=_sum_dtype(states_ND)) for _ in range(2))
        weight = weight_VD.to(_product_dtype(states_ND))
        uniform = eps / vocabulary
        weights_D = weight_VD.sum(dim=0, dtype=loss.dtype)
        d_states = d_weight = None
        if with_gradient:
            d_states = torch.empty_like(states_ND)
            d_weight = states_ND.sum(dim=0, dtype=weight_VD.dtype).mul_(-uniform)
            d_weight = d_weight.expand_as(weight_VD).contiguous()
        most = min(MOST_ROWS, PIECE_BYTES // (vocabulary * weight.element_size()))
        rows = max(ROWS, most // ROWS * ROWS)
        for start in range(0, tokens, rows):
            real = min(rows, tokens - start)
            piece = slice(start, start + real)
            states_RD = _fill_up(states_ND[piece].to(weight.dtype))
            logits_RV = product(states_RD, weight)
            logp_R = _subtract_targets(logits_RV[:real], targets_N[piece], 1.0 - eps, loss.dtype)
            nll -= logp_R.at_target.sum()
            if eps:
                sums_R = states_ND[piece].to(loss.dtype) @ weights_D
                loss -= uniform * (sums_R - vocabulary * logp_R.normaliser).sum()
            if with_gradient:
                logits_RV[real:] = 0
                d_states[piece] = product(logits_RV, weight.T)[:real]
                for d_part, logits_part in zip(
                    d_weight.split(PART), logits_RV.split(PART, dim=1), strict=True
                ):
                    d_part += product(logits_part.T, states_RD.T)
        loss += (1.0 - eps) * nll
        if with_gradient:
            d_states -= uniform * weights_D
            ctx.save_for_backward(d_states, d_weight)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx, d_loss, _):
        d_states, d_weight = ctx.saved_tensors
        # in place: this graph is walked once, and the copies would be as large as the embedding
        return d_states.mul_(d_loss), d_weight.mul_(d_loss), None, None, None


class _LogProbabilities(NamedTuple):
    """Of R tokens: the log-probability of the target, and log(sum(exp(logits)))."""

    at_target: Tensor
    normaliser: Tensor


def _subtract_targets(
    logits_RV: Tensor, targets_R: Tensor, wanted: float, dtype: torch.dtype
) -> _LogProbabilities:
    """Turn logits, in place, into softmax - wanted * onehot(target), computed in `dtype`."""
    chunk = len(logits_RV)
    if logits_RV.device.type == "cpu":
        chunk = max(1, CHUNK_BYTES // (logits_RV.size(1) * dtype.itemsize))
    at_target, normaliser = [], []
    for logits_CV, targets_C in zip(
        logits_RV.split(chunk), targets_R[:, None].split(chunk), strict=True
    ):
        exact_CV = logits_CV.to(dtype)
        logit_C = exact_CV.gather(1, targets_C)
        p_CV = exact_CV.softmax(dim=1)
        # of the most likely piece, since p = exp(logit - normaliser) and that p can't underflow
        normaliser_C = exact_CV.amax(dim=1, keepdim=True) - p_CV.amax(dim=1, keepdim=True).log_()
        at_target.append(logit_C - normaliser_C)
        normaliser.append(normaliser_C)
        p_CV.scatter_add_(1, targets_C, torch.full_like(logit_C, -wanted))
        logits_CV.copy_(p_CV)
    return _LogProbabilities(torch.cat(at_target).squeeze(1), torch.cat(normaliser).squeeze(1))


def vocabulary_loss(
    states_ND: Tensor, weight_VD: Tensor, targets_N: Tensor, *, label_smoothing: float
) -> tuple[Tensor, Tensor]:
    """Section 5.4: cross entropy of softmax(states @ weight.T), summed over the tokens.

    Label smoothing of eps gives a target the probability 1 - eps and spreads eps evenly over all
    V pieces, the target among them (Szegedy et al. 2016, section 7). Returns the smoothed loss,
    through which gradients flow, and the negative log-likelihood without smoothing, in nats.
    Under autocast products run in its dtype; the softmax and all sums run in float32 at least.
    """
    needs = torch.is_grad_enabled() and (states_ND.requires_grad or weight_VD.requires_grad)
    return _VocabularyLoss.apply(states_ND, weight_VD, targets_N, label_smoothing, needs)


def perplexity(nll: float, tokens: int) -> float:
    """exp of the mean negative log-likelihood a token (eos counted); inf where that overflows."""
    mean = nll / tokens
    return math.exp(mean) if mean < 700 else math.inf


def _fill_up(states_RD: Tensor) -> Tensor:
    """With rows of zeros up to a multiple of ROWS (see `pipeline.model.layout`)."""
    missing = -len(states_RD) % ROWS
    return F.pad(states_RD, (0, 0, 0, missing)) if missing else states_RD


def _product_dtype(states: Tensor) -> torch.dtype:
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


def _sum_dtype(states: Tensor) -> torch.dtype:
    return torch.promote_types(states.dtype, torch.float32)


@torch.no_grad()
def sequence_nll(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> float:
    """Negative log-likelihood in nats, summed over the targets of all batches, dropout off.

    A batch is (src_BS, tgt_BT, targets_N): ids, right-padded; tgt_BT starts with bos; targets_N
    are the tokens that follow, eos included, in reading order. The model's mode is restored.
    """
    training = model.training
    model.eval()
    total = 0.0
    for src_BS, tgt_BT, targets_N in batches:
        states_ND = model(src_BS, tgt_BT)
        weight_VD = model.embedding.weight
        total += float(vocabulary_loss(states_ND, weight_VD, targets_N, label_smoothing=0.0)[1])
    model.train(training)
    return total
