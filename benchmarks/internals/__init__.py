"""Experiments on parts of Weft itself, with no peer to compare with: scripts that print what the
decisions under docs/decisions rest on.
"""
