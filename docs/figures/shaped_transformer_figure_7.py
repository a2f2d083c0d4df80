"""Shaped Transformer figures 1 (right) and 7: laws of covariance and correlation, of the limit and of networks.

Shaped attention with two tokens, n = 200 and d = 150, gamma = 1/sqrt(8), tau_0 = 1; the limit in 75 steps.
"""

from save import panels, save

from finitewidth.ensembles import simulate
from finitewidth.figures import law_densities
from finitewidth.networks.shaped import ShapedAttention, equal_tokens
from finitewidth.proportional import covariance_sde

WIDTH, DEPTH, PATHS = 200, 150, 2**12

axes = panels(1, 2, 10.0, 3.9)
block = ShapedAttention(8**-0.5)
limit = covariance_sde(block, equal_tokens(2, 0.2), DEPTH / WIDTH, paths=PATHS, steps=75)
networks = simulate(block.at(WIDTH, DEPTH), equal_tokens(2, 0.2), networks=PATHS)
law_densities(limit, networks, tuple(axes))
save("shaped_transformer_figure_7")
