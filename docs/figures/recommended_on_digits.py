"""Deep MLPs on handwritten digits, initialised and trained as `recommend` says, against what people do by default, with SGD and with Adam.

Every way has the same budget on cross-entropy, as many steps and samples, and three learning rates of which the one with the lowest
training loss is shown. Defaults have one rate for all parameters: 0.01, 0.03 or 0.1 of SGD, 0.0003, 0.001 or 0.003 of Adam; `recommend` its
rates by layer, of a third, one or three times their own size. At these depths over width it advises skip connections; "plain" is without
them. "pre-norm" is z + W sigma(LayerNorm(z)) + b with PyTorch's initialisation, and a LayerNorm before the readout.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from save import panels, save
from sklearn.datasets import load_digits

import finitewidth as fw
from finitewidth.advice.global_rate import numbers_of_rates

ACTIVATIONS, DEPTHS = ("tanh", "relu", "gelu"), (8, 16, 32, 64)
WIDTH, SEEDS, STEPS, BATCH, TRAIN = 64, 3, 150, 32, 1400
DEFAULT_RATES = {"sgd": (0.01, 0.03, 0.1), "adam": (0.0003, 0.001, 0.003)}
FACTORS = (1 / 3, 1.0, 3.0)
RATES = len(FACTORS)
ADVISED = {"sgd": "cross_entropy_rate", "adam": "adam_cross_entropy_rate"}


@dataclass(frozen=True)
class Way:
    """How to initialise and to train."""

    initialisation: str
    optimizer: str
    skips: str = ""
    """Of which kind: those that are advised, around all but the first layer and the readout, or with norms before activations."""

    @property
    def name(self):
        """As the legend has it."""
        return {"sgd": "{}, SGD", "adam": "{}, Adam"}[self.optimizer].format(
            "pre-norm" if self.skips == "pre-norm" else self.initialisation + self.unusual
        )

    @property
    def unusual(self):
        """Defaults do not have the skips that are advised; `benchmarks/recommended_elsewhere.py` gives them to some."""
        return " + skips" if self.skips == "advised" and not self.ours else ""

    @property
    def ours(self):
        """Whether scale of inputs and rates are those of an advice."""
        return self.initialisation in ("recommend", "plain")


COLORS = {"recommend": "#D55E00", "plain": "#CC79A7", "He": "#0072B2", "Xavier": "#009E73", "PyTorch": "#808080"}
WAYS = (
    Way("recommend", "sgd", "advised"),
    Way("He", "sgd"),
    Way("Xavier", "sgd"),
    Way("recommend", "adam", "advised"),
    Way("plain", "adam"),
    Way("He", "adam"),
    Way("Xavier", "adam"),
    Way("PyTorch", "adam", "pre-norm"),
)


def digits():
    """Inputs of mean zero and unit mean square, and labels: training, then test."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = ((x - x.mean()) / x.std())[order], y[order]
    return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])


def drawn(initialisation, net, random):
    """Weights and biases of the hidden layers, stacked, and of the last one."""

    def layer(shape, C_b, C_W):
        fan_in, fan_out = shape[-1], shape[-2]
        if initialisation == "PyTorch":
            bound = fan_in**-0.5
            return random.uniform(-bound, bound, shape), random.uniform(-bound, bound, shape[:-1])
        if initialisation == "Xavier":
            bound = (6 / (fan_in + fan_out)) ** 0.5
            return random.uniform(-bound, bound, shape), np.zeros(shape[:-1])
        weights = random.normal(size=shape) * (C_W[..., None, None] / fan_in) ** 0.5
        return weights, random.normal(size=shape[:-1]) * C_b[..., None] ** 0.5

    C_b, C_W = np.asarray(net.C_b), np.asarray(net.C_W)
    if initialisation == "He":
        C_b, C_W = 0 * C_b, 0 * C_W + 2
    hidden = layer((net.depth - 1, WIDTH, WIDTH), C_b[:-1], C_W[:-1])
    return *hidden, *layer((net.widths[-1], WIDTH), C_b[-1], C_W[-1])


def rates_of(way, net, numbers, inputs, place):
    """Of every layer: those of weights and of biases."""
    if not way.ours:
        return (np.full(net.depth, DEFAULT_RATES[way.optimizer][place]),) * 2
    eta = FACTORS[place] * numbers[ADVISED[way.optimizer]].value
    rates = fw.learning_rates(net, way.optimizer, rate=eta, x=inputs)
    return rates.weight, rates.bias


def normalised(z):
    """LayerNorm over neurons, the first axis."""
    z = z - jnp.mean(z, axis=0)
    return z / jnp.sqrt(jnp.mean(z**2, axis=0) + 1e-5)


def trainer(sigma, optimizer, norm):
    """A compiled function: parameters and rates of many networks, batches, whole sets -> losses and accuracies."""
    by = optax.scale_by_adam() if optimizer == "adam" else optax.identity()

    def seen(z):
        return sigma(normalised(z) if norm else z)

    def logits(params, gamma, x):
        W, b, W_last, b_last = params

        def layer(z, of):
            return of[0] @ seen(z) + of[1][:, None] + gamma * z, None

        z, _ = jax.lax.scan(layer, W[0] @ x.T + b[0][:, None], (W[1:], b[1:]))
        return (W_last @ seen(z) + b_last[:, None]).T

    def loss(params, gamma, x, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits(params, gamma, x)), y[:, None], axis=1))

    def train(params, weight, bias, scale, gamma, batches, x, y, x_test, y_test):
        rates = weight[:-1, None, None], bias[:-1, None], weight[-1], bias[-1]

        def step(state, batch):
            params, memory = state
            updates, memory = by.update(jax.grad(loss)(params, gamma, scale * x[batch], y[batch]), memory)
            return (jax.tree.map(lambda p, r, u: p - r * u, params, rates, updates), memory), None

        (params, _), _ = jax.lax.scan(step, (params, by.init(params)), batches)
        right = jnp.argmax(logits(params, gamma, scale * x_test), axis=1) == y_test
        return loss(params, gamma, scale * x, y), jnp.mean(right)

    return jax.jit(jax.vmap(train, in_axes=(0, 0, 0, 0, 0, 0, None, None, None, None)))


def results(activation, depth, train, test, ways=WAYS):
    """Final training loss and test accuracy, for every way: (rates, seeds)."""
    outputs = int(train[1].max()) + 1
    advice = fw.recommend(activation=activation, depth=depth, width=WIDTH, outputs=outputs, data=train[0])
    inputs = advice.numbers["input_scale"].value * train[0]
    # Rates of the network without skips are those advised for it.
    of = {"recommend": advice.net, "plain": advice.plain}
    numbers = {way: {each.name: each for each in numbers_of_rates(net, inputs)} for way, net in of.items()}
    found = {}
    for kind in {(way.optimizer, way.skips == "pre-norm") for way in ways}:
        mine = [way for way in ways if (way.optimizer, way.skips == "pre-norm") == kind]
        cases = [(way, place, seed) for way in mine for place in range(RATES) for seed in range(SEEDS)]
        # the same numbers are drawn for every rate, and the same batches for every way
        nets = {way: of.get(way.initialisation, advice.plain) for way in mine}
        params = [drawn(way.initialisation, nets[way], np.random.default_rng(seed)) for way, _, seed in cases]
        rates = {
            (way, place): rates_of(way, nets[way], numbers.get(way.initialisation), inputs[:64], place)
            for way in mine
            for place in range(RATES)
        }
        stacked = [stack([each[i] for each in params]) for i in range(4)]
        weight, bias = (stack([rates[way, place][i] for way, place, _ in cases]) for i in (0, 1))
        scale = advice.numbers["input_scale"].value
        gammas = {"": 0.0, "advised": float(getattr(advice.net, "gamma", 0.0)), "pre-norm": 1.0}
        batches = np.stack(
            [np.random.default_rng(seed).integers(len(train[0]), size=(STEPS, BATCH)) for _, _, seed in cases]
        )
        sets = (jnp.asarray(part, jnp.float32 if part.ndim == 2 else int) for part in (*train, *test))
        losses, accuracies = trainer(fw.ACTIVATIONS[activation].value, *kind)(
            tuple(stacked),
            weight,
            bias,
            stack([scale if way.ours else 1.0 for way, _, _ in cases]),
            stack([gammas[way.skips] for way, _, _ in cases]),
            jnp.asarray(batches),
            *sets,
        )
        shape = (len(mine), RATES, SEEDS)
        found |= dict(zip(mine, zip(losses.reshape(shape), accuracies.reshape(shape), strict=True), strict=True))
    return [np.stack([np.asarray(found[way][i]) for way in ways]) for i in (0, 1)]


def stack(parts):
    return jnp.asarray(np.stack(parts), jnp.float32)


def best_of(by_depth, place):
    """Losses and accuracies of one way at its best rate, the one with the lowest mean training loss: (depths, seeds) each."""
    shown = []
    for losses, accuracies in by_depth:
        mine = np.nan_to_num(losses[place], nan=np.inf)
        best = int(np.argmin(mine.mean(axis=1)))
        shown.append((mine[best], accuracies[place][best]))
    return list(zip(*shown, strict=True))


def drawn_by_depth(panel, values, place, way):
    """Medians over seeds, with the range of all."""
    middle = [np.median(each) for each in values]
    spread = [(m - np.min(e), np.max(e) - m) for m, e in zip(middle, values, strict=True)]
    shift = np.array(DEPTHS) * 1.025 ** (place - 3.5)
    color = "black" if way.skips == "pre-norm" else COLORS[way.initialisation]
    line = {"sgd": ":", "adam": "-"}[way.optimizer]
    style = {"color": color, "linestyle": line, "marker": "o", "markersize": 3.5, "capsize": 2}
    panel.errorbar(shift, middle, np.transpose(spread), label=way.name, **style)


def main():
    """Trains them all, draws losses and accuracies by depth, and prints the losses."""
    train, test = digits()
    axes = panels(2, len(ACTIVATIONS), 12.5, 7)
    for column, activation in enumerate(ACTIVATIONS):
        by_depth = [results(activation, depth, train, test) for depth in DEPTHS]
        for place, way in enumerate(WAYS):
            both = best_of(by_depth, place)
            print(f"{activation:5s} {way.name:18s}", *(f"{np.median(each):8.4f}" for each in both[0]), flush=True)
            for row, shown in enumerate(both):
                drawn_by_depth(axes[row, column], shown, place, way)
        axes[0, column].set(title=activation, yscale="log", ylabel="training loss" if column == 0 else "")
        axes[1, column].set(xlabel="depth", ylim=(0, 1), ylabel="test accuracy" if column == 0 else "")
        for panel in axes[:, column]:
            panel.set_xscale("log", base=2)
            panel.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
    axes[1, 0].legend(loc="lower left", fontsize=7, ncols=2)
    save("recommended_on_digits")


if __name__ == "__main__":
    main()
