"""How the run of a program can end, other than well."""


class Failure(AssertionError):
    """A program whose results are wrong."""


class Skipped(Exception):
    """A program that proves nothing: NumPy refuses it, or rounding decides everything."""


class Refused(Exception):
    """A program that Weft refuses, with a message."""
