"""Who learns: contributions of each layer of a tanh network to its tangent kernel, with uniform and with tuned rates."""

from save import panels, save

from finitewidth.advice import tune
from finitewidth.expansion.tangent_layers import tangent_contributions
from finitewidth.figures.tangent_contributions import tangent_contributions as draw
from finitewidth.networks import MLP

DEPTH = 64

left, right = panels(1, 2, 10.4, 3.9)
tuned = tune(MLP("tanh", (1, *[256] * (DEPTH - 1), 1)))
uniform = tuned.replace(lambda_b=1.0, lambda_W=1.0)
draw(tangent_contributions(uniform, [[1.0]]), left, title="One rate for all layers")
draw(tangent_contributions(tuned, [[1.0]]), right, title="Rates by the equivalence principle")
save("tangent_contributions")
