"""Whole programs in the manner of real packages, written for NumPy alone."""
