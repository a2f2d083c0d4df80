"""PDLT figure 5.1: phases of tanh with its two critical lines, and the ratio of its susceptibilities."""

import numpy as np
from save import panels, save

from finitewidth import figures
from finitewidth.critical import criticality, phase_diagram

left, right = panels(1, 2, 9.6, 3.9)
diagram = phase_diagram("tanh", C_b=np.linspace(0, 0.5, 151), C_W=np.linspace(0, 3, 181))
verdict = criticality("tanh")
figures.phase_diagram(diagram, left, verdict=verdict)
figures.ratio_of_susceptibilities("tanh", right, K_max=3, verdict=verdict)
right.set_ylim(0, 5)
save("pdlt_figure_5_1")
