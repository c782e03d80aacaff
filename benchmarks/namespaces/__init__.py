"""The names that workloads are written with, once for each contender that can run them.

Each module here defines the same names with the same meaning, so that a workload is one function
of such a module. They are modules rather than objects because Weft keeps programs on disk only of
functions whose closures it can tell apart, and modules of plain functions are among these.
"""
