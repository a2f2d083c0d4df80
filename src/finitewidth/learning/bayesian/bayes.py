"""`bayes`: what networks that agree with the data say of other inputs."""

import dataclasses
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array
from ..._entry import entry, warn
from ..._errors import ArgumentError, DomainError, ShapeError, ValidityWarning
from ..._validation import as_count, as_floats, as_number
from ...kernels.kernel_map import kernel as last_kernel, kernel_recursion
from ...networks import MLP, LayeredNetwork, as_layered
from ...results import Posterior, Representation
from ..digits import TOLERANCE, Figures, difference, lost, may_be_lost, rounded_anew
from ..positive_solve import KNOWN_TO
from ..samples import as_samples, reading
from . import correction
from .blocks import check_memory, metric_blocks
from .data import as_data, as_targets
from .gaussian_posterior import GaussianPosterior, gaussian_posterior
from .pulled_back import pulled_back

_MOST_KEPT = 2**28  # bytes of kernels of hidden layers that are kept at order 0, where they learn nothing
_ROUNDING = 1e-9
_UNTRUSTED = 1.0  # size of the correction at which it is no correction any more


@entry(remedy="call `tune`, or use fewer layers")
def bayes(
    net: LayeredNetwork | None = None,
    x_train: Any = None,
    y_train: Any = None,
    x_test: Any = None,
    noise: float = 0.0,
    order: int | None = None,
    *,
    kernel: Any = None,
    progress: bool | None = None,
) -> Posterior[Array]:
    r"""The posterior of a network's outputs on `x_test` given targets on `x_train`, to order $1/n$.

    At `order=0`, infinite width, outputs are independent Gaussian processes, PDLT (6.64)-(6.67), and hidden layers learn nothing,
    PDLT (6.71). At `order=1` mean, covariance and evidence are corrected, outputs are wired together, PDLT (6.89), and every hidden
    layer changes, PDLT (6.99)-(6.104) (by $O(1/n)$ each, not only the last: footnote 35 of the book's chapter 6 is mistaken). The
    correction is the strictly expanded one; the action form of PDLT (6.88), `learning.action_form`, has large leftovers of order
    $1/n^2$.

    **Arguments:**

    - `net`: the network, whose parameters are drawn from their initialisation: the prior.
    - `x_train`, `y_train`: inputs (N_train, n_0) and targets (N_train, n_L); for one output also (N_train,). Without noise, samples
      given twice with one target count once, and with two targets are refused.
    - `x_test`: inputs (N_test, n_0). Without any the evidence and the representation of training inputs are what is left.
    - `noise`: the variance of independent noise on every target.
    - `order`: 0 or 1 in $1/n$; by default 1 for an `MLP`, and 0 for a `ResidualMLP` or a `kernel`, which know no other. Order 0
      serves thousands of samples. Order 1 needs the four-point vertex, whose memory grows with the fourth power of N_train: some
      tens. Test samples may be many, at a time that grows with their square.
    - `kernel`: instead of `net`, `x_train` and `x_test` the kernel of any Gaussian process on training, then test samples, shape
      (N_train + N_test, N_train + N_test); its outputs are those of `y_train`, and the order is 0.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.

    **Returns:** a [`Posterior`][finitewidth.results.posterior.Posterior]. Warns where the correction is not small: the
    expansion needs $n \gg n_LN_{train}$.

    Examples:
        >>> fw.bayes(kernel=[[1.0, 0.5], [0.5, 1.0]], y_train=[2.0], order=0).mean.tolist()
        [[1.0]]
    """
    noise = as_number(noise, "noise", low=0.0)
    order = int(isinstance(net, MLP)) if order is None else as_count(order, "order", at_least=0)
    if order > 1:
        raise DomainError("order", order, "0 or 1")
    if kernel is not None:
        return _of_kernel(kernel, net, x_train, y_train, x_test, noise, order, progress)
    if net is None:
        raise ArgumentError("net", None, "a network, or `kernel`")
    net = reading(as_layered(net), x_train, "x_train")
    x, y = as_data(net, x_train, y_train, noise)
    test = np.zeros((0, x.shape[1])) if x_test is None else as_samples(net, x_test, "x_test")
    together = np.concatenate([x, test])
    if order == 0:
        return _at_infinite_width(net, together, y, noise, progress)
    if not isinstance(net, MLP):
        raise ArgumentError("net", f"a {type(net).__name__} at order 1", "an MLP, or order=0")
    check_memory(net, len(x), len(test))
    return _to_first_order(net, together, y, noise, progress)


def log_evidence_of_data(net: MLP, x: Any, y: Any, noise: float, order: int) -> float:
    """The evidence alone, for arguments named `x` and `y`: no sample is left for test."""
    if order > 1:
        raise DomainError("order", order, "0 or 1")
    inputs, targets = as_data(net, x, y, noise, "x", "y")
    if order == 0:
        K = np.asarray(last_kernel(net, inputs))
        return gaussian_posterior(K, targets, noise, "x").log_evidence
    check_memory(net, len(inputs), 0, "x")
    return float(_to_first_order(net, inputs, targets, noise, False, "x").log_evidence)


def _at_infinite_width(
    net: LayeredNetwork,
    x: Float[np.ndarray, "D n_0"],
    y: Float[np.ndarray, "A n_L"],
    noise: float,
    progress: bool | None,
) -> Posterior[Array]:
    representation: Representation[Array] | None = None
    if not isinstance(net, MLP) or 8 * net.depth * len(x) ** 2 > _MOST_KEPT:
        K = np.asarray(last_kernel(net, x))
    else:
        kernels = np.asarray(kernel_recursion(net, net.first_kernel(x)))
        K, hidden = kernels[-1], kernels[1:]
        representation = Representation(hidden, hidden, np.broadcast_to(0.0, hidden.shape))
    return _order_zero(gaussian_posterior(K, y, noise, "x_train", progress), noise, net, representation)


def _to_first_order(
    net: MLP,
    x: Float[np.ndarray, "D n_0"],
    y: Float[np.ndarray, "A n_L"],
    noise: float,
    progress: bool | None,
    name: str = "x_train",
) -> Posterior[Array]:
    found, posterior = _corrected(net, x, y, noise, progress, name)
    error = _lost_digits(net, x, y, noise, found, posterior, name)
    return _said(dataclasses.replace(posterior, error=error), found, net, x[: len(y)])


def _lost_digits(
    net: MLP,
    x: Float[np.ndarray, "D n_0"],
    y: Float[np.ndarray, "A n_L"],
    noise: float,
    found: GaussianPosterior,
    posterior: Posterior[Array],
    name: str,
) -> float:
    """The error of corrections, relative to them."""
    if found.solved.jitter:
        return 1.0  # solutions have a digit; corrections solve three times and more
    if not may_be_lost(found.solved.condition, KNOWN_TO):
        return 0.0
    again, order = rounded_anew(x, len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        try:
            other = _corrected(net, again, y[order], noise, False, name, elsewhere=True)
        except DomainError:  # positive or not, as rounding has it
            return 1.0
    every = np.concatenate([order, np.arange(len(y), len(x))])
    return difference(_corrections(found, posterior, every), _corrections(*other, np.arange(len(x))))


def _corrections(found: GaussianPosterior, posterior: Posterior[Array], order: Int[np.ndarray, " D"]) -> Figures:
    """What is printed of order 1/n, with what it is added to."""
    assert posterior.representation is not None
    hidden, change = (np.asarray(each) for each in (posterior.representation.prior, posterior.representation.change))
    prior = float(np.linalg.norm(found.prior))
    return {
        "mean": (posterior.mean - found.mean, float(np.linalg.norm(found.mean))),
        "own": (posterior.sample_covariance - found.covariance, prior),
        "wiring": (np.asarray(posterior.wiring), prior),
        "evidence": (posterior.log_evidence - found.log_evidence, abs(found.log_evidence)),
        "change": (change[:, order][:, :, order], float(np.linalg.norm(hidden))),
    }


def _corrected(
    net: MLP,
    x: Float[np.ndarray, "D n_0"],
    y: Float[np.ndarray, "A n_L"],
    noise: float,
    progress: bool | None,
    name: str,
    elsewhere: bool = False,
) -> tuple[GaussianPosterior, Posterior[Array]]:
    A, tests, outputs = len(y), len(x) - len(y), y.shape[1]
    first = np.asarray(net.first_kernel(x))
    kernels = np.asarray(kernel_recursion(net, first))
    found = gaussian_posterior(kernels[-1], y, noise, name)
    S, inverse = correction.source(found)
    pull = pulled_back(net, kernels[:, :A, :A], S)
    P, n = found.projection(), np.asarray(net.widths[:-1], dtype=float)
    mean, own = np.zeros((tests, outputs)), np.zeros((tests, tests))
    shared = np.zeros((tests, tests, outputs, outputs))
    prior, change = np.zeros_like(kernels[1:]), np.zeros_like(kernels[1:])
    log_ratio = size = 0.0
    for block, K, metric in metric_blocks(net, first, A, progress, elsewhere):
        here = np.concatenate([np.arange(A), A + block])
        v, g1 = np.asarray(metric.V) / n[:, None, None, None, None], np.asarray(metric.G1) / n[:, None, None]
        project = P[np.ix_(block, here)]
        mean[block] = correction.mean_correction(project, g1[-1], v[-1], found.u, S, inverse)
        both = np.ix_(block, block)
        own[both] = correction.covariance_correction(project, g1[-1], v[-1], S, inverse)
        shared[both] = correction.wiring(project, v[-1], found.u)
        layers = np.ix_(np.arange(net.depth - 1), here, here)
        prior[layers] = K[1:] + g1[1:]
        change[layers] = np.einsum("lmnab,lab->lmn", v[1:, :, :, :A, :A], pull[1:]) / 2
        own_g1, own_v = g1[-1, :A, :A], v[-1, :A, :A, :A, :A]
        log_ratio = correction.evidence_correction(
            K[-1, :A, :A] + (noise + found.solved.jitter) * np.eye(A), own_g1, own_v, y
        )
        size = correction.size_of_correction(own_g1, own_v, S, inverse, outputs)
    return found, Posterior(
        found.mean + mean,
        found.covariance + own,
        shared,
        log_evidence=np.asarray(found.log_evidence + log_ratio),
        representation=Representation(prior, prior + change, change),
        net=net,
        noise=noise,
        order=1,
        correction=size,
    )


def _said(
    posterior: Posterior[Array], found: GaussianPosterior, net: MLP, train: Float[np.ndarray, "A n_0"]
) -> Posterior[Array]:
    """The posterior, having said where its correction cannot be trusted, and for which reason: lost digits first, which make the
    other figures, too. Prior variances are what rounding is relative to."""
    negative = int((posterior.variance < -_ROUNDING * found.prior[:, None]).sum())
    size = posterior.correction
    if posterior.error > TOLERANCE:
        own = np.asarray(last_kernel(net, train)) + posterior.noise * np.eye(len(train))
        warn(
            f"{lost(posterior.error, found.solved.condition, own)} Give `noise` > 0, leave out inputs that say the same, or use order=0. "
            "Wider networks do not help."
        )
    elif size > _UNTRUSTED or negative:
        outputs = posterior.mean.shape[1]
        also = f", and makes {negative} variances negative" if negative else ""
        warn(
            f"The 1/n correction of the posterior is not small: its terms in the log-evidence add up to {size:.2g}{also}. The expansion "
            f"needs widths far above n_L N_train = {outputs * len(train)}: use wider networks, fewer training samples or `noise`, or "
            "measure with `learning.exact_posterior`."
        )
    return posterior


def _of_kernel(
    kernel: Any, net: Any, x_train: Any, y_train: Any, x_test: Any, noise: float, order: int, progress: bool | None
) -> Posterior[Array]:
    for name, value in {"net": net, "x_train": x_train, "x_test": x_test}.items():
        if value is not None:
            raise ArgumentError(
                name, "an argument beside `kernel`", "nothing: the kernel stands for network and inputs"
            )
    if order:
        want = "order=0: a kernel says nothing of the fluctuations at finite width, which a network has"
        raise ArgumentError("order", f"{order} with `kernel`", want)
    K = np.asarray(as_floats(kernel, "kernel"))
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ShapeError("kernel", f"shape {K.shape}", "a square matrix, training samples first")
    if not np.allclose(K, K.T, rtol=1e-10, atol=1e-10 * float(np.abs(K).max(initial=0.0))):
        raise DomainError("kernel", "a matrix that is not symmetric", "a symmetric matrix")
    if y_train is None:
        raise ArgumentError("y_train", "nothing", "targets of the first samples of `kernel`")
    targets = np.asarray(as_floats(y_train, "y_train"))
    if targets.ndim not in (1, 2) or not 0 < len(targets) <= len(K):
        raise ShapeError(
            "y_train", f"shape {targets.shape}", f"(N_train, n_L) with at most the kernel's {len(K)} samples"
        )
    y = as_targets(targets, "y_train", len(targets), None)
    return _order_zero(gaussian_posterior(K, y, noise, "kernel", progress), noise, None)


def _order_zero(
    found: GaussianPosterior,
    noise: float,
    net: LayeredNetwork | None,
    representation: Representation[Array] | None = None,
) -> Posterior[Array]:
    tests, outputs = found.mean.shape
    wiring = np.broadcast_to(0.0, (tests, tests, outputs, outputs))
    return Posterior(
        found.mean,
        found.covariance,
        wiring,
        log_evidence=np.asarray(found.log_evidence),
        representation=representation,
        net=net,
        noise=noise,
        order=0,
    )
