"""`finitewidth simulate`: real networks and what they show."""

import argparse
from typing import TYPE_CHECKING, Any

from .options import add_hyperparameters, add_inputs, network, parser, read_inputs, widths
from .outputs import STANDARD_OUTPUT, add_json, check_writable, write

if TYPE_CHECKING:
    import numpy as np

    from ..networks import MLP, ResidualMLP
    from ..reports.section import Part
    from ..results import Flow

_ABOUT = "Measure kernels of an ensemble of networks, with standard errors"
_MORE = """\
Measured in every layer: the mean metric G, its covariance V and its shift G1 from infinite width, as in the library's
`simulate`. The table shows the first inputs, JSON holds everything.

methods:
  chain       the kernel's own Markov chain: no weights, by far the fastest
  dense       networks with all their weights
  lazy        only the products with the weights that a forward pass asks for
  population  the chain, resampled towards the rare networks of which covariances are made: for deep and narrow networks
All have the same averages.

examples:
  finitewidth simulate --activation relu --widths 3,64,64,1
  finitewidth simulate --activation tanh --widths 3,64,64,1 --C-b 0 --C-W 1.2 --networks 1000000 --checkpoint run.npz
  finitewidth simulate --activation gelu --widths 8,32,32,1 --inputs data.csv --json measured.json"""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    command = parser(commands, "simulate", _ABOUT, _MORE)
    command.add_argument("--activation", required=True, metavar="NAME", help="`finitewidth activations` lists them")
    command.add_argument("--widths", required=True, type=widths, metavar="n_0,...,n_L", help="such as 3,64,64,1")
    add_hyperparameters(command)
    add_inputs(command, "two random ones, drawn with the seed")
    command.add_argument("--networks", type=int, default=10_000, metavar="M", help="default: 10000")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="default: 0")
    command.add_argument(
        "--method", default="chain", metavar="NAME", help="chain, dense, lazy or population; default: chain"
    )
    command.add_argument("--checkpoint", metavar="FILE", help="keep the state here; a killed run resumes from it")
    add_json(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Draw the networks and print what they show."""
    check_writable(json=args.json, checkpoint=args.checkpoint)
    import numpy as np

    from .._validation import as_count, as_widths
    from ..ensembles import simulate

    sizes = as_widths(args.widths, "--widths")
    if args.inputs is None:
        x = np.random.default_rng(as_count(args.seed, "seed", at_least=0)).normal(size=(2, sizes[0]))
    else:
        x = read_inputs(args.inputs)
    net = network(args.activation, sizes, args.C_b, args.C_W)
    measured = simulate(net, x, args.networks, args.seed, args.method, checkpoint=args.checkpoint)
    if args.json is not None:
        import json

        write(args.json, json.dumps(_data(net, x, measured), indent=2, allow_nan=False))
    if args.json != STANDARD_OUTPUT:
        from ..reports.terminal import show, stacked

        show(stacked(_parts(net, measured)))


def _data(net: "MLP | ResidualMLP", x: "np.ndarray", measured: "Flow") -> dict[str, Any]:
    from ..reports.plain import describe, meta, plain

    fields, ensemble = {name: getattr(measured, name) for name in ("G", "G1", "V")}, measured.known_ensemble()
    return plain(
        {
            "meta": meta(seed=ensemble.seed, networks=ensemble.networks, method=ensemble.method),
            "network": describe(net),
            "inputs": x,
            **{name: {"mean": of.mean, "standard_error": of.standard_error} for name, of in fields.items()},
        }
    )


def _parts(net: "MLP | ResidualMLP", measured: "Flow") -> "tuple[Part, ...]":
    """The first input and its product with the second; digits in parentheses are standard errors of the last ones, (?) where a few
    networks decide."""
    from ..reports.numbers import with_errors
    from ..reports.section import BY_LAYER, Column, Table, Tone, Words

    shown = [("G(0,0)", measured.G, (0, 0)), ("G1(0,0)", measured.G1, (0, 0)), ("V(00)(00)", measured.V, (0, 0, 0, 0))]
    if measured.K.shape[-1] > 1:
        shown += [("G(0,1)", measured.G, (0, 1)), ("V(01)(01)", measured.V, (0, 1, 0, 1))]
    columns = [Column("layer", tuple(str(layer) for layer in range(1, net.depth + 1)))]
    for name, found, index in shown:
        entry = found[(slice(None), *index)]
        columns.append(Column(name, with_errors(entry.mean, entry.standard_error, entry.trustworthy.tolist())))
    ensemble = measured.known_ensemble()
    title = f"{net!r}, {ensemble.networks} networks, method {ensemble.method}"
    return Words(title, Tone.STRONG), Table(tuple(columns), lines=BY_LAYER)
