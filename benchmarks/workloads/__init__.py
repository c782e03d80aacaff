"""One short file for each workload or for a few that belong together; `benchmarks.registry` lists
them. Nothing is imported here, so that a process which measures a first call loads only its own.
"""
