"""Weft: a compiler for array programs. Customary alias: `import weft as wf`.

Public names are loaded when they are first used, so that importing Weft costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft import implicit as implicit
    from weft import numpy as numpy
    from weft import random as random
    from weft import scipy as scipy
    from weft import sparse as sparse
    from weft.compiler.ir.errors import ArgumentError as ArgumentError
    from weft.compiler.ir.errors import BoundsError as BoundsError
    from weft.compiler.ir.errors import CompilerError as CompilerError
    from weft.compiler.ir.errors import CompilerWarning as CompilerWarning
    from weft.compiler.ir.errors import DTypeError as DTypeError
    from weft.compiler.ir.errors import EvaluationError as EvaluationError
    from weft.compiler.ir.errors import FrozenValueError as FrozenValueError
    from weft.compiler.ir.errors import FrozenValueWarning as FrozenValueWarning
    from weft.compiler.ir.errors import LoweringError as LoweringError
    from weft.compiler.ir.errors import OutOfMemoryError as OutOfMemoryError
    from weft.compiler.ir.errors import ParseError as ParseError
    from weft.compiler.ir.errors import RetraceWarning as RetraceWarning
    from weft.compiler.ir.errors import ShapeError as ShapeError
    from weft.compiler.ir.errors import TraceError as TraceError
    from weft.compiler.ir.errors import VerifyError as VerifyError
    from weft.compiler.ir.errors import WeftError as WeftError
    from weft.compiler.ir.evaluate import evaluate as evaluate
    from weft.compiler.ir.graph import Graph as Graph
    from weft.compiler.parsing import parse as parse
    from weft.frontends.api.checking import GradientError as GradientError
    from weft.frontends.api.checking import check_grads as check_grads
    from weft.frontends.api.control import callback as callback
    from weft.frontends.api.control import checkpoint as checkpoint
    from weft.frontends.api.control import cond as cond
    from weft.frontends.api.control import debug_print as debug_print
    from weft.frontends.api.control import dynamic_slice as dynamic_slice
    from weft.frontends.api.control import dynamic_update_slice as dynamic_update_slice
    from weft.frontends.api.control import fori_loop as fori_loop
    from weft.frontends.api.control import map as map
    from weft.frontends.api.control import probe as probe
    from weft.frontends.api.control import scan as scan
    from weft.frontends.api.control import stop_gradient as stop_gradient
    from weft.frontends.api.control import switch as switch
    from weft.frontends.api.control import while_loop as while_loop
    from weft.frontends.api.custom import custom_jvp as custom_jvp
    from weft.frontends.api.custom import custom_vjp as custom_vjp
    from weft.frontends.api.custom import straight_through as straight_through
    from weft.frontends.api.differentiation import jvp as jvp
    from weft.frontends.api.differentiation import linear_transpose as linear_transpose
    from weft.frontends.api.differentiation import linearize as linearize
    from weft.frontends.api.differentiation import vjp as vjp
    from weft.frontends.api.gradients import grad as grad
    from weft.frontends.api.gradients import value_and_grad as value_and_grad
    from weft.frontends.api.jacobians import hessian as hessian
    from weft.frontends.api.jacobians import hvp as hvp
    from weft.frontends.api.jacobians import jacfwd as jacfwd
    from weft.frontends.api.jacobians import jacobian as jacobian
    from weft.frontends.api.jacobians import jacrev as jacrev
    from weft.frontends.api.jit import jit as jit
    from weft.frontends.api.rewriting import rewrite as rewrite
    from weft.frontends.api.steering import fence as fence
    from weft.frontends.api.steering import fuse as fuse
    from weft.frontends.api.steering import no_fuse as no_fuse
    from weft.frontends.api.steering import rounded as rounded
    from weft.frontends.api.trace import trace as trace
    from weft.frontends.api.vmap import vmap as vmap
    from weft.frontends.eager.array import Array as Array
    from weft.frontends.flow.api import control_flow as control_flow
    from weft.frontends.flow.iteration import rolled as rolled
    from weft.frontends.flow.iteration import unrolled as unrolled
    from weft.frontends.nn.convolution import avg_pool as avg_pool
    from weft.frontends.nn.convolution import conv as conv
    from weft.frontends.nn.convolution import max_pool as max_pool
    from weft.frontends.sparse.derivatives import sparse_hessian as sparse_hessian
    from weft.frontends.sparse.derivatives import sparse_jacobian as sparse_jacobian
    from weft.frontends.sparse.derivatives import sparsity_pattern as sparsity_pattern
    from weft.frontends.tracing.spec import spec as spec
    from weft.runtime.threads import get_num_threads as get_num_threads
    from weft.runtime.threads import set_num_threads as set_num_threads
    from weft.runtime.threads import threads as threads

__version__ = "0.1.0"

_ERRORS = (
    "ArgumentError BoundsError CompilerError CompilerWarning DTypeError EvaluationError "
    "FrozenValueError FrozenValueWarning "
    "LoweringError OutOfMemoryError ParseError RetraceWarning ShapeError TraceError VerifyError "
    "WeftError"
)
_CONTROL = (
    "callback checkpoint cond debug_print dynamic_slice dynamic_update_slice fori_loop map probe "
    "scan stop_gradient switch while_loop"
)
_MODULES = {
    "weft.compiler.ir.errors": _ERRORS,
    "weft.compiler.ir.evaluate": "evaluate",
    "weft.compiler.ir.graph": "Graph",
    "weft.compiler.parsing": "parse",
    "weft.frontends.api.checking": "GradientError check_grads",
    "weft.frontends.api.jit": "jit",
    "weft.frontends.api.control": _CONTROL,
    "weft.frontends.nn.convolution": "avg_pool conv max_pool",
    "weft.frontends.api.custom": "custom_jvp custom_vjp straight_through",
    "weft.frontends.api.differentiation": "jvp linear_transpose linearize vjp",
    "weft.frontends.flow.api": "control_flow",
    "weft.frontends.flow.iteration": "rolled unrolled",
    "weft.frontends.api.gradients": "grad value_and_grad",
    "weft.frontends.eager.array": "Array",
    "weft.frontends.api.jacobians": "hessian hvp jacfwd jacobian jacrev",
    "weft.frontends.api.rewriting": "rewrite",
    "weft.frontends.sparse.derivatives": "sparse_hessian sparse_jacobian sparsity_pattern",
    "weft.frontends.tracing.spec": "spec",
    "weft.frontends.api.steering": "fence fuse no_fuse rounded",
    "weft.frontends.api.trace": "trace",
    "weft.frontends.api.vmap": "vmap",
    "weft.runtime.threads": "get_num_threads set_num_threads threads",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
_SUBMODULES = ("implicit", "numpy", "random", "scipy", "sparse")

__all__ = sorted([*_HOME, *_SUBMODULES])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"weft.{name}")
    if name not in _HOME:
        raise AttributeError(f"weft has no {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
