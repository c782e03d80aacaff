"""A step of training of a variational autoencoder; the noise is an input, the same for all."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Function
from benchmarks.workloads.networks import apply, dense, training


def loss(xp: Any, size: Any) -> Function:
    """The negative evidence bound, with pixels as chances."""
    latent = size[3]

    def total(p: Any, x: Any, noise: Any) -> Any:
        h = xp.maximum(apply(p["encode"], x), 0.0)
        code = apply(p["code"], h)
        mean, log_variance = code[:, :latent], code[:, latent:]
        z = mean + xp.exp(0.5 * log_variance) * noise
        logits = apply(p["image"], xp.maximum(apply(p["decode"], z), 0.0))
        missed = xp.maximum(logits, 0.0) - logits * x + xp.log1p(xp.exp(-xp.abs(logits)))
        apart = -0.5 * (1.0 + log_variance - mean * mean - xp.exp(log_variance))
        return xp.mean(xp.sum(missed, axis=1)) + xp.mean(xp.sum(apart, axis=1))

    return total


def inputs(size: Any) -> tuple[Any, ...]:
    batch, pixels, hidden, latent = size
    r = np.random.default_rng(0)
    parameters = {
        "encode": dense(r, pixels, hidden),
        "code": dense(r, hidden, 2 * latent),
        "decode": dense(r, latent, hidden),
        "image": dense(r, hidden, pixels),
    }
    x = r.uniform(size=(batch, pixels)).astype(np.float32)
    return parameters, x, r.normal(size=(batch, latent)).astype(np.float32)


ABOUT = "VAE 784-400-20, batch 128"
WORKLOADS = (training("vae", ABOUT, loss, inputs, (128, 784, 400, 20), (3, 6, 5, 2)),)
