from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .effects import Biquad, Compressor, Delay


@dataclass
class ADSR:
    attack: float = 0.01
    decay: float = 0.02
    sustain: float = 0.6
    release: float = 0.02

    def curve(self, n, rate):
        t = np.arange(n) / rate
        end = n / rate - self.release
        env = np.full(n, self.sustain)
        rising = t < self.attack
        env[rising] = t[rising] / self.attack
        falling = (t >= self.attack) & (t < self.attack + self.decay)
        env[falling] = 1 - (1 - self.sustain) * (t[falling] - self.attack) / self.decay
        env[t > end] *= 1 - (t[t > end] - end) / self.release
        return env


class Oscillator:
    shapes = {
        "sine": np.sin,
        "square": lambda p: np.sign(np.sin(p)),
        "saw": lambda p: 2 * ((p / (2 * np.pi)) % 1.0) - 1,
        "triangle": lambda p: 2 / np.pi * np.arcsin(np.sin(p)),
    }

    def __init__(self, shape="sine", detune=0.0):
        if shape not in self.shapes:
            raise KeyError(shape)
        self.shape = self.shapes[shape]
        self.detune = detune
        self.phase = 0.0

    def render(self, frequency, n, rate):
        step = 2 * np.pi * frequency * 2 ** (self.detune / 1200) / rate
        phases = self.phase + step * np.arange(n)
        self.phase = (self.phase + step * n) % (2 * np.pi)
        return self.shape(phases)


class Synthesiser:
    def __init__(self, rate=8000, oscillators: Sequence[Oscillator] = (), chain=()):
        self.rate = rate
        self.oscillators = list(oscillators) or [Oscillator()]
        self.chain = list(chain)
        self.envelope = ADSR()

    def note(self, number, n, velocity=1.0):
        frequency = 440.0 * 2 ** ((number - 69) / 12)
        sound = np.zeros(n)
        for oscillator in self.oscillators:
            sound += oscillator.render(frequency, n, self.rate)
        sound *= velocity / len(self.oscillators) * self.envelope.curve(n, self.rate)
        return sound

    def render(self, notes, velocities, n):
        out = np.concatenate([self.note(k, n, v) for k, v in zip(notes, velocities)])
        for effect in self.chain:
            out = effect.process(out)
        peak = np.max(np.abs(out))
        if peak > 1:
            out /= peak
        return out


def play(notes, velocities, n=400, cutoff=1200.0, rate=8000):
    synth = Synthesiser(
        rate,
        [Oscillator("saw"), Oscillator("triangle", detune=7.0)],
        [Biquad.lowpass(cutoff, rate), Compressor(), Delay(150)],
    )
    return synth.render(notes, velocities, n), synth.chain[1].reduced
