"""Section 5.3: the learning rate."""


def learning_rate(step: int, *, d_model: int, warmup_steps: int, scale: float = 1.0) -> float:
    """Section 5.3, eq. (3), times `scale`; `step` is the update's number, from 1."""
    assert step >= 1
    return scale * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
