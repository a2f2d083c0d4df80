"""Features, gradients and the tangent kernel as depth grows in proportion to width: the limit over networks."""

import numpy as np
from save import panels, save

import finitewidth as fw
from finitewidth.figures.style import BLUE, GREEN, GREY, ORANGE

V0, TARGETS = np.array([[1.0, 0.3], [0.3, 0.8]]), [1.0, -0.5]
DEPTHS, MEASURED = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8), (0.1, 0.2, 0.4)
WIDTH, STEPS, PATHS = 100, 40, 1024


def block(chi: float) -> fw.ShapedMLP:
    """Of this strength of shaping."""
    return fw.ShapedMLP(fw.shaped.shaped_relu(chi, -chi))


def quartiles(values: np.ndarray) -> np.ndarray:
    """Robust against the heavy tails of all these laws."""
    return np.quantile(values, [0.25, 0.5, 0.75])


kernel, moved, shaped, by_depth = panels(2, 2, 10.0, 7.4).ravel()

tangent = {T: fw.ntk_law(block(1.5), V0, T, paths=4 * PATHS, steps=STEPS, seed=1) for T in DEPTHS}
for T, color in ((0.1, GREEN), (0.4, ORANGE), (0.8, BLUE)):
    values = tangent[T].samples[:, 0, 0]
    counts, edges = np.histogram(values, bins=np.linspace(0, 3, 61), density=True)
    kernel.stairs(counts, edges, color=color, label=f"d/n = {T:g}", linewidth=1.6)
    deviation = np.sqrt(tangent[T].exact_second_moment[0, 0] - 1)
    kernel.plot([1 - deviation, 1 + deviation], [0.06 + 0.1 * T] * 2, color=color, linewidth=3)
kernel.set(xlabel=r"$\overline{\Theta}(0,0)$", ylabel="density", title="The tangent kernel stays random", xlim=(0, 3))
kernel.text(1.6, 0.5, "bars: exact mean and\nstandard deviation", color=GREY, fontsize=8)
kernel.legend()

nets = {
    T: fw.simulate(block(1.5).at(WIDTH, round(T * WIDTH)), V0, 1200, 3, through="features", targets=TARGETS, save=1)
    for T in MEASURED
}
limits = {
    T: fw.feature_learning_sde(block(1.5), V0, T, targets=TARGETS, paths=PATHS, steps=STEPS, save=2, seed=2)
    for T in DEPTHS
}
for name, color in (("velocity", ORANGE), ("dPhi", BLUE)):
    of = {T: quartiles(np.abs(getattr(law, name)[:, -1, 0, 0])) for T, law in limits.items()}
    low, middle, high = np.array(list(of.values())).T
    label = {"velocity": r"$\mathcal{V}(0,0)$", "dPhi": r"$|\partial\Phi(0,0)|$"}[name]
    moved.fill_between(DEPTHS, low, high, color=color, alpha=0.2, linewidth=0)
    moved.plot(DEPTHS, middle, color=color, linestyle="--", label=f"{label}, limit")
    found = [np.median(np.abs(getattr(drawn, name)[:, -1, 0, 0])) for drawn in nets.values()]
    moved.plot(MEASURED, found, "o", color=color, markersize=5, label=f"{label}, networks, n = {WIDTH}")
pushed = np.einsum("ab,pb->pa", V0, TARGETS - limits[0.025].f)[:, 0]
moved.plot(
    DEPTHS,
    np.median(pushed**2) * np.array(DEPTHS) / 3,
    color=GREY,
    linewidth=1,
    label=r"lazy: $\frac{T}{3}(\Phi_0\delta)^2$",
)
moved.set(
    xlabel="depth over width",
    ylabel="median and middle half",
    xscale="log",
    yscale="log",
    title="Features learn as depth grows",
)
moved.set_xticks(DEPTHS, [f"{T:g}" for T in DEPTHS])
moved.set_xticks([], minor=True)
moved.legend(fontsize=7)

strengths = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
for T, color in ((0.1, GREEN), (0.4, ORANGE)):
    laws = [
        fw.feature_learning_sde(block(chi), V0, T, targets=TARGETS, paths=PATHS, steps=STEPS, save=2, seed=4)
        for chi in strengths
    ]
    for name, line in (("velocity", "-"), ("dPhi", ":")):
        medians = [np.median(np.abs(getattr(law, name)[:, -1, 0, 1])) for law in laws]
        label = {"velocity": r"$|\mathcal{V}(0,1)|$", "dPhi": r"$|\partial\Phi(0,1)|$"}[name]
        shaped.plot(strengths**2, medians, color=color, linestyle=line, label=f"{label}, d/n = {T:g}")
shaped.set(
    xlabel=r"$\chi^2 = (c_+ - c_-)^2/4$",
    ylabel="median",
    title="Between inputs, by the strength of shaping",
    ylim=(0, 0.12),
)
shaped.legend(fontsize=8)

law = fw.feature_learning_sde(block(1.5), V0, 0.4, targets=TARGETS, paths=PATHS, steps=STEPS, save=20, seed=5)
drawn = fw.simulate(block(1.5).at(WIDTH, 40), V0, 600, 6, through="features", targets=TARGETS, save=20)
fw.figures.features_by_depth(law, by_depth, drawn)
by_depth.set(title="Velocities of features through depth")
save("feature_learning")
