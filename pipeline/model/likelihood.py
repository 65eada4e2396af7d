"""Sections 3.4 and 5.4: the loss over the vocabulary, and perplexity.

The logits of N tokens over V pieces are by far the largest tensors of training (V = 37,000). They
are computed a few rows at a time, and the gradient of those rows at once with them, so that
memory does not grow with N x V.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from pipeline.model.layout import ROWS
from pipeline.model.linear import product

# N tokens, R rows of a piece, D d_model, V vocabulary

LOGITS_OF_A_PIECE = 1 << 24  # R x V: small enough for memory, large enough for matrix products
MOST_ROWS = 1024


class _VocabularyLoss(torch.autograd.Function):
    """The gradient is known in the forward pass already: the loss is only ever scaled after it."""

    @staticmethod
    def forward(ctx, states_ND, weight_VD, targets_N, label_smoothing, with_gradient):
        tokens, vocabulary = len(states_ND), len(weight_VD)
        loss, nll = (states_ND.new_zeros((), dtype=_sum_dtype(states_ND)) for _ in range(2))
        weight = weight_VD.to(_product_dtype(states_ND))
        d_states = torch.empty_like(states_ND) if with_gradient else None
        d_weight = torch.zeros_like(weight_VD) if with_gradient else None
        rows = max(ROWS, min(MOST_ROWS, LOGITS_OF_A_PIECE // vocabulary) // ROWS * ROWS)
        for start in range(0, tokens, rows):
            real = min(rows, tokens - start)
            piece = slice(start, start + real)
            states_RD = _fill_up(states_ND[piece].to(weight.dtype))
            logp_RV = product(states_RD, weight).log_softmax(1, dtype=loss.dtype)
            targets_R1 = targets_N[piece, None]
            at_target_R1 = logp_RV[:real].gather(1, targets_R1)
            nll -= at_target_R1.sum()
            if label_smoothing:
                loss += label_smoothing * at_target_R1.sum()
                loss -= label_smoothing / vocabulary * logp_RV[:real].sum()
            if with_gradient:
                # d loss / d logits = softmax - (1 - eps) onehot - eps / V
                d_logits_RV = logp_RV.exp_()
                if label_smoothing:
                    d_logits_RV.sub_(label_smoothing / vocabulary)
                wanted_R1 = torch.full_like(at_target_R1, label_smoothing - 1.0)
                d_logits_RV[:real].scatter_add_(1, targets_R1, wanted_R1)
                d_logits_RV[real:] = 0
                d_logits_RV = d_logits_RV.to(weight.dtype)
                d_states[piece] = product(d_logits_RV, weight.T)[:real]
                d_weight += product(d_logits_RV.T, states_RD.T)
        loss += nll
        if with_gradient:
            ctx.save_for_backward(d_states, d_weight)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    @once_differentiable
    def backward(ctx, d_loss, _):
        d_states, d_weight = ctx.saved_tensors
        # in place: this graph is walked once, and the copies would be as large as the embedding
        return d_states.mul_(d_loss), d_weight.mul_(d_loss), None, None, None


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
