"""Where the sun stands, how much of it arrives, and when it rises."""

from .irradiance import aoi, clearsky_haurwitz, erbs, total
from .position import solar_position, sun_rise_set

__all__ = ["aoi", "clearsky_haurwitz", "erbs", "solar_position", "sun_rise_set", "total"]
