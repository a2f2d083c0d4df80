"""As much of PyTorch as the pages use, in NumPy: a stand-in where it is not installed, with other random numbers."""

import contextlib
from types import ModuleType

import numpy as np


class Tensor(np.ndarray):
    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)

    def new_tensor(self, values):
        return _tensor(values)


_random = np.random.default_rng(0)


def _tensor(values):
    return np.asarray(values, dtype=np.float32).view(Tensor)


class _Handle:
    def __init__(self, hooks, hook):
        self.remove = lambda: hooks.remove(hook)


class _Module:
    def __init__(self):
        self.hooks = []

    def __call__(self, x):
        output = self.forward(x)
        for hook in list(self.hooks):
            hook(self, (x,), output)
        return output

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return _Handle(self.hooks, hook)

    def named_modules(self):
        return [("", self)]

    def modules(self):
        return [module for _, module in self.named_modules()]


class _Linear(_Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.in_features, bound = in_features, in_features**-0.5
        self.weight = _tensor(_random.uniform(-bound, bound, (out_features, in_features)))
        self.bias = _tensor(_random.uniform(-bound, bound, out_features))

    def forward(self, x):
        return x @ self.weight.T + self.bias


class _ReLU(_Module):
    def forward(self, x):
        return np.maximum(x, 0)


class _Sequential(_Module):
    def __init__(self, *parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def named_modules(self):
        return [("", self), *((str(place), part) for place, part in enumerate(self.parts))]


class _Adam:
    def __init__(self, groups):
        self.param_groups = groups


def _normal(tensor, std):
    tensor[...] = std * _random.standard_normal(tensor.shape)


def _zeros(tensor):
    tensor[...] = 0


def stand_in():
    """The module `torch`."""
    torch, nn, init, optim = (ModuleType(name) for name in ("torch", "torch.nn", "torch.nn.init", "torch.optim"))
    torch.manual_seed, torch.no_grad = (lambda seed: None), contextlib.nullcontext
    torch.randn = lambda *shape: _tensor(_random.standard_normal(shape))
    torch.nn, torch.optim, torch.Tensor, nn.init = nn, optim, Tensor, init
    nn.Linear, nn.ReLU, nn.Sequential = _Linear, _ReLU, _Sequential
    init.normal_, init.zeros_, optim.Adam = _normal, _zeros, _Adam
    return torch
