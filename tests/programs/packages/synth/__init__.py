"""Sound from oscillators, envelopes, filters and delays."""

from .effects import Biquad, Compressor, Delay
from .voices import ADSR, Oscillator, Synthesiser, play

__all__ = ["ADSR", "Biquad", "Compressor", "Delay", "Oscillator", "Synthesiser", "play"]
