import heapq
from itertools import count

import numpy as np

ARRIVAL, DEPARTURE = 0, 1


class Simulation:
    def __init__(self, servers=1):
        if servers < 1:
            raise ValueError("need a server")
        self.free = servers
        self.events = []
        self.waiting = []
        self.numbers = count()
        self.waits = []
        self.now = 0.0
        self.area = 0.0

    def schedule(self, time, kind, customer):
        heapq.heappush(self.events, (time, next(self.numbers), kind, customer))

    def start(self, customer, arrived, service):
        self.free -= 1
        self.waits.append(self.now - arrived)
        self.schedule(self.now + service[customer], DEPARTURE, customer)

    def run(self, arrivals, service):
        for customer, time in enumerate(arrivals):
            self.schedule(time, ARRIVAL, customer)
        while self.events:
            time, _, kind, customer = heapq.heappop(self.events)
            self.area += len(self.waiting) * (time - self.now)
            self.now = time
            if kind == ARRIVAL:
                if self.free:
                    self.start(customer, time, service)
                else:
                    self.waiting.append((customer, time))
            else:
                self.free += 1
                if self.waiting:
                    self.start(*self.waiting.pop(0), service)
        return np.array(self.waits), self.area / self.now


def simulate(gaps, service, servers=2):
    return Simulation(servers).run(np.cumsum(gaps), service)


def lindley(gaps, service):
    """Waits of a single server, by recursion; the longest line; the share of idle time."""
    n = len(gaps)
    waits = np.zeros(n)
    ends = np.zeros(n)
    idle = 0.0
    longest = 0
    clock = 0.0
    for i in range(n):
        clock += gaps[i]
        if i > 0:
            waits[i] = max(0.0, ends[i - 1] - clock)
            if ends[i - 1] < clock:
                idle += clock - ends[i - 1]
        else:
            idle = clock
        ends[i] = clock + waits[i] + service[i]
        inside = np.sum(ends[:i] > clock)
        if inside > longest:
            longest = inside
    return waits, longest, idle / ends[-1]
