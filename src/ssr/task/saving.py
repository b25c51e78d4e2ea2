"""State that is nothing but named tensors."""

from __future__ import annotations

from torch import Tensor


class NamedTensors:
    """Saves and restores the attributes named in `TENSORS`."""

    TENSORS: tuple[str, ...] = ()

    def state_dict(self) -> dict[str, Tensor]:
        return {name: getattr(self, name).clone() for name in self.TENSORS}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name in self.TENSORS:
            setattr(self, name, state[name].clone())
