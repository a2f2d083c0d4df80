"""Deep MLPs on handwritten digits, initialised and trained as `recommend` says, against common defaults.

Every way has the same budget: plain SGD on cross-entropy, as many steps and samples, and three learning rates of which the one with the
lowest training loss is shown. Defaults have one rate for all parameters, 0.01, 0.03 or 0.1; `recommend` its rates by layer, of 0.3, 1 or 3
times its own size. At these depths over width it advises skip connections; "plain" is without them.
"""

import jax
import jax.numpy as jnp
import numpy as np
from save import panels, save
from sklearn.datasets import load_digits

import finitewidth as fw

ACTIVATIONS, DEPTHS = ("tanh", "relu", "gelu", "swish"), (16, 32, 64)
WIDTH, SEEDS, STEPS, BATCH, TRAIN = 64, 3, 150, 32, 1400
DEFAULT_RATES, FACTORS = (0.01, 0.03, 0.1), (0.3, 1.0, 3.0)
RATES = len(FACTORS)
WAYS = {"recommend": "#D55E00", "plain": "#CC79A7", "He": "#0072B2", "Xavier": "#009E73", "PyTorch": "#808080"}
OURS = ("recommend", "plain")
SKIPS = " + skips"


def digits():
    """Inputs of mean zero and unit mean square, and labels: training, then test."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = ((x - x.mean()) / x.std())[order], y[order]
    return (x[:TRAIN], y[:TRAIN]), (x[TRAIN:], y[TRAIN:])


def drawn(way, net, random):
    """Weights and biases of the hidden layers, stacked, and of the last one."""

    def layer(shape, C_b, C_W):
        fan_in, fan_out = shape[-1], shape[-2]
        if way == "PyTorch":
            bound = fan_in**-0.5
            return random.uniform(-bound, bound, shape), random.uniform(-bound, bound, shape[:-1])
        if way == "Xavier":
            bound = (6 / (fan_in + fan_out)) ** 0.5
            return random.uniform(-bound, bound, shape), np.zeros(shape[:-1])
        weights = random.normal(size=shape) * (C_W[..., None, None] / fan_in) ** 0.5
        return weights, random.normal(size=shape[:-1]) * C_b[..., None] ** 0.5

    C_b, C_W = np.asarray(net.C_b), np.asarray(net.C_W)
    if way == "He":
        C_b, C_W = 0 * C_b, 0 * C_W + 2
    hidden = layer((net.depth - 1, WIDTH, WIDTH), C_b[:-1], C_W[:-1])
    return *hidden, *layer((net.widths[-1], WIDTH), C_b[-1], C_W[-1])


def rates_of(way, net, rate, place):
    """Of every layer: those of weights and of biases."""
    if way not in OURS:
        return np.full(net.depth, DEFAULT_RATES[place]), np.full(net.depth, DEFAULT_RATES[place])
    rates = fw.learning_rates(net, "sgd", rate=FACTORS[place] * rate)
    return rates.weight, rates.bias


def trainer(sigma):
    """A compiled function: parameters and rates of many networks, batches, whole sets -> losses and accuracies."""

    def logits(params, gamma, x):
        W, b, W_last, b_last = params

        def layer(z, of):
            return of[0] @ sigma(z) + of[1][:, None] + gamma * z, None

        z, _ = jax.lax.scan(layer, W[0] @ x.T + b[0][:, None], (W[1:], b[1:]))
        return (W_last @ sigma(z) + b_last[:, None]).T

    def loss(params, gamma, x, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits(params, gamma, x)), y[:, None], axis=1))

    def train(params, weight, bias, scale, gamma, batches, x, y, x_test, y_test):
        def step(params, batch):
            g = jax.grad(loss)(params, gamma, scale * x[batch], y[batch])
            W, b, W_last, b_last = params
            new = (
                W - weight[:-1, None, None] * g[0],
                b - bias[:-1, None] * g[1],
                W_last - weight[-1] * g[2],
                b_last - bias[-1] * g[3],
            )
            return new, None

        params, _ = jax.lax.scan(step, params, batches)
        right = jnp.argmax(logits(params, gamma, scale * x_test), axis=1) == y_test
        return loss(params, gamma, scale * x, y), jnp.mean(right)

    return jax.jit(jax.vmap(train, in_axes=(0, 0, 0, 0, 0, 0, None, None, None, None)))


def results(activation, depth, train, test, run, ways=tuple(WAYS)):
    """Final training loss and test accuracy, for every way: (rates, seeds). A default "+ skips" has the skips that are advised."""
    outputs = int(train[1].max()) + 1
    advice = fw.recommend(activation=activation, depth=depth, width=WIDTH, outputs=outputs, data=train[0])
    scale, rate = (advice.numbers[name].value for name in ("input_scale", "cross_entropy_rate"))
    nets = dict.fromkeys(ways, advice.plain) | {"recommend": advice.net}
    cases = [(way, place, seed) for way in ways for place in range(RATES) for seed in range(SEEDS)]
    # the same numbers are drawn for every rate, and the same batches for every way
    params = [drawn(way.removesuffix(SKIPS), nets[way], np.random.default_rng(seed)) for way, _, seed in cases]
    params = tuple(jnp.asarray(np.stack(part), jnp.float32) for part in zip(*params, strict=True))
    weight, bias = (
        jnp.asarray(np.stack(part), jnp.float32)
        for part in zip(*(rates_of(way, nets[way], rate, place) for way, place, _ in cases), strict=True)
    )
    scales = jnp.asarray([scale if way in OURS else 1.0 for way, _, _ in cases], jnp.float32)
    gamma = float(getattr(advice.net, "gamma", 0.0))
    skips = [way == "recommend" or way.endswith(SKIPS) for way, _, _ in cases]
    gammas = jnp.asarray(gamma * np.array(skips), jnp.float32)
    count = len(train[0])
    batches = np.stack([np.random.default_rng(seed).integers(count, size=(STEPS, BATCH)) for _, _, seed in cases])
    sets = (jnp.asarray(part, jnp.float32 if part.ndim == 2 else int) for part in (*train, *test))
    found = run(params, weight, bias, scales, gammas, jnp.asarray(batches), *sets)
    return [np.asarray(part).reshape(len(ways), RATES, SEEDS) for part in found]


def best_of(by_depth, place):
    """Losses and accuracies of one way at its best rate, the one with the lowest mean training loss: (depths, seeds) each."""
    shown = []
    for losses, accuracies in by_depth:
        mine = np.nan_to_num(losses[place], nan=np.inf)
        best = int(np.argmin(mine.mean(axis=1)))
        shown.append((mine[best], accuracies[place][best]))
    return list(zip(*shown, strict=True))


def drawn_by_depth(panel, values, place, color, **style):
    """Medians over seeds, with the range of all."""
    middle = [np.median(each) for each in values]
    spread = [(m - np.min(e), np.max(e) - m) for m, e in zip(middle, values, strict=True)]
    shift = np.array(DEPTHS) * 1.03 ** (place - 1.5)
    panel.errorbar(shift, middle, np.transpose(spread), color=color, marker="o", markersize=4, capsize=2, **style)


def main():
    """Trains them all and draws losses and accuracies by depth."""
    train, test = digits()
    axes = panels(2, len(ACTIVATIONS), 12.5, 5.6)
    for column, activation in enumerate(ACTIVATIONS):
        run = trainer(fw.ACTIVATIONS[activation].value)
        by_depth = [results(activation, depth, train, test, run) for depth in DEPTHS]
        for place, (way, color) in enumerate(WAYS.items()):
            for row, shown in enumerate(best_of(by_depth, place)):
                drawn_by_depth(axes[row, column], shown, place, color, label=way)
        axes[0, column].set(title=activation, yscale="log", ylabel="training loss" if column == 0 else "")
        axes[1, column].set(xlabel="depth", ylim=(0, 1), ylabel="test accuracy" if column == 0 else "")
        for panel in axes[:, column]:
            panel.set_xscale("log", base=2)
            panel.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
    axes[1, 0].legend(loc="lower left", fontsize=8)
    save("recommended_on_digits")


if __name__ == "__main__":
    main()
