"""What trained networks predict as they become deeper at one width: their test error, and each part of the shift of their mean."""

import warnings

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE
from finitewidth.learning.end_of_training.ensemble import moments_at
from finitewidth.learning.end_of_training.finite_prediction import trust_of
from finitewidth.learning.end_of_training.moments import Moments
from finitewidth.learning.end_of_training.statistics import statistics_of

warnings.simplefilter("ignore", fw.ValidityWarning)  # the picture shows where order 1/n cannot be trusted
WIDTH, DEEPEST, STEPS = 64, 16, 12
DEPTHS = np.arange(2, DEEPEST + 1)
x_train, y_train = np.array([[1.0, 0.4], [-0.5, 1.0]]), np.array([[1.5], [1.0]])
x_test, y_test = np.array([[-1.2, 0.1], [-0.8, -0.9]]), np.array([[0.45], [0.4]])
PARTS = (
    ("mean kernel", "kernel", GREY),
    ("fluctuation", "fluctuation", GREEN),
    ("dNTK", "dntk", BLUE),
    ("ddNTK, I", "ddntk_I", ORANGE),
    ("ddNTK, II", "ddntk_II", "#CC79A7"),
)


def network(depth: int) -> fw.MLP:
    """At criticality, with rates by which all layers learn alike: a layer of a deep network is the last of a shallower one."""
    rates = tuple(1 / np.arange(1.0, depth + 1))
    return fw.MLP("tanh", (2, *[WIDTH] * (depth - 1), 1), C_b=0.0, C_W=1.0, lambda_b=rates, lambda_W=1.0)


theory = fw.flow(network(DEEPEST), np.concatenate([x_train, x_test]), through="ddntk")
rate = {int(L): 1 / float(np.linalg.eigvalsh(np.asarray(theory.Theta)[L - 1][:2, :2])[-1]) for L in DEPTHS}


def target(y: np.ndarray, depth: int) -> np.ndarray:
    """As outputs do, targets fall with depth, PDLT (∞.26)."""
    return fw.learning.rescaled_targets(y, depth, p_0=1.0)


def predicted(depth: int, y: np.ndarray) -> Moments:
    """To order 1/n, after the last step."""
    seen, vectors = statistics_of(theory, len(x_train), depth).turned()
    return moments_at(seen, vectors.T @ y, rate[depth], STEPS * rate[depth])


def limit(depth: int, y: np.ndarray) -> fw.results.Prediction:
    """At infinite width."""
    kernels = np.asarray(theory.Theta)[depth - 1], np.asarray(theory.K)[depth - 1]
    return fw.predict(kernel=kernels, y_train=y, algorithm="gradient_descent", rate=rate[depth], steps=STEPS)


def error_of(mean: np.ndarray, variance: float, depth: int) -> float:
    """The mean test error, in units of that of a network that says zero."""
    y = target(y_test, depth)
    return float(np.sum((mean - y) ** 2) + variance) / float(np.sum(y**2))


def shares(depth: int, y: np.ndarray) -> dict[str, float]:
    """Sizes of the parts of the shift relative to the prediction, in units of depth over width."""
    found, infinite = predicted(depth, y), limit(depth, y).mean
    shift = {"kernel": found.kernel_mean() - infinite, **found.mean_parts()}
    unit = depth / WIDTH * np.linalg.norm(infinite)
    return {name: float(np.linalg.norm(part)) / unit for name, part in shift.items()}


error, parts = panels(1, 2, 11.0, 4.3)

found = {int(L): predicted(int(L), target(y_train, int(L))) for L in DEPTHS}
holds = [L for L, each in found.items() if trust_of(each, 0.0, 0.0).holds]
error.axvspan(2 / WIDTH, max(holds) / WIDTH, color=GREEN, alpha=0.12, linewidth=0, label="order 1/n holds")
kernel_limits = [limit(L, target(y_train, L)) for L in found]
spreads = [float(np.trace(np.asarray(each.sample_covariance))) for each in kernel_limits]
errors = [error_of(each.mean, *rest) for each, *rest in zip(kernel_limits, spreads, found, strict=True)]
error.plot(DEPTHS / WIDTH, errors, color=GREY, linestyle="--", label="kernel limit")
errors = []
for L, each in found.items():
    own, wiring = each.covariance()
    mean = each.kernel_mean() + sum(each.mean_parts().values())
    errors.append(error_of(mean, float(np.trace(own) + np.einsum("aaii->", wiring)), L))
error.plot(DEPTHS / WIDTH, errors, color=BLUE, label="order 1/n")
for L in (2, 5, 10, 16):
    seen = fw.train(network(L), x_train, target(y_train, L), x_test, 500, rate[L], STEPS, control=True).controlled
    at = error_of(seen.mean.mean, float(np.einsum("bbii->", seen.covariance.mean)), L)
    distance = np.abs(seen.mean.mean - target(y_test, L))
    bar = 2 * np.sum(distance * seen.mean.standard_error) + np.einsum("bbii->", seen.covariance.standard_error)
    bar /= float(np.sum(target(y_test, L) ** 2))
    error.errorbar(
        [L / WIDTH], [at], [2 * bar], fmt="o", color=ORANGE, markersize=4, label="trained networks" if L == 2 else None
    )
error.set(
    xlabel=f"depth over width, L/n with n = {WIDTH}",
    ylabel=r"mean test error over $\frac{1}{2}\Sigma y^2$",
    title="Deeper networks",
)
error.legend(loc="upper right")

for scaled, style in ((True, "-"), (False, ":")):
    # Those that are not rescaled are alike at the first depth.
    sizes = [shares(L, target(y_train, L if scaled else 2)) for L in found]
    for title, name, color in PARTS:
        parts.plot(DEPTHS, [each[name] for each in sizes], style, color=color, label=title if scaled else None)
parts.plot([], [], ":", color="black", label="targets not rescaled")
parts.set(
    xlabel="depth L",
    ylabel="part of the shift over prediction, in units of L/n",
    title="Parts of the shift by depth",
    ylim=(0, None),
)
parts.legend(loc="upper left")
save("end_of_training_by_depth")
