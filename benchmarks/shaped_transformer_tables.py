"""Tables 1 and 2 of the Shaped Transformer at a size for two processors: shaped against Pre-LN on one text, several seeds.

    python benchmarks/shaped_transformer_tables.py [--minutes 30]

Width 48, twelve blocks, four heads, pieces of 64 characters of Python's own manual, Adam, 320 steps of eight pieces; Recover over the first
80. Of each method the best of three rates is chosen on a validation text with one seed, then four other seeds train at it. Table 1 has the
loss in the last 40 steps and on a held-out text. Table 2 has accuracies after fine-tuning for five epochs on 256 pieces, on two tasks of
two equally likely classes: are words in their order, and does the second half follow the first.

Every run is written to `results/shaped_transformer_tables.json` as it ends; a second call goes on from there and prints the tables.
"""

import argparse
import itertools
import json
import re
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from finitewidth import BlowUpError
from finitewidth.learning.transformer import LanguageModel, Text, python_manual, recover, train
from finitewidth.learning.transformer.model import normalised
from finitewidth.learning.transformer.training import next_token_loss
from finitewidth.networks.shaped import LayerNormTransformer, ShapedAttention, ShapedResNet, ShapedTransformer

RESULTS = Path(__file__).parent / "results" / "shaped_transformer_tables.json"
WIDTH, DEPTH, HEADS, LENGTH, BATCH = 48, 12, 4, 64, 8
STEPS, WARMUP, LAST = 320, 40, 40
RATES, SEEDS = (2e-3, 6e-3, 2e-2), (1, 2, 3, 4)
METHODS = ("Pre-LN", "Learn 0.2", "Recover 0.2", "Learn 0.05", "Recover 0.05")
TASKS = ("order", "follows")
EXAMPLES, EPOCHS, TUNING_BATCH, TUNING_RATE = 256, 5, 16, 1e-3
RECOVER = recover(STEPS // 4)


def parts() -> dict[str, Text]:
    """Eight tenths to learn from, one to choose rates by, one to test on."""
    text = python_manual()
    ends = np.cumsum([0, 8, 1, 1]) * len(text.tokens) // 10
    pieces = (Text(text.alphabet, text.tokens[a:b]) for a, b in itertools.pairwise(ends))
    return dict(zip(("train", "choose", "test"), pieces, strict=True))


def pretrained(method: str, rate: float, seed: int, texts: dict[str, Text]) -> tuple[LanguageModel, dict]:
    """A model of a seed after training, and its losses."""
    name, *gamma = method.split()
    if gamma:
        weight = float(gamma[0])
        attention = ShapedAttention(weight, heads=HEADS, mask="causal")
        block = ShapedTransformer(attention, ShapedResNet(weight, hidden_ratio=4))
    else:
        block = LayerNormTransformer("pre", heads=HEADS, mask="causal", hidden_ratio=4)
    model = LanguageModel(block.at(WIDTH, DEPTH), len(texts["train"].alphabet), LENGTH, jax.random.key(seed))
    how = {"schedule": RECOVER if name == "Recover" else None, "learn_shaping": name == "Learn"}
    run = train(model, texts["train"], STEPS, rate, BATCH, WARMUP, seed, **how)
    held = {part: held_out(run.model, texts[part]) for part in ("choose", "test")}
    return run.model, {"train": float(run.loss[-LAST:].mean()), **held}


@eqx.filter_jit
def _loss(model: LanguageModel, tokens: jax.Array) -> jax.Array:
    return next_token_loss(model, tokens)[0]


def held_out(model: LanguageModel, text: Text) -> float:
    """The loss on 256 pieces, the same for all models."""
    batches = text.batch(jax.random.key(0), 256, LENGTH + 1).reshape(8, 32, LENGTH + 1)
    return float(np.mean([_loss(model, batch) for batch in batches]))


def examples(task: str, text: Text, seed: int, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Pieces, half of them spoilt, and which are whole."""
    random = np.random.default_rng(seed)
    pieces = np.array(text.batch(jax.random.key(seed), many, LENGTH))
    whole = np.arange(many) % 2
    half = LENGTH // 2
    others = np.roll(pieces[:, half:], 2, axis=0)
    for i in np.flatnonzero(whole == 0):
        if task == "follows":
            pieces[i, half:] = others[i]
            continue
        words = re.split(r"(\s+)", "".join(text.alphabet[t] for t in pieces[i]))
        words[::2] = random.permutation(words[::2])
        pieces[i] = [text.alphabet.index(c) for c in "".join(words)]
    return pieces, whole


def fine_tuned(model: LanguageModel, learn: bool, task: str, seed: int, texts: dict[str, Text]) -> float:
    """The accuracy on held-out pieces of a linear classifier of the last token, trained with all weights below it."""
    shaping, pre = model.shaping, isinstance(model.net.block, LayerNormTransformer)

    def logits(model: LanguageModel, head: jax.Array, tokens: jax.Array) -> jax.Array:
        if not learn:
            model = eqx.tree_at(lambda m: m.shaping, model, shaping)
        stream = jax.vmap(lambda piece: model.passed(piece)[0][-1])(tokens)
        return (normalised(stream) if pre else stream) @ head

    optimiser = optax.adam(TUNING_RATE)

    @eqx.filter_jit
    def step(state: tuple, tokens: jax.Array, classes: jax.Array) -> tuple:
        of, moments = state
        cost = lambda of: optax.softmax_cross_entropy_with_integer_labels(logits(*of, tokens), classes).mean()  # noqa: E731
        updates, moments = optimiser.update(eqx.filter_grad(cost)(of), moments)
        return eqx.apply_updates(of, updates), moments

    of = (model, jnp.zeros((WIDTH, 2)))
    state = of, optimiser.init(eqx.filter(of, eqx.is_inexact_array))
    pieces, classes = examples(task, texts["train"], seed, EXAMPLES)
    random = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        for batch in random.permutation(EXAMPLES).reshape(-1, TUNING_BATCH):
            state = step(state, jnp.asarray(pieces[batch]), jnp.asarray(classes[batch]))
    pieces, classes = examples(task, texts["test"], 1000, 512)
    found = jnp.argmax(eqx.filter_jit(logits)(*state[0], jnp.asarray(pieces)), axis=1)
    return float(np.mean(np.asarray(found) == classes))


def run_all(done: dict, minutes: float) -> None:
    """What is missing in `done`, until the time is over."""
    start, texts = time.monotonic(), parts()

    def ran_out() -> bool:
        return time.monotonic() - start > 60 * minutes

    for method in METHODS:
        for rate, seed in [(rate, 0) for rate in RATES] + [(None, seed) for seed in SEEDS]:
            rate = chosen(done, method) if rate is None else rate
            key = f"{method}, rate {rate:g}, seed {seed}"
            if key in done:
                continue
            if ran_out():
                return
            try:
                model, found = pretrained(method, rate, seed, texts)
                if seed > 0:
                    learn = method.startswith("Learn")
                    found |= {task: fine_tuned(model, learn, task, seed, texts) for task in TASKS}
            except BlowUpError:
                found = {"train": None, "choose": None, "test": None}
            done[key] = found
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(done, indent=1) + "\n", "utf-8")
            print(key, found, flush=True)


def chosen(done: dict, method: str) -> float:
    """The rate of the lowest loss on the validation text."""
    losses = {rate: done[f"{method}, rate {rate:g}, seed 0"]["choose"] for rate in RATES}
    return min((rate for rate in RATES if losses[rate] is not None), key=lambda rate: losses[rate])


def tables(done: dict) -> str:
    """Both, as on the page of the room: means over seeds, one standard deviation, and the mean difference to Pre-LN seed by seed with its
    standard error."""
    columns = ("train", "test", *TASKS)
    values = {
        method: np.array(
            [[done[f"{method}, rate {chosen(done, method):g}, seed {seed}"][c] for c in columns] for seed in SEEDS]
        )
        for method in METHODS
    }
    lines = ["| | rate | " + " | ".join(columns) + " | test, less Pre-LN |", "|" + "---|" * (len(columns) + 3)]
    for method, each in values.items():
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(each.mean(axis=0), each.std(axis=0, ddof=1), strict=True)]
        apart = each[:, 1] - values["Pre-LN"][:, 1]
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        last = "" if method == "Pre-LN" else f"{apart.mean():+.3f} ± {error:.3f}"
        lines.append(f"| {method} | {chosen(done, method):g} | {' | '.join(cells)} | {last} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no run after so many")
    options = parser.parse_args()
    done = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    run_all(done, options.minutes)
    print(tables(done))


if __name__ == "__main__":
    main()
