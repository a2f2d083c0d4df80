"""What trained networks of finite width predict: test error against depth over width, the shift of the mean times n, predictions."""

import warnings

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE

warnings.simplefilter("ignore", fw.ValidityWarning)  # the picture shows where order 1/n cannot be trusted
STEPS, DEPTH = 6, 3
x_train, y_train = np.array([[1.0, 0.4], [-0.5, 1.0]]), np.array([[3.0], [2.0]])
x_test, y_test = np.array([[-1.2, 0.1], [-0.8, -0.9]]), np.array([[0.9], [0.8]])


def network(width: int) -> fw.MLP:
    """Two hidden layers."""
    return fw.MLP("tanh", (2, width, width, 1), C_b=0.1, C_W=1.2, lambda_b=0.4, lambda_W=0.7)


rate = 1 / float(np.linalg.eigvalsh(fw.frozen_ntk(network(8), x_train))[-1])
how = {"algorithm": "gradient_descent", "rate": rate, "steps": STEPS}


def predicted(width: int) -> fw.learning.FinitePrediction:
    """To order 1/n."""
    return fw.predict(network(width), x_train, y_train, x_test, order=1, **how)


def trained(width: int, networks: int, method: str = "dense") -> fw.results.OutputMoments:
    """Measured, with control variates."""
    found = fw.train(network(width), x_train, y_train, x_test, networks, rate, STEPS, method, control=True)
    return found.controlled


error, shift, bands = panels(1, 3, 14.5, 4.3)

widths = np.unique(np.geomspace(10, 700, 24).round().astype(int))
found = [predicted(int(n)) for n in widths]
limit = fw.predict(network(8), x_train, y_train, x_test, **how)
measured = {
    n: trained(n, networks) for n, networks in ((10, 1000), (16, 1000), (28, 800), (50, 600), (100, 600), (300, 300))
}
holds = np.array([each.trust.holds for each in found])
error.axvspan(
    (DEPTH / widths).min(), (DEPTH / widths)[holds].max(), color=GREEN, alpha=0.12, linewidth=0, label="order 1/n holds"
)
error.axhline(fw.learning.generalisation_error(limit, y_test).total, color=GREY, linestyle="--", label="kernel limit")
error.plot(DEPTH / widths, [each.test_loss(y_test).total for each in found], color=BLUE, label="order 1/n")
bars = [
    np.sum(np.abs(each.mean.mean - y_test) * each.mean.standard_error)
    + np.einsum("bbii->", each.covariance.standard_error) / 2
    for each in measured.values()
]
error.errorbar(
    DEPTH / np.array(list(measured)),
    [fw.learning.generalisation_error(each, y_test).total for each in measured.values()],
    2 * np.array(bars),
    fmt="o",
    color=ORANGE,
    markersize=4,
    label="trained networks",
)
error.set(xscale="log", xlabel="depth over width, L/n", ylabel="mean test error", title="What finite width costs")
error.legend(loc="upper left")

wide = predicted(10**8)
lazy = {n: trained(n, networks, "lazy") for n, networks in ((1000, 60), (10_000, 40), (100_000, 8))}
both = {n: each for n, each in measured.items() if n >= 50} | lazy
for output, color in ((0, BLUE), (1, GREEN)):
    at_infinity = 1e8 * float((wide.mean - wide.mean_kernel)[output, 0])
    shift.axhline(at_infinity, color=color, linewidth=1.2, label=f"theory, test input {output + 1}")
    values = [n * float((each.mean.mean - predicted(n).mean_kernel)[output, 0]) for n, each in both.items()]
    their_bars = [2 * n * float(each.mean.standard_error[output, 0]) for n, each in both.items()]
    at = (1 + 0.08 * output) / np.array(list(both))
    shift.errorbar(at, values, their_bars, fmt="o", color=color, markersize=4)
shift.set(
    xscale="log",
    xlabel="1/n",
    ylabel=r"$n\,(m - m^{NTK})$",
    title="The shift of the mean, at every width",
    ylim=(0, None),
)
shift.legend(loc="lower right")

angle = np.linspace(-0.7, 2.6, 7)
line = 1.2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
net = network(32)
for prediction, color, label in (
    (fw.predict(net, x_train, y_train, line, **how), GREY, "kernel limit"),
    (fw.predict(net, x_train, y_train, line, order=1, **how), BLUE, "order 1/n, n = 32"),
):
    mean, spread = prediction.mean[:, 0], prediction.standard_deviation[:, 0]
    bands.plot(angle, mean, color=color, label=label)
    bands.fill_between(angle, mean - spread, mean + spread, color=color, alpha=0.15, linewidth=0)
seen = fw.train(net, x_train, y_train, line, 800, rate, STEPS, control=True).controlled
spread = np.sqrt(np.einsum("bbii->bi", seen.covariance.mean))[:, 0]
bands.errorbar(angle, seen.mean.mean[:, 0], spread, fmt="o", color=ORANGE, markersize=4, label="trained networks")
bands.set(xlabel="angle of the test input", ylabel="output", title="Mean and one standard deviation")
bands.legend(loc="lower left")
save("end_of_training")
