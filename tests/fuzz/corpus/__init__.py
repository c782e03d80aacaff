"""Programs that once failed, reduced; written by the fuzzer."""
