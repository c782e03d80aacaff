"""Hue, saturation and value of an image, with masks for the three ways to the hue."""

import numpy as np


def rgb_to_hsv(rgb):
    value, low = rgb.max(axis=-1), rgb.min(axis=-1)
    spread = value - low
    saturation = np.where(value > 0, spread / np.where(value == 0, 1, value), 0)
    spread = np.where(spread == 0, 1, spread)
    r, g, b = np.moveaxis((value[..., None] - rgb) / spread[..., None], -1, 0)
    hue = np.zeros_like(value)
    is_red = rgb[..., 0] == value
    is_green = (rgb[..., 1] == value) & ~is_red
    is_blue = ~is_red & ~is_green
    hue[is_red] = (b - g)[is_red]
    hue[is_green] = 2.0 + (r - b)[is_green]
    hue[is_blue] = 4.0 + (g - r)[is_blue]
    return np.stack([(hue / 6.0) % 1.0, saturation, value], axis=-1)
