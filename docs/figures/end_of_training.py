"""What trained networks of finite width predict: test error against depth over width, parts of the mean, bands of predictions."""

import warnings

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE

warnings.simplefilter("ignore", fw.ValidityWarning)  # the picture shows where order 1/n cannot be trusted
STEPS, DEPTH = 60, 3
x_train, y_train = np.array([[1.0, 0.4], [-0.5, 1.0]]), np.array([[1.0], [-0.7]])
x_test, y_test = np.array([[0.7, 1.1]]), np.array([[0.1]])


def network(width: int) -> fw.MLP:
    """Two hidden layers."""
    return fw.MLP("sin", (2, width, width, 1), C_b=0.1, C_W=1.3, lambda_b=0.5, lambda_W=0.8)


rate = 0.8 / float(np.linalg.eigvalsh(fw.frozen_ntk(network(8), x_train))[-1])
how = {"algorithm": "gradient_descent", "rate": rate, "steps": STEPS}
widths = np.unique(np.geomspace(6, 600, 40).round().astype(int))
found = [fw.predict(network(int(n)), x_train, y_train, x_test, order=1, **how) for n in widths]
limit = fw.predict(network(8), x_train, y_train, x_test, **how)
measured = {
    n: fw.train(network(n), x_train, y_train, x_test, networks, rate, STEPS, control=True).controlled
    for n, networks in ((8, 2000), (12, 2000), (20, 1500), (40, 1000), (100, 600), (300, 200))
}
error, parts, bands = panels(1, 3, 14.5, 4.3)

aspect = DEPTH / widths
total = np.array([each.test_loss(y_test).total for each in found])
holds = np.array([each.trust.holds for each in found])
error.axvspan(aspect.min(), aspect[holds].max(), color=GREEN, alpha=0.12, linewidth=0, label="order 1/n holds")
error.axhline(fw.learning.generalisation_error(limit, y_test).total, color=GREY, linestyle="--", label="kernel limit")
error.plot(aspect, total, color=BLUE, label="order 1/n")
points = [fw.learning.generalisation_error(each, y_test).total for each in measured.values()]
bars = [
    np.hypot(
        (each.mean.mean - y_test)[0, 0] * each.mean.standard_error[0, 0],
        each.covariance.standard_error[0, 0, 0, 0] / 2,
    )
    for each in measured.values()
]
at = DEPTH / np.array(list(measured))
error.errorbar(at, points, 2 * np.array(bars), fmt="o", color=ORANGE, markersize=4, label="trained networks")
error.set(xscale="log", xlabel="depth over width, L/n", ylabel="mean test error", title="What finite width costs")
error.legend(loc="upper left")

names = {
    "mean_fluctuation": "fluctuation",
    "mean_dntk": "dNTK",
    "mean_ddntk_I": "ddNTK I",
    "mean_ddntk_II": "ddNTK II",
}
for (field, label), color in zip(names.items(), ("#CC79A7", "#56B4E9", "#E69F00", GREEN), strict=True):
    parts.plot(1 / widths, [getattr(each, field)[0, 0] for each in found], color=color, linewidth=1.2, label=label)
parts.plot(1 / widths, [(each.mean - limit.mean)[0, 0] for each in found], color=BLUE, label="all, with H1")
parts.errorbar(
    1 / np.array(list(measured)),
    [(each.mean.mean - limit.mean)[0, 0] for each in measured.values()],
    [2 * each.mean.standard_error[0, 0] for each in measured.values()],
    fmt="o",
    color=ORANGE,
    markersize=4,
    label="trained networks",
)
parts.set(xlabel="1/n", ylabel="shift of the mean prediction", title="Corrections by their origin")
parts.legend(loc="lower left")

angle = np.linspace(-0.7, 2.6, 7)
line = 1.2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
net = network(24)
for prediction, color, label in (
    (fw.predict(net, x_train, y_train, line, **how), GREY, "kernel limit"),
    (fw.predict(net, x_train, y_train, line, order=1, **how), BLUE, "order 1/n, n = 24"),
):
    mean, spread = prediction.mean[:, 0], prediction.standard_deviation[:, 0]
    bands.plot(angle, mean, color=color, label=label)
    bands.fill_between(angle, mean - spread, mean + spread, color=color, alpha=0.15, linewidth=0)
seen = fw.train(net, x_train, y_train, line, 2000, rate, STEPS, control=True).controlled
spread = np.sqrt(np.einsum("bbii->bi", seen.covariance.mean))[:, 0]
bands.errorbar(angle, seen.mean.mean[:, 0], spread, fmt="o", color=ORANGE, markersize=4, label="trained networks")
bands.set(xlabel="angle of the test input", ylabel="output", title="Mean and one standard deviation")
bands.legend(loc="lower left")
save("end_of_training")
