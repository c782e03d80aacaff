"""What of SciPy is traced: `special`, `stats`, `linalg`, `ndimage` and `signal`, by SciPy's names.

Functions work inside and outside of traces; gradients are right where they exist.
"""
