"""Section 5.4: the model and its loss as one module, which is what an engine trains."""

import torch
from torch import Tensor, nn

from pipeline.model.likelihood import vocabulary_loss
from pipeline.model.transformer import Transformer


class TrainedModel(nn.Module):
    """A call gives the loss of a micro-batch; sums over micro-batches are kept beside it.

    precision: of the matrix products, fp32 or bf16.
    loss_sum, nll_sum: float64, smoothed loss and plain negative log-likelihood in nats.
    """

    def __init__(self, model: Transformer, *, label_smoothing: float, precision: str) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.precision = precision
        self.loss_sum = self.nll_sum = 0.0

    def forward(self, src_BS: Tensor, tgt_BT: Tensor, targets_N: Tensor, weight: float) -> Tensor:
        """`weight` times the loss summed over the targets; 0 for a micro-batch that only keeps
        this rank in step with the others."""
        with torch.autocast(
            src_BS.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16"
        ):
            states_ND = self.model(src_BS, tgt_BT)
            loss, nll = vocabulary_loss(
                states_ND,
                self.model.embedding.weight,
                targets_N,
                label_smoothing=self.label_smoothing,
            )
        if weight:
            self.loss_sum = self.loss_sum + loss.detach()
            self.nll_sum = self.nll_sum + nll.detach()
        return loss * weight

    def take_sums(self) -> tuple[float, float]:
        """(loss_sum, nll_sum) since the last call, which starts them anew."""
        sums = float(self.loss_sum), float(self.nll_sum)
        self.loss_sum = self.nll_sum = 0.0
        return sums
