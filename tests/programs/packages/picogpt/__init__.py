"""A GPT in sixty lines of NumPy."""

from .model import generate, gpt2, loss, random_params

__all__ = ["generate", "gpt2", "loss", "random_params"]
