"""The vertex on training samples and a few test samples at a time: corrections never need more than two test samples at once."""

import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from ..._errors import DomainError
from ..._progress import ProgressBar
from ...expansion.recursion import metric_flow
from ...kernels.kernel_map import largest_variance
from ...networks import MLP
from ...results import Metric

AT_ONCE = 4
"""Test samples in a block; two blocks meet at a time."""
_MOST_BYTES = 4 * 2**30

Block = tuple[Int[np.ndarray, " B"], Float[np.ndarray, "L D D"], Metric]


def check_memory(net: MLP, train: int, test: int, argument: str = "x_train") -> None:
    """`DomainError` where the vertex would not fit: it has the fourth power of the number of training samples."""
    samples = train + min(test, 2 * AT_ONCE)
    pairs = samples * (samples + 1) // 2
    needed = 8 * net.depth * (2 * samples**4 + pairs**2)
    if needed > _MOST_BYTES:
        got = f"{train} training samples at order 1, whose four-point vertex takes about {needed / 2**30:.3g} GB"
        want = f"at most {_MOST_BYTES / 2**30:.3g} GB, which grows as N^4: use order=0, or fewer training samples"
        raise DomainError(argument, got, want)


def metric_blocks(
    net: MLP, first: Float[np.ndarray, "D D"], train: int, progress: bool | None, elsewhere: bool = False
) -> Iterator[Block]:
    """The flow on all training samples and pairs of blocks of test samples, until every pair of test samples has met.

    Each item is the positions of its test samples among all test samples, the kernels of every layer, and the metric, from grids
    `elsewhere` if so told.
    """
    test = len(first) - train
    largest = largest_variance(net, first)
    together = meetings(test)
    with ProgressBar(len(together), progress, things="blocks of test samples") as bar:
        for done, block in enumerate(together, start=1):
            chosen_samples = np.concatenate([np.arange(train), train + block])
            K, metric = metric_flow(net, first[np.ix_(chosen_samples, chosen_samples)], largest, elsewhere=elsewhere)
            yield block, np.asarray(K), metric
            bar.advance_to(done)


def meetings(test: int) -> list[Int[np.ndarray, " _"]]:
    """Few test samples at a time, of one number, so that every two of them meet."""
    blocks = _blocks(test)
    if len(blocks) == 1:
        return blocks
    return [_of_one_size(np.union1d(*pair), test) for pair in itertools.combinations(blocks, 2)]


def _blocks(test: int) -> list[Int[np.ndarray, " _"]]:
    """Test samples some at a time; the last block takes samples of the one before, so that all blocks have one size."""
    if test <= 2 * AT_ONCE:
        return [np.arange(test)]
    starts = [min(start, test - AT_ONCE) for start in range(0, test, AT_ONCE)]
    return [np.arange(start, start + AT_ONCE) for start in starts]


def _of_one_size(meeting: Int[np.ndarray, " _"], test: int) -> Int[np.ndarray, " _"]:
    """A meeting of blocks that share samples, with some others: one size is one compiled program."""
    others = np.setdiff1d(np.arange(test), meeting)
    return np.union1d(meeting, others[: 2 * AT_ONCE - len(meeting)])
