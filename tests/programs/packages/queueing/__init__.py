"""Queues of customers, events in a heap, tasks with priorities."""

from .scheduler import Task, makespan, topological_times
from .simulation import Simulation, lindley, simulate

__all__ = ["Simulation", "Task", "lindley", "makespan", "simulate", "topological_times"]
