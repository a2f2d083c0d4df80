"""Wrong calls of every public function, and what becomes of them: `python tools/fuzz.py`.

The examples in the docstrings are the right calls. In each of the wrong ones one argument or two are replaced: by another type, another
shape, NaN, infinity, numbers that are huge or tiny, text, True, masked arrays, models of other libraries. What happens is counted:

- ok: a result without NaN, for an argument that may be right;
- clear: an error of ours that names an argument (or says that numbers overflow, and what to do);
- unclear: any other error;
- NaN: a result with NaN where the right call has none;
- accepted: a result, though the argument was of a type that cannot be right.

The last three must be zero; each is printed with the call that made it, and the exit code is one. A call that asks for more memory than
`--gigabytes` fails there and is unclear: a size that cannot be meant must be refused by name before anything is allocated.
"""

import argparse
import collections
import contextlib
import doctest
import functools
import inspect
import io
import math
import os
import random
import resource
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("MPLBACKEND", "agg")

import jax
import jax.numpy as jnp
import numpy as np

import finitewidth as fw
from finitewidth._errors import ArgumentError, BlowUpError

# Slow even for small arguments: of these only what can never be right is tried, which they must refuse before they begin.
AT_THE_DOOR = (
    'fw.reports.report(fw.MLP("relu", (2, 8, 8, 1), C_W=2.0), [[1.0, 0.5]], networks=100, seed=0)',
    "fw.reports.transformer_report(fw.ShapedTransformer(fw.ShapedAttention(0.2), fw.ShapedResNet(0.2)).at(8, 2), "
    "fw.shaped.equal_tokens(2, 0.2), networks=4, paths=8, seed=0)",
    "fw.advice.recommend_shaping(fw.ShapedTransformer(fw.ShapedAttention(0.2), fw.ShapedResNet(0.2)), fw.shaped.equal_tokens(2, 0.2), "
    "0.1, seed=0, gammas=[0.1], temperatures=[1.0])",
    "fw.proportional.step_advice(fw.ShapedMLP(fw.shaped.shaped_relu()), fw.shaped.equal_tokens(2, 0.2), 0.1, steps=2, paths=8, seed=0)",
    'fw.figures.activation_gallery(["tanh"])',
)
LEFT_OUT = {"compilation_cache"} | {call.partition("(")[0].split(".")[-1] for call in AT_THE_DOOR}
NAN_HAS_A_MEANING = {"phase_diagram"}  # where the kernel has no fixed point, or none that can be found
CALLS = (
    "fw.learning.kernel.smooth_labels([[1.0, 0.0]], 0.1)",
    'fw.shaped.LayerNormTransformer("pre", 0.5, heads=2, mask=None, key_width=None, output_projection=False, hidden_ratio=1.0)',
    'fw.ResidualMLP("relu", width=8, depth=3, gamma=0.5, C_b=0.0, C_W=1.5, lambda_b=1.0, lambda_W=1.0, inputs=2, outputs=1)',
    'fw.MLP("relu", (2, 8, 8, 1), C_b=0.0, C_W=2.0, lambda_b=1.0, lambda_W=1.0)',
    "fw.ShapedAttention(0.3, tau0=1.0, heads=2, mask=None, key_width=None, output_projection=False, exponent=0.5)",
    "fw.ShapedResNet(0.3, hidden_ratio=1.0)",
    "fw.ShapedMLP(fw.shaped.shaped_relu())",
    "fw.shaped.AblatedAttention(fw.ShapedAttention(0.3), identity=True, centred=True, shaped_temperature=True)",
)


class MLP:
    """A model of another library, with a familiar name."""


class Missing:
    """Something that nobody expects."""


NEVER = "cannot be right"
PERHAPS = "may be right"
ANYTHING = [("an object", Missing()), ("another library's model", MLP()), ("a dictionary", {"a": 1}), ("bytes", b"1")]
NUMBERS = [
    *[(repr(value), value, NEVER) for value in ("2", "abc", True, math.nan, math.inf, -math.inf, 1j)],
    *[(repr(value), value, PERHAPS) for value in (0.0, -1.0, 1e308, 1e300, 1e-320, 1e-300, 1e10, 0.5)],
    ("a list", [1.0, 2.0], NEVER),
    ("masked", np.ma.masked, NEVER),
    ("NumPy's number", np.float32(0.5), PERHAPS),
]
COUNTS = [
    *[(repr(value), value, NEVER) for value in ("3", True, 2.5, math.nan, -1, [3], 1j)],
    *[(repr(value), value, PERHAPS) for value in (0, 1, 2**70)],
]
FLAGS = [(repr(value), value, NEVER) for value in ("yes", 2, 0.5, [True])]
WORDS = [(repr(value), value, NEVER) for value in ("no such name", 3, True, ["sgd"])]


def functions_that_are_wrong() -> list[tuple[str, Any, str]]:
    """In place of activations, observables and averages."""
    return [
        ("3", 3, NEVER),
        ("text", "no such function", NEVER),
        ("returns text", lambda *z: "text", NEVER),
        ("returns None", lambda *z: None, NEVER),
        ("raises", lambda *z: 1 / 0, NEVER),
        ("of no argument", lambda: 1.0, NEVER),
        ("returns NaN", lambda *z: jnp.nan * jnp.sum(jnp.asarray(z[0])), NEVER),
        ("index out of range", lambda z: z[99, 0] if jnp.ndim(z) > 1 else z[99], NEVER),
    ]


def arrays_like(good: np.ndarray) -> list[tuple[str, Any, str]]:
    """Wrong and strange arrays in place of one that is right."""
    first = (0,) * good.ndim

    def with_entry(value: Any, dtype: Any = None) -> np.ndarray:
        array = np.array(good, dtype=dtype or float)
        array[first] = value
        return array

    return [
        ("NaN in it", with_entry(math.nan), NEVER),
        ("infinity in it", with_entry(math.inf), NEVER),
        ("masked entry", np.ma.masked_array(good, np.arange(good.size).reshape(good.shape) == 0), NEVER),
        ("text", np.full(good.shape, "1.0").tolist(), NEVER),
        ("booleans", np.ones(good.shape, dtype=bool), NEVER),
        ("complex", with_entry(1j, complex), NEVER),
        ("objects", with_entry(None, object), NEVER),
        ("ragged", [[1.0], [1.0, 2.0]], NEVER),
        ("another axis", good[None], PERHAPS),
        ("empty", np.zeros((0, *good.shape[1:])), PERHAPS),
        ("one number", 1.0, PERHAPS),
        ("huge", 1e300 * good, PERHAPS),
        ("tiny", 1e-300 * good, PERHAPS),
        ("zeros", 0 * good, PERHAPS),
        ("negative", -good, PERHAPS),
        ("too long", np.concatenate([good, good], axis=-1), PERHAPS),
        ("word", "abc", NEVER),
    ]


def wrong_values(good: Any, default: Any, annotation: Any = None) -> list[tuple[str, Any, str]]:
    """What to put in place of an argument, and whether it can be right: where a number is wanted, a list may be meant elementwise."""
    anything = [(name, value, NEVER) for name, value in ANYTHING]
    nothing = [] if default is None else [("None", None, NEVER)]
    if isinstance(good, bool):
        return FLAGS + anything
    if isinstance(good, int):
        many = [("[3]", [3], PERHAPS)] if any(kind in str(annotation) for kind in ("Any", "Sequence")) else []
        return [*(count for count in COUNTS if count[0] not in [each[0] for each in many]), *many, *anything, *nothing]
    if isinstance(good, float) or (isinstance(good, np.ndarray | jax.Array) and np.ndim(good) == 0):
        may_be_right = ["a list"] if any(kind in str(annotation) for kind in ("Any", "Sequence")) else []
        may_be_right += ["inf"] if default == math.inf else []
        numbers = [(what, bad, PERHAPS if what in may_be_right else verdict) for what, bad, verdict in NUMBERS]
        return numbers + anything + nothing
    if isinstance(good, str):
        return WORDS + anything + nothing
    if isinstance(good, np.ndarray | jax.Array) and good.dtype.kind == "f":
        return arrays_like(np.asarray(good)) + anything + nothing
    if isinstance(good, list | tuple) and good and np.asarray(good, dtype=object).dtype == object:
        with contextlib.suppress(ValueError, TypeError):
            array = np.asarray(good)
            if array.dtype.kind in "fi":
                return arrays_like(array.astype(float)) + anything + nothing
    if callable(good) and not isinstance(good, fw.Activation | fw.networks.Network):
        return functions_that_are_wrong() + anything[2:] + nothing
    if good is None:
        return anything
    return [("3", 3, NEVER), ("text", "abc", NEVER), *anything, *nothing]


def named(module: ModuleType) -> list[tuple[str, Any]]:
    """What a module offers, also what it imports only when it is asked for."""
    return [(name, getattr(module, name)) for name in dir(module) if not name.startswith("_")]


def public_modules() -> list[ModuleType]:
    """The package and its rooms."""
    found, ahead = [], [fw]
    while ahead:
        module = ahead.pop()
        found.append(module)
        rooms = [thing for name, thing in named(module) if inspect.ismodule(thing)]
        ahead += [room for room in rooms if hasattr(room, "__path__") and room.__name__.startswith("finitewidth.")]
        ahead = [room for room in ahead if room not in found]
    return found


def name_of(function: Callable[..., Any]) -> str:
    """With its room, for two rooms may have functions of one name."""
    return f"{function.__module__.split('.')[1]}.{function.__qualname__}"


def right_calls(only: str = "") -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """The public functions, by room and name, with the arguments that they have in the examples of all docstrings, the first time; with
    `only`, in the examples of functions whose name contains it."""
    found: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {}

    def recorder(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(TypeError):
                bound = inspect.signature(function).bind(*args, **kwargs)
                bound.apply_defaults()
                found.setdefault(name_of(function), (function, dict(bound.arguments)))
            return function(*args, **kwargs)

        return recorded

    originals, examples = [], {}
    for module in public_modules():
        for name, thing in named(module):
            ours = inspect.isfunction(thing) and thing.__module__.startswith("finitewidth.")
            if ours and thing.__name__ not in LEFT_OUT:
                originals.append((module, name, thing))
                examples[thing] = (inspect.getdoc(thing) or "") if only in thing.__name__ else ""
    for module, name, thing in originals:
        setattr(module, name, recorder(thing))
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            for text in examples.values():
                names = {"fw": fw, "np": np, "path": Path(folder) / "thing.fw"}
                try:
                    for example in doctest.DocTestParser().get_examples(text):
                        exec(compile(example.source, "example", "single"), names)
                except (
                    Exception
                ) as error:  # an example that does not run is for the tests of examples; the others count
                    print(f"an example fails: {text.partition(chr(10))[0]} {error}", file=sys.stderr)
    finally:
        for module, name, thing in originals:
            setattr(module, name, thing)
    for source in CALLS + AT_THE_DOOR:
        name = source.partition("(")[0].removeprefix("fw.")
        if only not in name:
            continue
        kind = functools.reduce(getattr, name.split("."), fw)
        call = eval(source.replace(f"fw.{name}(", "dict_of(", 1), {"fw": fw, "dict_of": lambda *a, **k: (a, k)})
        bound = inspect.signature(kind).bind(*call[0], **call[1])
        bound.apply_defaults()
        found[name] = (kind, dict(bound.arguments))
    return found


def wrong_calls(good: dict[str, Any], function: Callable[..., Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """One argument wrong at a time, all values of all arguments."""
    parameters = inspect.signature(function).parameters
    for name, value in good.items():
        if name in (
            "axes",
            "progress",
            "checkpoint",
            "path",
            "argument",
            "title",
            "label",
            "color",
            "name",
            "thing",
            "params",
        ):
            continue
        if parameters[name].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            continue
        for what, bad, verdict in wrong_values(value, parameters[name].default, parameters[name].annotation):
            if verdict == PERHAPS and function.__name__ in LEFT_OUT:
                continue
            yield f"{name} = {what}", good | {name: bad}, verdict


def nan_places(result: Any) -> set[str]:
    """The leaves of a result that have NaN in them."""
    leaves = jax.tree_util.tree_leaves_with_path(_fields(result))
    arrays = (
        (jax.tree_util.keystr(place), leaf)
        for place, leaf in leaves
        if isinstance(leaf, np.ndarray | float | jax.Array)
    )
    return {place for place, leaf in arrays if np.asarray(leaf).dtype.kind == "f" and np.isnan(leaf).any()}


def _fields(result: Any) -> Any:
    plain = (
        hasattr(result, "__dataclass_fields__") and jax.tree.leaves(result) == [result]
        if not isinstance(result, np.ndarray)
        else False
    )
    return dict(vars(result)) if plain else result


def outcome(function: Callable[..., Any], arguments: dict[str, Any], verdict: str, usual: set[str]) -> tuple[str, str]:
    """What becomes of a call, and the message if there is one."""
    parameters = inspect.signature(function).parameters
    bound = inspect.BoundArguments(inspect.signature(function), collections.OrderedDict(arguments))
    try:
        result = function(*bound.args, **bound.kwargs)
    except BlowUpError as error:
        return "clear", str(error)
    except ArgumentError as error:
        named = any(part.partition("[")[0].strip() in parameters for part in error.argument.split(",")) or "`" in str(
            error
        )
        return ("clear" if named else "unclear"), str(error)
    except Exception as error:
        return "unclear", f"{type(error).__name__}: {error}"
    if verdict == NEVER:
        return "accepted", ""
    unusual = set() if function.__name__ in NAN_HAS_A_MEANING else nan_places(result) - usual
    return ("NaN", str(unusual)) if unusual else ("ok", "")


def chosen_calls(calls: int, seed: int = 0, only: str = "", every: int = 1) -> list[tuple[Any, ...]]:
    """Name, function, usual places of NaN, what is wrong, arguments and verdict of so many calls: one argument wrong, all of them, or
    a sample if they are too many; then two wrong, of functions that are cheap when called rightly."""
    good = {name: call for name, call in right_calls(only).items() if only in name}
    todo = []
    cheap = set()
    for name, (function, arguments) in sorted(good.items()):
        try:
            started = time.process_time()
            tried = not inspect.isclass(function) and function.__name__ not in LEFT_OUT
            usual = nan_places(function(**arguments)) if tried else set()
            cheap |= {name} if time.process_time() - started < 0.5 else set()
        except Exception:
            usual = set()
            cheap.add(name)
        todo += [(name, function, usual, *call) for call in wrong_calls(arguments, function)]
    generator = random.Random(seed)
    if calls <= len(todo):
        return generator.sample(todo, calls)[::every]
    chosen = todo[::every]
    while len(chosen) < calls and every == 1:
        name, function, usual, what, arguments, verdict = generator.choice(todo)
        changed = what.partition(" = ")[0]
        others = [call for call in todo if call[0] == name and call[3].partition(" = ")[0] != changed]
        if others and name in cheap:
            other = generator.choice(others)
            place = other[3].partition(" = ")[0]
            worst = NEVER if NEVER in (verdict, other[5]) else PERHAPS
            both = arguments | {place: other[4][place]}
            chosen.append((name, function, usual, f"{what}, {other[3]}", both, worst))
        elif not others:
            chosen.append((name, function, usual, what, arguments, verdict))
    return chosen


def fuzz(
    chosen: list[tuple[Any, ...]], tell: Callable[[str], object] = print, seconds: float = 300.0
) -> collections.Counter[str]:
    """Counts of outcomes; what should not be is told at once."""
    counts: collections.Counter[str] = collections.Counter()
    costs = []
    for name, function, usual, what, arguments, verdict in chosen:
        started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with stopped_after(seconds, f"slow: {name}({what}) has not ended after {seconds:.0f} seconds"):
            found, message = outcome(function, arguments, verdict, usual)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
        costs.append((time.process_time() - started, grown / 2**20, f"{name}({what})"))
        counts[found] += 1
        if found not in ("ok", "clear"):
            tell(f"{found}: {name}({what}) {message[:160]}")
    for cost, _, call in sorted(costs)[-3:]:
        tell(f"{cost:.1f} CPU seconds: {call}")
    for _, grown, call in sorted(costs, key=lambda each: each[1])[-3:]:
        tell(f"{grown:.2f} GB more than all before: {call}")
    return counts


@contextlib.contextmanager
def stopped_after(seconds: float, message: str) -> Iterator[None]:
    """The end of everything, with a message, if a call takes longer: what compiled code does cannot be interrupted."""

    def stop() -> None:
        print(message, flush=True)
        os._exit(1)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def limit_memory(gigabytes: float) -> None:
    """What a call allocates beyond fails with an error, in place of the machine."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(gigabytes * 2**30), resource.RLIM_INFINITY))


def main() -> int:
    """Counts, and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=20_000, help="one argument wrong, all of them, then two")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="functions whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="only every so-manieth call")
    parser.add_argument("--gigabytes", type=float, default=8.0, help="of memory that the calls may take")
    parser.add_argument(
        "--part", default="1/1", help="2/10: the second tenth of the calls, so that slices run one by one"
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="that one call may take before all is stopped")
    options = parser.parse_args()
    limit_memory(options.gigabytes)
    warnings.simplefilter("ignore")
    jax.config.update("jax_enable_x64", True)
    started = time.process_time()
    part, parts = map(int, options.part.split("/"))
    chosen = chosen_calls(options.calls, options.seed, options.only, options.every)[part - 1 :: parts]
    counts = fuzz(chosen, functools.partial(print, flush=True), options.seconds)
    kinds = ("ok", "clear", "unclear", "NaN", "accepted")
    print(f"{sum(counts.values())} calls: " + ", ".join(f"{counts[kind]} {kind}" for kind in kinds), end="; ")
    print(f"{time.process_time() - started:.0f} CPU seconds")
    return int(counts["ok"] + counts["clear"] < sum(counts.values()))


if __name__ == "__main__":
    sys.exit(main())
