"""Are the rates that `global_rate` advises near the best ones? Networks trained at eight times less to eight times more.

    python benchmarks/rates.py                    # all, some 20 minutes of one core -> benchmarks/results/rates.json
    python benchmarks/rates.py --part 0 2         # every second case, into rates.0.json; then --merge 2

A case is a data set, an activation, depth, width, with the skips that `recommend` advises or without, optimiser, loss and batch. The best
rate is the one with the lowest training loss, on all training data, after 250 steps at a constant rate: the geometric mean over three
seeds, one that diverges counting as a loss of a million. The constants of the recipe were chosen with the data sets of `FIRST` in view;
then those that stand between were trained on, and Adam's rate for the squared error doubled; then those of `LAST`, after which nothing was
changed. Initialisation, scale of inputs and rates by layer are those of the advice.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn import datasets

import finitewidth as fw

RECORD = Path(__file__).parent / "results" / "rates.json"
FACTORS = 2.0 ** np.arange(-3, 4)
STEPS, SEEDS, MOST = 250, 3, 1400
FIRST = ("digits", "friedman1", "friedman2", "breast_cancer", "wine", "diabetes")
LAST = ("classification", "moons", "sparse_uncorrelated", "s_curve")
DIVERGED = 1e6
MADE = ("hastie_10_2", "swiss_roll", "gaussian_quantiles", *LAST)
MORE = {"moons": {"noise": 0.2}, "gaussian_quantiles": {"n_features": 20, "n_classes": 5}}


@dataclass(frozen=True)
class Case:
    """What is trained."""

    data: str
    activation: str
    depth: int
    width: int
    gamma: float
    optimizer: Any
    loss: Any
    batch: int = 32

    @property
    def seen(self) -> str:
        """What the recipe's constants were chosen with in view."""
        return "first" if self.data in FIRST else "last" if self.data in LAST else "between"


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of unit mean square, and targets: one column of unit variance, or one column a class."""
    if name.startswith("friedman") or name in MADE:
        x, y = getattr(datasets, f"make_{name}")(**{"n_samples": 1000, "random_state": 0} | MORE.get(name, {}))
        y = (y > 0).astype(int) if name == "hastie_10_2" else y
    else:
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    x = x - (x.mean() if name == "digits" else x.mean(axis=0))
    x = x / (x.std() if name == "digits" else x.std(axis=0))
    order = np.random.default_rng(0).permutation(len(x))[:MOST]
    x, y = x[order], y[order]
    y = np.eye(y.max() + 1)[y] if y.dtype.kind == "i" else ((y - y.mean()) / y.std())[:, None]
    return x / np.sqrt(np.mean(x**2)), y


def network(case: Case, x: np.ndarray, outputs: int) -> tuple[Any, np.ndarray]:
    """As advised, and its inputs."""
    ends = x.shape[1], outputs
    if case.gamma:
        net = fw.ResidualMLP(case.activation, case.width, case.depth, case.gamma, inputs=ends[0], outputs=ends[1])
    else:
        net = fw.MLP(case.activation, (ends[0], *[case.width] * (case.depth - 1), ends[1]))
    point = fw.criticality(case.activation).point
    scale = ((point.K_star - point.C_b) / point.C_W) ** 0.5 if point.K_star else 1.0
    return fw.advice.with_slow_biases(fw.tune(net)), scale * x


def stacked(of: list[np.ndarray]) -> tuple:
    """First, hidden, last: hidden layers are scanned over."""
    return tuple(jnp.asarray(part, jnp.float32) for part in (of[0], np.stack(of[1:-1]), of[-1]))


def drawn(net: Any, seed: int) -> tuple:
    """Weights and biases."""
    random, ends = np.random.default_rng(seed), list(zip(net.widths[1:], net.widths[:-1], strict=True))
    weights = [random.normal(size=shape) * (C / shape[1]) ** 0.5 for shape, C in zip(ends, net.C_W, strict=True)]
    biases = [random.normal(size=shape[0]) * C**0.5 for shape, C in zip(ends, net.C_b, strict=True)]
    return stacked(weights), stacked(biases)


def outputs_of(sigma: Any, gamma: float, params: tuple, x: jax.Array) -> jax.Array:
    (W, H, V), (b, c, d) = params

    def layer(z: jax.Array, of: tuple) -> tuple:
        return sigma(z) @ of[0].T + of[1] + gamma * z, None

    z, _ = jax.lax.scan(layer, x @ W.T + b, (H, c))
    return sigma(z) @ V.T + d


def loss_of(name: str, found: jax.Array, y: jax.Array) -> jax.Array:
    """A mean over samples."""
    if name == "mse":
        return jnp.mean(jnp.sum((found - y) ** 2, axis=1)) / 2
    return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(found), axis=1))


def trained(case: Case, net: Any, x: np.ndarray, y: np.ndarray, etas: np.ndarray, seeds: int, steps: int) -> np.ndarray:
    """The final loss, (rates, seeds)."""
    sigma = fw.ACTIVATIONS[case.activation].value
    rates = fw.learning_rates(net, case.optimizer, 1.0, x[:64])
    unit = rates_of(rates)
    optimizer = optax.scale_by_adam() if case.optimizer == "adam" else optax.identity()
    x, y = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)

    def loss(params: tuple, x: jax.Array, y: jax.Array) -> jax.Array:
        return loss_of(case.loss, outputs_of(sigma, case.gamma, params, x), y)

    def train(params: tuple, eta: jax.Array, batches: jax.Array) -> jax.Array:
        def step(state: tuple, batch: jax.Array) -> tuple:
            params, memory = state
            updates, memory = optimizer.update(jax.grad(loss)(params, x[batch], y[batch]), memory)
            return (jax.tree.map(lambda p, r, u: p - eta * r * u, params, unit, updates), memory), None

        (params, _), _ = jax.lax.scan(step, (params, optimizer.init(params)), batches)
        return loss(params, x, y)

    params = jax.tree.map(lambda *each: jnp.stack(each), *[drawn(net, seed) for seed in range(seeds)])
    size = (steps, min(case.batch, len(x)))
    batches = np.stack([np.random.default_rng(seed).integers(len(x), size=size) for seed in range(seeds)])
    run = jax.jit(jax.vmap(jax.vmap(train, in_axes=(0, None, 0)), in_axes=(None, 0, None)))
    return np.asarray(run(params, jnp.asarray(etas, jnp.float32), jnp.asarray(batches)), float)


def rates_of(rates: Any) -> tuple:
    """In the form of `drawn`, one number a layer."""
    return tuple(
        tuple(jnp.asarray(part, jnp.float32) for part in (of[0], of[1:-1].reshape(-1, *ones), of[-1]))
        for of, ones in ((rates.weight, (1, 1)), (rates.bias, (1,)))
    )


def measured(case: Case, factors: np.ndarray = FACTORS, seeds: int = SEEDS, steps: int = STEPS) -> dict:
    """A line of the record."""
    x, y = data(case.data)
    net, x = network(case, x, y.shape[1])
    eta = fw.advice.global_rate(net, x, case.optimizer, case.loss).value
    losses = trained(case, net, x, y, eta * factors, seeds, steps)
    return asdict(case) | {"advised": eta, "factors": list(factors), "losses": losses.tolist()}


def means(line: dict) -> np.ndarray:
    """The geometric mean over seeds, by rate."""
    losses = np.asarray(line["losses"])
    return np.exp(np.mean(np.log(np.where(losses < DIVERGED, losses, DIVERGED)), axis=1))


def best(line: dict) -> float:
    """By what the best rate is larger than the advised one."""
    return float(line["factors"][int(np.argmin(means(line)))])


def within(lines: list[dict], factor: float) -> int:
    """In how many lines the best rate is within this factor of the advised one."""
    return sum(1 / factor <= best(line) <= factor for line in lines)


# Skips as `recommend` advises them at width 64, where it does.
SKIPS = {("relu", 4): 0.8572, ("relu", 8): 0.958, ("relu", 16): 0.9826, ("relu", 32): 0.992, ("gelu", 4): 0.8562}
SKIPS |= {("gelu", 8): 0.9579, ("swish", 8): 0.9579, ("tanh", 16): 0.6788, ("tanh", 32): 0.872}


def cases() -> list[Case]:
    """Looked at first, then what was not."""
    found = []

    def add(data: str, activation: str, depth: int, losses: str, width: int = 64, batch: int = 32, skips: bool = True):
        gamma = SKIPS.get((activation, depth), 0.0) if skips else 0.0
        found.extend(
            Case(data, activation, depth, width, gamma, optimizer, losses, batch) for optimizer in ("sgd", "adam")
        )

    for activation in ("relu", "tanh"):
        add("digits", activation, 8, "cross_entropy")
        add("digits", activation, 32, "cross_entropy")
        add("friedman1", activation, 8, "mse")
        add("friedman1", activation, 32, "mse")
        add("digits", activation, 8, "mse")
    add("digits", "gelu", 8, "cross_entropy")
    add("digits", "tanh", 8, "cross_entropy", batch=256)
    add("digits", "tanh", 8, "cross_entropy", batch=8)
    add("digits", "relu", 8, "cross_entropy", width=128, skips=False)
    add("friedman2", "gelu", 8, "mse")
    add("breast_cancer", "tanh", 4, "cross_entropy")
    add("wine", "relu", 4, "cross_entropy")
    add("diabetes", "gelu", 8, "mse")
    add("iris", "relu", 16, "cross_entropy", batch=8)
    add("iris", "tanh", 32, "cross_entropy")
    add("iris", "gelu", 8, "mse")
    add("gaussian_quantiles", "relu", 8, "cross_entropy")
    add("gaussian_quantiles", "tanh", 4, "cross_entropy", width=128, batch=128)
    add("hastie_10_2", "tanh", 16, "cross_entropy")
    add("hastie_10_2", "gelu", 4, "cross_entropy")
    add("friedman3", "relu", 4, "mse", width=256, skips=False)
    add("friedman3", "tanh", 16, "mse", batch=8)
    add("friedman3", "swish", 8, "mse")
    add("swiss_roll", "tanh", 8, "mse", batch=256)
    add("swiss_roll", "relu", 32, "mse")
    add("classification", "tanh", 8, "cross_entropy")
    add("moons", "relu", 8, "cross_entropy")
    add("sparse_uncorrelated", "gelu", 16, "mse", skips=False)
    add("s_curve", "tanh", 4, "mse")
    return found


def show(lines: list[dict]) -> None:
    """A line for every case, and how many are within a factor of three."""
    for line in lines:
        name = "{data:13s} {activation:5s} L={depth:<2d} n={width:<3d} gamma={gamma:<6g} {optimizer:4s} {loss:13s} B={batch:<3d}"
        losses = " ".join(f"{loss:8.2g}" for loss in means(line))
        print(f"{name.format(**line)}  best {best(line):5.3g} |{losses}")
    for optimizer in ("sgd", "adam"):
        for seen in ("first", "between", "last"):
            some = [each for each in lines if each["optimizer"] == optimizer and _case(each).seen == seen]
            print(
                f"{optimizer}, {seen}: of {len(some)} {within(some, 3)} within a factor of three, {within(some, 4)} of four"
            )


def _case(line: dict) -> Case:
    return Case(**{name: line[name] for name in Case.__dataclass_fields__})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs=2, type=int, default=(0, 1), metavar=("I", "OF"))
    parser.add_argument("--merge", type=int, metavar="OF", help="the parts into one record")
    parser.add_argument("--show", action="store_true", help="the record as it is")
    options = parser.parse_args()
    if options.show:
        show(json.loads(RECORD.read_text()))
        return
    part, of = options.part
    if options.merge:
        parts = [json.loads(RECORD.with_suffix(f".{i}.json").read_text()) for i in range(options.merge)]
        lines = [parts[i % options.merge][i // options.merge] for i in range(len(cases()))]
        RECORD.write_text(written(lines))
        return
    lines = []
    for case in cases()[part::of]:
        lines.append(measured(case))
        print(*asdict(case).values(), best(lines[-1]), flush=True)
        RECORD.with_suffix(f".{part}.json" if of > 1 else ".json").write_text(written(lines))


def written(lines: list[dict]) -> str:
    """One line a case."""

    def short(loss: float) -> float:
        return float(f"{loss:.4g}") if loss < DIVERGED else DIVERGED  # NaN is not

    rounded = [each | {"losses": [[short(loss) for loss in row] for row in each["losses"]]} for each in lines]
    return "[\n" + ",\n".join(json.dumps(each) for each in rounded) + "\n]\n"


if __name__ == "__main__":
    main()
