"""Native code that every program shares: the thread pool, the call stub, memory for results.

Each file emits one part as LLVM text; `runtime` is handed the object code.
"""
