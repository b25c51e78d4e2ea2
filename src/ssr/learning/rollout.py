"""One iteration's experience: T steps of n worlds, every frame and every camera image stored once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from ssr.learning.devices import fetched
from ssr.task.transition import Observation, Transition

Seen = tuple[Tensor, Tensor]
"""Images (f, height, width) that some worlds saw, and for each step and world which one: (T, m)."""


class FrameHistory:
    """Windows over a growing sequence of frames, stored without repeating them.

    A window begins with the episode's first frame repeated, as the environment's own windows do. The window
    of step t spans `length` frames `stride` steps apart, the newest last.
    """

    def __init__(
        self, *, steps: int, num_envs: int, size: int, length: int, stride: int = 1, device: str = "cpu"
    ) -> None:
        self.length, self.stride = length, stride
        self.past = (length - 1) * stride  #: frames of the past carried into a rollout
        self.frames = torch.zeros(self.past + steps, num_envs, size, device=device)
        self.start = torch.zeros(steps, num_envs, dtype=torch.long, device=device)
        self._steps = torch.arange(steps, device=device)
        self._worlds = torch.arange(num_envs, device=device)
        self._offsets = torch.arange(length, device=device) * stride

    def begin(self, windows: Tensor) -> None:
        """Start a rollout at stride 1 from the windows (n, length, size) of its first step."""
        self.frames[: self.length] = windows.transpose(0, 1)
        self.start[0] = 0

    def put(self, t: int, frame: Tensor, restarted: Tensor) -> None:
        """Add the frames (n, size) of step t; `restarted` worlds (n,) begin an episode with it."""
        self.frames[self.past + t] = frame
        before = self.start[t - 1] if t else torch.zeros_like(self.start[0])
        self.start[t] = torch.where(restarted, self.past + t, before)

    def carry(self) -> None:
        """Make the last frames the past of the next rollout, repeating first frames where needed."""
        kept = torch.arange(len(self.start), len(self.frames), device=self.start.device)
        index = torch.maximum(kept.unsqueeze(1), self.start[-1])
        self.frames[: self.past] = self.frames[index, self._worlds]

    def windows(self, worlds: Tensor) -> Tensor:
        """(T, m, length, size) windows of the chosen worlds (m,)."""
        index = self._steps.view(-1, 1, 1) + self._offsets
        index = torch.maximum(index, self.start[:, worlds].unsqueeze(-1))
        return self.frames[index, worlds.view(1, -1, 1)]

    def window(self, t: int) -> Tensor:
        """(n, length, size) windows of step t."""
        index = torch.maximum(t + self._offsets, self.start[t].unsqueeze(-1))
        return self.frames[index, self._worlds.unsqueeze(1)]


class Picked:
    """Rows of some worlds at some steps, one after the other, in memory for all of them.

    How many there are is asked once a rollout: a device would be waited for.
    """

    def __init__(self, *, steps: int, num_envs: int, device: str = "cpu") -> None:
        self._worlds = torch.arange(num_envs, device=device)
        self._nowhere = steps * num_envs  #: the slot of rows that were not picked
        self._owners = torch.zeros(self._nowhere + 1, dtype=torch.long, device=device)
        self._steps = torch.zeros(self._nowhere + 1, dtype=torch.long, device=device)
        self._rows = torch.empty(0, device=device)
        self._end = torch.zeros((), dtype=torch.long, device=device)
        self.begin()

    def begin(self) -> None:
        self._end.zero_()
        self._size: int | None = 0

    def put(self, t: int, rows: Tensor, picked: Tensor) -> Tensor:
        """Add the rows (n, ...) of step t of the worlds `picked` (n,); where they came to be, (n,)."""
        if not len(self._rows):
            self._rows = rows.new_empty(self._nowhere + 1, *rows.shape[1:])
        places = self._end + picked.cumsum(0) - 1
        slots = torch.where(picked, places, self._nowhere)
        self._rows[slots], self._owners[slots] = rows, self._worlds
        self._steps[slots] = t
        self._end += picked.sum()
        self._size = None
        return places

    @staticmethod
    def count(*several: Picked) -> None:
        """Ask the device once how many rows each of them has."""
        ends = fetched(torch.stack([one._end for one in several])).tolist()
        for one, size in zip(several, ends, strict=True):
            one._size = size

    def __len__(self) -> int:
        if self._size is None:
            Picked.count(self)
        assert self._size is not None
        return self._size

    @property
    def rows(self) -> Tensor:
        return self._rows[: len(self)]

    @property
    def owners(self) -> Tensor:
        """(k,) the world of each row."""
        return self._owners[: len(self)]

    @property
    def steps(self) -> Tensor:
        """(k,) the step of each row."""
        return self._steps[: len(self)]


class CameraFrames:
    """Distinct camera images and, for every step and world, which of them was seen."""

    def __init__(self, *, steps: int, num_envs: int, device: str = "cpu") -> None:
        self.index = torch.zeros(steps, num_envs, dtype=torch.long, device=device)
        self.frames = Picked(steps=steps, num_envs=num_envs, device=device)

    def begin(self) -> None:
        self.frames.begin()

    def put(self, t: int, depth: Tensor, fresh: Tensor) -> None:
        """Store the images of the worlds where `fresh`; the others still see their previous one."""
        places = self.frames.put(t, depth, fresh)
        self.index[t] = torch.where(fresh, places, self.index[t - 1] if t else 0)

    @property
    def images(self) -> Tensor:
        """(F, height, width) metres, each distinct frame once."""
        return self.frames.rows

    def of(self, worlds: Tensor) -> Seen:
        """What these worlds see."""
        (seen,) = self.shared_out((worlds,))
        return seen

    def shared_out(self, split: Sequence[Tensor]) -> Iterator[Seen]:
        """Likewise of each of several sets of worlds, none of which has a world twice: how many images each
        has is asked in one go."""
        at, images = self.index.device, self.images
        owned = torch.full((self.index.shape[1],), len(split), device=at)  #: by which of the sets
        for k, worlds in enumerate(split):
            owned[worlds] = k
        share = owned[self.frames.owners]
        own = share == torch.arange(len(split), device=at).unsqueeze(1)  # (sets, images)
        order = torch.argsort(share, stable=True)
        begin = 0
        for k, size in enumerate(fetched(own.sum(1)).tolist()):
            index = (own[k].cumsum(0) - 1)[self.index[:, split[k]]]
            yield images[order[begin : begin + size]], index
            begin += size


class Rollout:
    """Everything the updates need, (T, n, ...). Nothing stored is a view of the environment's buffers."""

    def __init__(
        self,
        *,
        steps: int,
        num_envs: int,
        history: int,
        sizes: Mapping[str, int],
        streams: tuple[str, ...],
        mirrored_observation: bool = False,
        images: bool = True,
        device: str = "cpu",
    ) -> None:
        """`sizes` gives the length of proprioception, actor, privileged and action vectors; images: of the
        depth camera are kept."""
        self.steps, self.num_envs, self.images = steps, num_envs, images

        def store(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(steps, num_envs, *shape, dtype=dtype, device=device)

        self.history = FrameHistory(
            steps=steps, num_envs=num_envs, size=sizes["proprioception"], length=history, device=device
        )
        self.camera = CameraFrames(steps=steps, num_envs=num_envs, device=device)
        self.restarted = store(dtype=torch.bool)  #: the world began an episode with this observation
        self.actor = store(sizes["actor"])  #: o^a
        self.actor_mirrored = store(sizes["actor"]) if mirrored_observation else None
        self.privileged = store(sizes["privileged"])  #: s_t
        self.action = store(sizes["action"])
        self.mean = store(sizes["action"])  #: of the policy that acted
        self.log_prob = store()
        self.guide = store(sizes["action"])  #: actions towards reference motion; not a number where none are
        self.next_proprioception = store(sizes["proprioception"])  #: clean o^p of the state reached
        self.rewards = {name: store() for name in streams}
        self.terrain_type = store(dtype=torch.long)  #: index into TERRAIN_TYPES
        self.among = store(dtype=torch.bool)  #: obstacles lie all over H^b
        self.ended = store(dtype=torch.bool)
        self.truncated = store(dtype=torch.bool)
        self.valid = store(dtype=torch.bool)
        self._last = Picked(steps=steps, num_envs=num_envs, device=device)

    def begin(self) -> None:
        self.camera.begin()
        self._last.begin()

    def put_observation(self, t: int, observation: Observation, restarted: Tensor) -> None:
        if t == 0:
            self.history.begin(observation.history)
        else:
            self.history.put(t, observation.history[:, -1], restarted)
        if self.images:
            fresh = torch.ones_like(restarted) if t == 0 else observation.depth_fresh | restarted
            self.camera.put(t, observation.depth, fresh)
        self.restarted[t] = restarted
        self.privileged[t] = observation.privileged
        self.guide[t] = observation.guide if observation.guide.numel() else torch.nan

    def put_transition(self, t: int, transition: Transition) -> None:
        """A step that went non-finite is stored as zeros, cut there and masked by `valid`."""
        valid = transition.valid
        self.valid[t] = valid
        self.terrain_type[t] = transition.terrain_type
        self.among[t] = transition.among
        self.ended[t] = transition.ended | ~valid
        self.truncated[t] = transition.truncated & ~transition.terminated & valid
        column = valid.unsqueeze(-1)
        self.next_proprioception[t] = torch.where(column, transition.proprioception, 0.0)
        self._last.put(t, transition.privileged, self.truncated[t])

    def put_reward(self, t: int, stream: str, reward: Tensor) -> None:
        self.rewards[stream][t] = torch.where(self.valid[t], reward, 0.0)

    def cut_states(self) -> tuple[Tensor, Tensor, Tensor] | None:
        """Step (k,), world (k,) and state reached (k, S) of every episode cut by time."""
        last = self._last
        Picked.count(last, self.camera.frames)
        return (last.steps, last.owners, last.rows) if len(last) else None

    def nbytes(self) -> int:
        """Bytes held, for the memory figures."""
        tensors = [v for v in vars(self).values() if isinstance(v, Tensor)]
        tensors += [*self.rewards.values(), self.history.frames, self.camera.index, self.camera.images]
        return sum(t.nbytes for t in tensors)
