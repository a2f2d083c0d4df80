r"""How initial variances and learning rates scale with width $n$ and depth $L$: one family of rules.

All of it follows from the equivalence principle of PDLT section 9.4 in any parameterisation: each group of parameters changes the output
by order one in a step, whatever $n$ and $L$. The readout starts with variance $\propto n^{-(1+s)}$, so that the output sees a hidden neuron
with a strength $\delta \sim n^{-(1+s)/2}$. A group of $N$ parameters with gradients of size $q$ changes the output by $\eta Nq^2$ under
gradient descent and by $\eta Nq$ if it moves by signs, as Adam does at first:

| group | $N$ | $q$ |
|---|---|---|
| input weights, embeddings, biases, norm gains | $n$ | $\delta$ |
| hidden weights | $n^2$ | $\delta$ |
| readout weights | $n$ | 1 |
| the same in residual branches, weighed $L^{-\alpha}$ | $\times L$ | $\times L^{-\alpha}$ |
"""

from dataclasses import dataclass

from .._entry import entry
from .._errors import DomainError, UnknownNameError
from .._result import Result
from .._validation import as_number

_FIRST_STEPS = (
    "These rules are of initialisation and of the first steps; later, gradients align and weight decay decides how rates transfer "
    "(arXiv:2510.19093)."
)
_OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True, repr=False)
class GroupScaling(Result):
    """Exponents of one group of parameters: `variance_n` of the initial variance, the others of learning rates, by width and by
    depth."""

    group: str
    variance_n: float
    sgd_n: float
    sgd_L: float
    adam_n: float
    adam_L: float


@dataclass(frozen=True, repr=False)
class ScalingRule(Result):
    r"""A rule of the family. `str()` of it is a table.

    - `s`: 0 is the NTK's or PDLT's parameterisation, 1 the maximal-update one; features are learned with a strength
      $L/n^{1-s}$ (Yaida, arXiv:2210.04909).
    - `alpha`: residual branches are multiplied by $L^{-\alpha}$; `None` for a plain MLP.
    """

    groups: tuple[GroupScaling, ...]
    name: str
    s: float
    alpha: float | None
    source: str
    valid: str

    def factor(self, group: str, optimizer: str, width: float = 1.0, depth: float = 1.0) -> float:
        """By what a learning rate changes when width and depth change by these factors.

        Examples:
            >>> fw.advice.scaling_rule(s=1.0).factor("hidden weights", "adam", width=4)
            0.25
        """
        known = {each.group: each for each in self.groups}
        if group not in known:
            raise UnknownNameError("group", group, known)
        if optimizer not in _OPTIMIZERS:
            raise UnknownNameError("optimizer", optimizer, _OPTIMIZERS)
        n, L = (as_number(value, name) for value, name in ((width, "width"), (depth, "depth")))
        if min(n, L) <= 0:
            raise DomainError("width, depth", f"{n:g}, {L:g}", "positive factors")
        of = known[group]
        powers = (of.sgd_n, of.sgd_L) if optimizer == "sgd" else (of.adam_n, of.adam_L)
        return n ** powers[0] * L ** powers[1]

    def __str__(self) -> str:
        head = f"{'group':<40}{'variance':>10}{'SGD rate':>18}{'Adam rate':>18}"
        lines = [f"{self.name}: s = {self.s:g}" + ("" if self.alpha is None else f", alpha = {self.alpha:g}"), head]
        for each in self.groups:
            rates = (_powers(each.sgd_n, each.sgd_L), _powers(each.adam_n, each.adam_L))
            lines.append(f"{each.group:<40}{_powers(each.variance_n, 0.0):>10}{rates[0]:>18}{rates[1]:>18}")
        return "\n".join([*lines, self.valid, f"Source: {self.source}"])


@entry()
def scaling_rule(s: float = 0.0, alpha: float | None = None) -> ScalingRule:
    r"""Initial variances and learning rates of every group as powers of width $n$ and depth $L$, for SGD and for Adam.

    | group | variance | SGD | Adam |
    |---|---|---|---|
    | input weights, biases | 1 | $n^s$ | $n^{-(1-s)/2}$ |
    | hidden weights | $n^{-1}$ | $n^{-(1-s)}$ | $n^{-(3-s)/2}$ |
    | readout weights | $n^{-(1+s)}$ | $n^{-1}$ | $n^{-1}$ |
    | in residual branches | | $\times L^{2\alpha-1}$ | $\times L^{\alpha-1}$ |
    | in a plain MLP, PDLT (9.94) | | $\times L^{-1}$ | $\times L^{-1}$ |

    **Arguments:**

    - `s`: 0, the NTK's rule, which is that of `learning_rates`; 1, the maximal-update rule; or between.
    - `alpha`: for residual networks, whose branches are multiplied by $L^{-\alpha}$: 1/2 is depth-muP, 1 CompleteP. `None`: a plain MLP.

    Examples:
        >>> rule = fw.advice.scaling_rule(s=0.0)
        >>> [each.adam_n for each in rule.groups]
        [-0.5, -1.5, -1.0]
    """
    width = as_number(s, "s", low=0.0, high=1.0)
    depth = None if alpha is None else as_number(alpha, "alpha", low=0.5, high=1.0)
    delta = -(1 + width) / 2
    in_branches = (-1.0, -1.0) if depth is None else (2 * depth - 1, depth - 1)
    outside = in_branches if depth is None else (0.0, 0.0)
    groups = [
        _group("input weights, biases, norm gains", 0.0, 1.0, delta, outside),
        _group("hidden weights", -1.0, 2.0, delta, in_branches),
        _group("readout weights", -(1 + width), 1.0, 0.0, outside),
    ]
    if depth is not None:
        groups.insert(2, _group("biases, norm gains of branches", 0.0, 1.0, delta, in_branches))
    return ScalingRule(tuple(groups), _name(width, depth), width, depth, _source(width, depth), _validity(width, depth))


def _group(name: str, variance: float, parameters: float, gradient: float, depth: tuple[float, float]) -> GroupScaling:
    r"""Powers with which $\eta Nq^2$ and $\eta Nq$ stay of order one; `parameters` and `gradient` are those of $n$ in $N$ and $q$.
    With depth, $\eta LL^{-2\alpha}$ and $\eta LL^{-\alpha}$ for what is in the $L$ branches; in a plain MLP $\eta L$ for all."""
    sgd, adam = -(parameters + 2 * gradient), -(parameters + gradient)
    return GroupScaling(name, variance, sgd, depth[0], adam, depth[1])


_NAMES_OF_WIDTH = {0.0: "NTK", 1.0: "muP"}
_NAMES_OF_DEPTH = {None: "plain MLP", 0.5: "depth-muP branches", 1.0: "CompleteP branches"}


def _name(s: float, alpha: float | None) -> str:
    depth = _NAMES_OF_DEPTH.get(alpha, "residual branches")
    return f"{_NAMES_OF_WIDTH.get(s, 'between NTK and muP')}, {depth}"


def _source(s: float, alpha: float | None) -> str:
    of_width = {0.0: "PDLT (8.6), (9.94)", 1.0: "Tensor Programs V, arXiv:2203.03466"}.get(s, "Yaida, arXiv:2210.04909")
    of_depth = {None: "", 0.5: "; depth-muP, arXiv:2310.02244", 1.0: "; CompleteP, arXiv:2505.01618"}
    return of_width + of_depth.get(alpha, "; between depth-muP and CompleteP")


def _validity(s: float, alpha: float | None) -> str:
    if alpha is not None:
        depth = "With depth: residual networks whose branches are single layers between norms or at criticality. "
    elif s == 0:
        depth = "With depth: at criticality, for scale-invariant activations; others get the powers of `equivalence_rates`, PDLT (9.95). "
    else:
        depth = (
            "With depth, in a plain MLP with s > 0, the rule of s = 0 is kept for want of a better one: reported best rates of muP "
            "ReLU networks fall as L^(-3/2) (arXiv:2305.07810). "
        )
    return depth + _FIRST_STEPS


def _powers(n: float, L: float) -> str:
    parts = [f"{name}^{power:g}" if power != 1 else name for name, power in (("n", n), ("L", L)) if power]
    return " ".join(parts) or "1"


@dataclass(frozen=True, repr=False)
class TransformerScaling(Result):
    """What `transformer_scaling` returns: by what to multiply the settings of a base model. `str()` of it is a table."""

    width: float
    depth: float
    alpha: float
    branch: float
    logits: float
    hidden_variance: float
    hidden_rate: float
    hidden_decay: float
    bias_and_gain_rate: float
    embedding_rate: float
    epsilon: float
    source: str

    def __str__(self) -> str:
        rows = {
            "residual branches": self.branch,
            "logits": self.logits,
            "hidden weights, initial variance": self.hidden_variance,
            "hidden weights, learning rate": self.hidden_rate,
            "hidden weights, weight decay": self.hidden_decay,
            "hidden biases, pre-norm gains: rate": self.bias_and_gain_rate,
            "embedding, last norm, unembedding: rate": self.embedding_rate,
            "Adam's epsilon in residual blocks": self.epsilon,
        }
        lines = [f"{name:<42}x {value:.4g}" for name, value in rows.items()]
        lines.append("attention logits: q . k / d_head, not its root")
        return "\n".join([*lines, f"Source: {self.source}", _FIRST_STEPS])


@entry()
def transformer_scaling(width: float, depth: float, alpha: float = 1.0) -> TransformerScaling:
    r"""How AdamW's settings of a Transformer scale from a base model of $1/m_N$ the width and $1/m_L$ the depth: CompleteP at
    $\alpha = 1$, as its authors' table gives it.

    **Arguments:**

    - `width`, `depth`: $m_N$ and $m_L$, those of the model over those of the base model.
    - `alpha`: residual branches are multiplied by $m_L^{-\alpha}$; 1/2 is depth-muP.

    Examples:
        >>> fw.advice.transformer_scaling(width=4.0, depth=2.0).hidden_rate
        0.25
    """
    m_N, m_L = as_number(width, "width"), as_number(depth, "depth")
    a = as_number(alpha, "alpha", low=0.5, high=1.0)
    if min(m_N, m_L) <= 0:
        raise DomainError("width, depth", f"{m_N:g}, {m_L:g}", "positive factors")
    of_depth = m_L ** (a - 1)
    return TransformerScaling(
        width=m_N,
        depth=m_L,
        alpha=a,
        branch=m_L**-a,
        logits=1 / m_N,
        hidden_variance=1 / m_N,
        hidden_rate=of_depth / m_N,
        hidden_decay=m_N,
        bias_and_gain_rate=of_depth,
        embedding_rate=1.0,
        epsilon=m_L**-a / m_N,
        source="CompleteP, arXiv:2505.01618; its code scales epsilon everywhere, its table in residual blocks only",
    )
