"""Real networks while they learn, and the prediction of infinite width laid over them."""

import numpy as np
from save import panels, save

import finitewidth as fw

random = np.random.default_rng(1)
x_train, y_train, x_test = random.normal(size=(5, 3)), random.normal(size=5), random.normal(size=(3, 3))
net = fw.MLP("tanh", (3, 128, 128, 1), C_b=0.1, C_W=1.5)
steps = {"steps": 80, "record": range(0, 80, 5)}
measured = fw.train(net, x_train, y_train, x_test, networks=256, **steps)
theory = fw.predict(net, x_train, y_train, x_test, "gradient_descent", rate=measured.training.rate, **steps)
fw.figures.training(theory, measured, panels(1, 2, 10.4, 4.2))
save("trained_networks")
