"""One case for diffrax or torchsde, run by `sde_peers.py` inside an environment that has both.

The SDE is that of shaped attention, written as a user of these packages would: a vector of the m(m+1)/2 independent
entries of V, its drift, and the symmetric root of its diffusion matrix, from an eigendecomposition at every step.
"""

import json
import sys
import time

import numpy as np

GAMMA, TAU0, TIME, STEPS = 0.5, 1.0, 0.75, 75
RADIUS = 1e3


def coefficients(m, lib):
    """Drift and root of the diffusion of the packed covariance, for arrays of `lib` (jax.numpy or torch)."""
    a, b = np.triu_indices(m)
    of = np.zeros((m, m), dtype=int)
    of[a, b] = of[b, a] = np.arange(len(a))
    centring = lib.asarray(np.eye(m) - 1 / m)

    start = lib.asarray((0.8 * np.eye(m) + 0.2)[a, b])

    def tame(v):
        """Whether a path has not exploded (Euler's steps leave the cone, and then do), and somewhere to look if it has."""
        running = lib.abs(v).amax(-1) < RADIUS if hasattr(v, "amax") else lib.abs(v).max(-1) < RADIUS
        return running[..., None], lib.where(running[..., None], v, start)[..., of]

    def drift(v):
        running, V = tame(v)
        C = centring @ V @ centring
        s = (lib.diagonal(C, 0, -2, -1)[..., None, :] @ centring)[..., 0, :]
        own = lib.diagonal(V, 0, -2, -1)
        Vs = (V @ s[..., None])[..., 0]
        outer = own[..., :, None] * Vs[..., None, :]
        growth = (C**2).sum((-2, -1))[..., None, None] / m**2
        b_of_V = GAMMA**2 / TAU0**2 * (growth * V + (outer + lib.swapaxes(outer, -2, -1)) / (2 * m))
        return running * b_of_V[..., a, b]

    def root(v):
        running, V = tame(v)
        M = V @ centring @ V @ centring @ V / m**2

        def crossed(X, Y):
            """X^{a d} Y^{b w} + X^{a w} Y^{b d} on packed entries."""
            first = X[..., a[:, None], a] * Y[..., b[:, None], b]
            return first + X[..., a[:, None], b] * Y[..., b[:, None], a]

        mixing = crossed(M, V) + crossed(V, M)
        sigma = GAMMA**2 * (2 - GAMMA**2) * crossed(V, V) + GAMMA**4 / TAU0**2 * mixing
        values, vectors = lib.linalg.eigh(sigma)
        roots = lib.sqrt(lib.clip(values, 0.0, None))
        return running[..., None] * ((vectors * roots[..., None, :]) @ lib.swapaxes(vectors, -2, -1))

    return drift, root, start


def run_diffrax(m, paths):
    import jax

    jax.config.update("jax_enable_x64", True)
    import diffrax
    import jax.numpy as jnp

    drift, root, start = coefficients(m, jnp)

    @jax.jit
    def solve(keys):
        def one(key):
            brownian = diffrax.UnsafeBrownianPath((len(start),), key)
            noise = diffrax.ControlTerm(lambda t, v, args: root(v), brownian)
            terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, v, args: drift(v)), noise)
            adjoint = diffrax.DirectAdjoint()
            end = diffrax.diffeqsolve(
                terms,
                diffrax.Euler(),
                0.0,
                TIME,
                TIME / STEPS,
                jnp.asarray(start),
                adjoint=adjoint,
                max_steps=STEPS + 1,
            )
            return end.ys[-1]

        return jax.vmap(one)(keys)

    keys = jax.random.split(jax.random.key(0), paths)
    return lambda: np.asarray(solve(keys))


def run_torchsde(m, paths):
    import torch
    import torchsde

    torch.set_default_dtype(torch.float64)
    drift, root, start = coefficients(m, torch)

    class Attention(torch.nn.Module):
        noise_type, sde_type = "general", "ito"

        def f(self, t, v):
            return drift(v)

        def g(self, t, v):
            return root(v)

    first = start.expand(paths, -1)
    times = torch.tensor([0.0, TIME])

    def solve():
        with torch.no_grad():
            brownian = torchsde.BrownianInterval(t0=0.0, t1=TIME, size=(paths, len(start)), dt=TIME / STEPS)
            return torchsde.sdeint(Attention(), first, times, bm=brownian, method="euler", dt=TIME / STEPS)[-1].numpy()

    return solve


def main(peer, m, paths, repeats):
    solve = {"diffrax": run_diffrax, "torchsde": run_torchsde}[peer](m, paths)
    ends = solve()
    seconds = []
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        solve()
        seconds.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu, wall = (min(column) for column in zip(*seconds, strict=True))
    return {"cpu": cpu, "wall": wall, "median V01": float(np.nanmedian(ends[:, 1]))}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], *(int(argument) for argument in sys.argv[2:]))))
