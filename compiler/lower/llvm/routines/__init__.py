"""Ops that are more than a loop nest: sorting, transforms, matrices. One emitter per op.

An emitter writes the op's computation into a function: `emit(f, env, op, operands, results)`.
Operands may have any strides; results are row-major and share no memory with operands.
"""
