"""Numbers that were once wrong, functions chosen to be hard, exploding paths and cliffs of time, each against its own reference.

    python benchmarks/hard_cases.py [numbers] [functions] [explosions] [cliffs] [--only "z^5" ...]

References are NumPy's (`own_quadrature`), closed forms and differences. What is refused is printed with its reason.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import finitewidth as fw
import own_quadrature
from finitewidth.proportional import scalar_smooth
from hard_functions import HARD, JUMP
from timing import timed

K = np.array([[1.0, 0.3], [0.3, 0.5]])
ALONG = np.array([[0.4, -0.2], [-0.2, 0.7]])  # a direction in which all entries of a covariance change


def tried(call: Callable[[], Any]) -> Any:
    """A number, or the sentence with which it is refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(call())
    except (ValueError, RuntimeError) as error:  # under `jit` JAX wraps the error that a program raises while it runs
        return _reason(error)


def _reason(error: Exception) -> str:
    said = str(error).rpartition("RuntimeError: ")[2].partition("; expected")[0].partition("\n")[0]
    return "refused: " + said.replace("`", "")


def row(what: str, before: Any, now: Any, exact: float | str) -> None:
    """A line of a table; the relative error where there is one."""
    error = abs(now / exact - 1) if isinstance(now, float) and isinstance(exact, float) and exact else None
    cells = [f"{cell:.10g}" if isinstance(cell, float) else str(cell) for cell in (before, now, exact)]
    print(
        "| " + " | ".join([what.replace("|", "\\|"), *cells, "" if error is None else f"{error:.0e}"]) + " |",
        flush=True,
    )


def difference(function: Callable[[float], float], at: float, step: float = 1e-3) -> float:
    """The slope, by four values."""
    near, far = (function(at + h) - function(at - h) for h in (step, 2 * step))
    return float((8 * near - far) / (12 * step))


def numbers() -> None:
    """Single numbers that were refuted, with what the library said then."""
    print("| what | before | now | exact | relative error |\n|---|---|---|---|---|")

    def relu(z: Any) -> Any:
        return jnp.maximum(z, 0.0)

    def average(f: Any, *covariance: Any) -> Any:
        return fw.gaussian_expectation([f] * len(covariance[0]), *covariance)

    slope = tried(lambda: jax.grad(lambda k: average(relu, k * jnp.eye(1)))(1.0))
    row("d/dk <relu> at 1", 0.0, slope, 1 / math.sqrt(8 * math.pi))
    shifted = own_quadrature.one(lambda z: np.maximum(z - 0.7, 0), [0.7], 1.0)[1]
    slope = tried(lambda: jax.grad(lambda k: average(lambda z: relu(z - 0.7), k * jnp.eye(1)))(1.0))
    row("d/dk <relu(z - .7)> at 1", "4 digits", slope, float(shifted))
    angle = math.acos(0.3 / math.sqrt(0.5))
    closed = math.sqrt(0.5) / (2 * math.pi) * (math.sin(angle) + (math.pi - angle) * math.cos(angle))
    row("<relu relu>", 0.196636, tried(lambda: average(jax.nn.relu, K)), closed)
    pair = own_quadrature.two(np.abs, [0.0], K)[0]
    row("<abs abs>", "1 % off", tried(lambda: average(jnp.abs, K)), float(pair))
    row(
        "<exp(.3 z^2) twice>, infinite",
        1577.0,
        tried(lambda: average(lambda z: jnp.exp(0.3 * z**2), np.ones((2, 2)))),
        "inf",
    )
    row("<log|z|>", "-inf", tried(lambda: average(lambda z: jnp.log(jnp.abs(z)), np.eye(1))), "")

    def vertex(C_W: Any, C_b: Any, x: Any) -> Any:
        net = fw.MLP(lambda z: jnp.clip(z, -1, 1), (2, 5, 5, 5), C_W=C_W, C_b=C_b)
        return fw.flow(net, x).V[-1, 0, 0, 0, 0]

    x = np.array([[1.0, 0.4], [0.3, -1.0]])
    slope = tried(lambda: jax.grad(lambda C: vertex(C, 0.1, x[:1]))(1.5))
    row("dV/dC_W of hardtanh (another net)", "1.351 for .522", slope, difference(lambda C: vertex(C, 0.1, x[:1]), 1.5))

    def steep_kernel(k: float) -> Any:
        return fw.kernel(fw.MLP(lambda z: jnp.tanh(k * z), (2, 5, 5), C_W=1.0), np.eye(2) + 0.3)

    variance = (1.3**2 + 0.3**2) / 2
    for k, before in ((100, ".98935 for .99202"), (50, "2e-4 off"), (20, "1e-6 off")):
        exact = own_quadrature.one(lambda z, k=k: np.tanh(k * z) ** 2, [0.0], variance)[0]
        found = steep_kernel(k)
        row(f"kernel of tanh({k} z)", before, float(found[0, 0]), float(exact))
        row(f"its asymmetry, {k}", "not 0", float(abs(found[0, 1] - found[1, 0])), 0.0)
    copies = 1e4 * np.array([[1.0, 0.0], [1.0, 0.0]])
    theta = fw.frozen_ntk(fw.MLP("tanh", (2, 5, 5, 5), C_W=1.5, C_b=0.1), copies)
    row("Theta of copies at scale 1e4", "4e-6 off", float(theta[0, 1]), float(theta[0, 0]))
    net = fw.MLP("tanh", (2, 5, 5, 5), C_W=1.5, C_b=0.1)
    row(
        "inputs x100 under jit",
        "3.8 % off",
        tried(lambda: jax.jit(lambda s: fw.kernel(net, s * jnp.asarray(x)))(100.0)[0, 0]),
        "",
    )
    _critical_numbers()


def _critical_numbers() -> None:
    dead_zones: tuple[tuple[str, Any, Any, list[float]], ...] = (
        ("softshrink", "softshrink", lambda z: z - np.clip(z, -0.5, 0.5), [-0.5, 0.5]),
        ("relu(z - 1)", lambda z: jnp.maximum(z - 1, 0.0), lambda z: np.maximum(z - 1, 0.0), [1.0]),
    )
    for name, activation, own, points in dead_zones:
        at = next(point for point in fw.criticality(activation).critical_points if point.K_star)
        g, dg, _ = own_quadrature.one(lambda z, own=own: own(z) ** 2, points, at.K_star)
        row(f"{name}, K* = {at.K_star:.6g}: C_W", "not tunable", float(at.C_W), float(1 / dg))
        row(f"{name}, K* = {at.K_star:.6g}: C_b", "C_b < 0", float(at.C_b), float(at.K_star - g / dg))
    jumping = fw.phase_diagram(lambda z: z**2 * jnp.exp(-(z**2)), C_b=[0.0], C_W=[8.0], K1=100.0)
    row("z^2 exp(-z^2), C_W = 8, K1 = 100", "chaotic", jumping.phase[0][0], "vanishing")
    root = fw.criticality(lambda z: jnp.sign(z) * jnp.sqrt(jnp.abs(z)))
    row("sign(z) sqrt|z| is said to jump", "yes", "yes" if "jump" in root.reason else "no", "no")
    tiny = fw.criticality(lambda z: 1e-10 * jnp.tanh(z))
    row("1e-10 tanh: C_W at K* = 0", "slope vanishes", float(tiny.critical_points[0].C_W), 1e20)


def slope_of(f: Callable[[np.ndarray], np.ndarray], points: list[float]) -> Callable[[np.ndarray], np.ndarray]:
    """By differences that stay on one side of every point."""

    def slope(z: np.ndarray) -> np.ndarray:
        h = 0.2 * np.minimum(1e-3, np.abs(np.subtract.outer(z, points)).min(axis=1) / 4)
        return (8 * (f(z + h) - f(z - h)) - f(z + 2 * h) + f(z - 2 * h)) / (12 * h)

    return slope


def deviation(found: Any, exact: float, size: float) -> str:
    """Relative to the reference, or to the size of the function where that vanishes; or the refusal's number."""
    return f"{abs(found - exact) / max(abs(exact), 1e-3 * size):.0e}" if isinstance(found, float) else found


def functions(only: list[str]) -> None:
    """Value, first and second derivative of one and two variables, susceptibilities and critical points of hard functions."""
    heads = ["function", "1", "1'", "1''", "2", "2'", "2''", "chi par", "chi perp", "class", "C_W, C_b at K*"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    refusals: list[str] = []
    for name in only or HARD:
        formula, points = HARD[name]
        cells = [
            cell if not cell.startswith("refused") else _note(cell, refusals) for cell in _cells(name, formula, points)
        ]
        print("| " + " | ".join([name.replace("|", "\\|"), *cells]) + " |", flush=True)
    for number, reason in enumerate(refusals, 1):
        print(f"{number}. {reason}")


def _note(reason: str, refusals: list[str]) -> str:
    if reason not in refusals:
        refusals.append(reason)
    return f"[{refusals.index(reason) + 1}]"


def _cells(name: str, formula: Any, points: list[float]) -> list[str]:
    def f(z: Any) -> Any:
        return formula(z, jnp)

    def own(z: np.ndarray) -> np.ndarray:
        return formula(z, np)

    exact = own_quadrature.one(own, points, 1.7)
    size = own_quadrature.one(lambda z: own(z) ** 2, points, 1.7)[0]
    cells = []
    average: Any = lambda k: fw.gaussian_expectation([f], jnp.reshape(k, (1, 1)))  # noqa: E731
    for reference in exact:
        cells.append(deviation(tried(lambda average=average: average(1.7)), reference, size**0.5))
        average = jax.grad(average)
    value, gradient, hessian = own_quadrature.two(own, points, K)
    direction = np.array([ALONG[0, 0], ALONG[0, 1], ALONG[1, 1]])
    average = lambda t: fw.gaussian_expectation([f, f], K + t * ALONG)  # noqa: E731
    for reference in (value, gradient @ direction, direction @ hessian @ direction):
        cells.append(deviation(tried(lambda average=average: average(0.0)), reference, size))
        average = jax.jit(jax.grad(average))
    g, dg, _ = own_quadrature.one(lambda z: own(z) ** 2, points, 0.8)
    steepness = (
        math.inf if name in JUMP else own_quadrature.one(lambda z: slope_of(own, points)(z) ** 2, points, 0.8)[0]
    )
    for which, reference in (("chi_parallel", 1.3 * dg), ("chi_perp", 1.3 * steepness)):
        found = tried(lambda which=which: getattr(fw.susceptibilities(f, 0.8, 1.3), which))
        same = isinstance(found, float) and math.isinf(found) and math.isinf(reference)
        cells.append("inf" if same else deviation(found, reference, size))
    try:
        verdict = fw.criticality(f)
    except ValueError as error:
        return [*cells, _reason(error), ""]
    worst = ""
    for at in verdict.critical_points:
        if at.K_star:
            g, dg, _ = own_quadrature.one(lambda z: own(z) ** 2, points, at.K_star)
            s = own_quadrature.one(lambda z: slope_of(own, points)(z) ** 2, points, at.K_star)[0]
            worst = f"{max(abs(at.C_W * dg - 1), abs(at.C_W * s - 1), abs((at.C_b + at.C_W * g) / at.K_star - 1)):.0e}"
        else:  # with a kink at zero, the mean of both sides
            h = 1e-5 / (60 if name == "tanh 60 z" else 1) * np.array([1.0, -1.0])
            sides = (4 * own(h) - own(2 * h) - 3 * own(0 * h)) / (2 * h)
            worst = f"{abs(at.C_W * np.mean(sides**2) - 1):.0e}"
    return [*cells, verdict.universality_class.value, worst]


def opposite_chain(gamma: float, tau0: float, end: float, paths: int, seed: int) -> np.ndarray:
    r"""Opposite tokens, V = v [[1, -1], [-1, 1]]: $dv = \frac{\gamma^2}{\tau_0^2}v^3dt + \sqrt{2\gamma^2(2-\gamma^2)}\,v\,dB +
    \frac{2\gamma^2}{\tau_0}v^2dB'$, by short Euler steps of log v; infinite where it explodes."""
    random, square = np.random.default_rng(seed), gamma**2
    kappa, mean, noise = square * (2 - square), (square - 2 * square**2) / tau0**2, 2 * square / tau0
    ends, y, t, number = np.full(paths, np.inf), np.zeros(paths), np.zeros(paths), np.arange(paths)
    while len(y):
        v = np.exp(y)
        step = np.minimum(np.minimum(2e-3, end - t), 0.01 / (noise * v) ** 2)
        arrived, normals = step >= end - t, random.standard_normal((2, len(y)))
        y = (
            y
            + (mean * v**2 - kappa) * step
            + np.sqrt(step) * (math.sqrt(2 * kappa) * normals[0] + noise * v * normals[1])
        )
        t, gone = t + step, y > math.log(1e10)
        ends[number[arrived & ~gone]] = np.exp(y[arrived & ~gone])
        y, t, number = (each[~(arrived | gone)] for each in (y, t, number))
    return ends


def explosions() -> None:
    """Paths of the covariance SDE against laws that are known, three seeds."""
    print("| block | quantity | before | seeds 0, 1, 2 | exact |\n|---|---|---|---|---|")

    def laws(block: Any, V0: Any, end: float, paths: int) -> list[Any]:
        return [fw.covariance_sde(block, V0, end, paths=paths, save=1, seed=seed) for seed in range(3)]

    def line(block: str, quantity: str, before: str, found: list[float], exact: float) -> None:
        print(
            f"| {block} | {quantity} | {before} | {', '.join(f'{each:.4g}' for each in found)} | {exact:.4g} |",
            flush=True,
        )

    causal = laws(fw.ShapedAttention(0.6, 0.25, mask="causal"), 0.8 * np.eye(4) + 0.2, 1.0, 2048)
    line(
        "causal, gamma .6, tau .25, T = 1",
        "median V00",
        "557-884",
        [float(np.median(law.final[:, 0, 0])) for law in causal],
        math.exp(-0.36 * 1.64),
    )
    opposite = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for gamma, tau0, end, before in (
        (0.9, 0.5, 0.5, ("4.3-4.8 %", ".205")),
        (0.6, 0.3, 0.3, (".23", "")),
        (0.5, 0.05, 0.3, ("", "")),
    ):
        found = laws(fw.ShapedAttention(gamma, tau0), opposite, end, 4096)
        exact = opposite_chain(gamma, tau0, end, 20_000, 7)
        label = f"opposite tokens, gamma {gamma}, tau {tau0}, T = {end}"
        line(label, "stopped", before[0], [law.stopped_fraction for law in found], float(np.isinf(exact).mean()))
        line(
            label,
            "median V00 of all",
            before[1],
            [float(np.median(law.final[:, 0, 0])) for law in found],
            float(np.median(exact)),
        )
    gelu = fw.shaped.shaped_smooth("gelu")
    exact = scalar_smooth(gelu).sample(2.0, 0.3, paths=20_000, steps=1000, seed=7).X[:, -1]
    found = laws(fw.ShapedMLP(gelu), [[2.0]], 0.3, 4096)
    line(
        "gelu from 2, T = .3", "stopped", ".225", [law.stopped_fraction for law in found], float(np.isinf(exact).mean())
    )


def cliffs() -> None:
    """CPU seconds where there were cliffs."""
    print("| what | before | CPU s first | CPU s again | over tanh |\n|---|---|---|---|---|")
    own = fw.Activation(lambda z: jnp.clip(z, -0.4, 2.0), (-0.4, 2.0), name="clip(z, -.4, 2)")
    for features in (2, 3, 10):
        x = np.random.default_rng(0).normal(size=(6, features))
        unit = math.nan
        for activation in ("tanh", "hardtanh", *(("relu6", own) if features == 10 else ())):
            net = fw.MLP(activation, (features, 100, 100, 100, 1), C_W=1.2, C_b=0.1)
            first, _, _ = timed(lambda net=net, x=x: fw.flow(net, x))
            again = min(timed(lambda net=net, x=x: fw.flow(net, x))[0] for _ in range(2))
            unit = again if activation == "tanh" else unit
            before = "214" if activation == "hardtanh" else ""
            label = getattr(activation, "name", activation)
            print(
                f"| V of {label}, 6 inputs of {features} | {before} | {first:.2f} | {again:.3f} | {again / unit:.1f} |",
                flush=True,
            )
    x = np.random.default_rng(0).normal(size=(3, 4))
    net = fw.MLP("tanh", (4, 20, 20, 1), C_W=1.2, C_b=0.1)
    fw.flow(net, x)
    for scale in (3.0, 0.3):
        print(f"| flow of tanh, inputs x{scale} | 4 | {timed(lambda s=scale: fw.flow(net, s * x))[0]:.2f} | | |")
    for k in (1.1, 1.2):
        spent = timed(lambda k=k: fw.criticality(lambda z: jnp.tanh(k * z) + 0.1 * z))[0]
        print(f"| criticality of a fresh lambda | {7 if k == 1.1 else 3} | {spent:.2f} | | |", flush=True)
    fw.ntk_samples(net, x, networks=200, progress=False)
    spent = timed(lambda: fw.ntk_samples(net, x, networks=200, seed=1, progress=False))[0]
    print(f"| ntk_samples, ms a network | 2 | {1e3 * spent / 200:.2f} | | |")


PARTS: dict[str, Callable[..., None]] = {
    "numbers": numbers,
    "functions": functions,
    "explosions": explosions,
    "cliffs": cliffs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all, if none is named")
    parser.add_argument("--only", nargs="+", choices=HARD, default=[], help="functions, by name")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        start = time.process_time()
        print(f"\n## {part}\n")
        PARTS[part](*([options.only] if part == "functions" else []))
        print(f"\n{time.process_time() - start:.0f} CPU seconds")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
