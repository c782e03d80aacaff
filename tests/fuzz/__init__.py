"""Random NumPy programs, compared with NumPy and with other ways through the compiler."""
