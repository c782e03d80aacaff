import numpy as np


def _clamp(value, limits):
    lower, upper = limits
    if value is None:
        return None
    elif (upper is not None) and (value > upper):
        return upper
    elif (lower is not None) and (value < lower):
        return lower
    return value


class PID:
    def __init__(
        self,
        Kp=1.0,
        Ki=0.0,
        Kd=0.0,
        setpoint=0,
        sample_time=0.01,
        output_limits=(None, None),
        proportional_on_measurement=False,
    ):
        self.Kp, self.Ki, self.Kd = Kp, Ki, Kd
        self.setpoint = setpoint
        self.sample_time = sample_time
        self.proportional_on_measurement = proportional_on_measurement
        self._min_output, self._max_output = None, None
        self._proportional = 0
        self._integral = 0
        self._derivative = 0
        self._last_output = None
        self._last_error = None
        self._last_input = None
        self.output_limits = output_limits
        self.reset()

    def __call__(self, input_, dt=None):
        if dt is None:
            dt = self.sample_time
        elif dt <= 0:
            raise ValueError(f"dt has negative value {dt}, must be positive")
        error = self.setpoint - input_
        d_input = input_ - (self._last_input if (self._last_input is not None) else input_)
        if not self.proportional_on_measurement:
            self._proportional = self.Kp * error
        else:
            self._proportional -= self.Kp * d_input
        self._integral += self.Ki * error * dt
        self._integral = _clamp(self._integral, self.output_limits)
        self._derivative = -self.Kd * d_input / dt
        output = self._proportional + self._integral + self._derivative
        output = _clamp(output, self.output_limits)
        self._last_output = output
        self._last_input = input_
        self._last_error = error
        return output

    @property
    def components(self):
        return self._proportional, self._integral, self._derivative

    @property
    def output_limits(self):
        return self._min_output, self._max_output

    @output_limits.setter
    def output_limits(self, limits):
        if limits is None:
            self._min_output, self._max_output = None, None
            return
        min_output, max_output = limits
        if (None not in limits) and (max_output < min_output):
            raise ValueError("lower limit must be less than upper limit")
        self._min_output = min_output
        self._max_output = max_output
        self._integral = _clamp(self._integral, self.output_limits)
        self._last_output = _clamp(self._last_output, self.output_limits)

    def reset(self):
        self._proportional = 0
        self._integral = 0
        self._derivative = 0
        self._integral = _clamp(self._integral, self.output_limits)


class RateLimiter:
    def __init__(self, rate):
        self.rate = rate
        self.last = 0.0
        self.limited = 0

    def __call__(self, value, dt):
        step = value - self.last
        allowed = self.rate * dt
        if abs(step) > allowed:
            step = np.copysign(allowed, step)
            self.limited += 1
        self.last = self.last + step
        return self.last


def heat_room(outside, gains=(6.0, 0.5, 0.1), setpoint=20.0, start=12.0, dt=0.5):
    """Temperatures, what the heater did, and how often its rate was limited."""
    Kp, Ki, Kd = gains
    pid = PID(Kp, Ki, Kd, setpoint, output_limits=(0, 100))
    limiter = RateLimiter(30.0)
    room = start
    temperatures, powers = [], []
    for i, cold in enumerate(outside):
        if i == len(outside) // 2:
            pid.setpoint = setpoint + 2
        power = limiter(pid(room, dt), dt)
        room = room + dt * (0.05 * power - 0.1 * (room - cold))
        temperatures.append(room)
        powers.append(power)
    return np.array(temperatures), np.array(powers), limiter.limited, pid.components
