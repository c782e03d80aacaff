"""Models of text by counts of n-grams, on codes of characters."""

from .model import NGramModel, perplexity, sample_text
from .text import Vocabulary, byte_pairs, edit_distance

__all__ = [
    "NGramModel",
    "Vocabulary",
    "byte_pairs",
    "edit_distance",
    "perplexity",
    "sample_text",
]
