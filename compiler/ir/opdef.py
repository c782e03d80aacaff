"""What an op is: its name, attributes, type rule and NumPy reference, in one record.

The families under `compiler/ops` declare these records. Calling one emits it: `add(x, y)` appends
an op to the builder in force and returns its result, so that rules and frontends read as ordinary
expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, Final

from weft.compiler.ir.ambient import active_builder
from weft.compiler.ir.attributes import AttributeKind
from weft.compiler.ir.errors import VerifyError
from weft.compiler.ir.lowering import Consumers, Cost, IndexMap, Memory, ScalarForm, View
from weft.compiler.ir.rules import BatchRule, JvpRule, RegionRules, TransposeRule
from weft.compiler.ir.types import ArrayType

if TYPE_CHECKING:
    from weft.compiler.ir.dims import Size
    from weft.compiler.ir.graph import Op, Region, Value


class Trait(Flag):
    """Facts about an op that passes ask for by name."""

    NONE = 0
    ELEMENTWISE = auto()  # a result element per element of the operands; rank-0 ones stretch
    COMMUTATIVE = auto()  # the first two operands may be exchanged
    VIEW = auto()  # moves elements without computing: an index map describes it
    REDUCTION = auto()  # combines elements along axes
    EFFECT = auto()  # must run even when nothing uses its results, and in program order
    HOST = auto()  # runs Python: on the thread that called, with arrays in row-major order
    CALL = auto()  # means its first region, run on the operands
    MARKER = auto()  # its operand itself, but a user set it there: it stays, with its shape


_TRAITS = {
    "is_elementwise": Trait.ELEMENTWISE,
    "is_commutative": Trait.COMMUTATIVE,
    "is_view": Trait.VIEW,
    "is_reduction": Trait.REDUCTION,
    "is_marker": Trait.MARKER,
    "is_host": Trait.HOST,
    "is_call": Trait.CALL,
    "has_effect": Trait.EFFECT,
}

# Type rules take operand types and attributes; references take arrays and the same attributes. Both
# vary per op, which Callable cannot say, hence Any.
TypeRule = Callable[..., "ArrayType | Sequence[ArrayType]"]
Reference = Callable[..., Any]


_PLAIN: Final = Memory()


@dataclass(frozen=True, eq=False, slots=True)
class OpDef:
    """A primitive: everything that is known about it, declared once.

    `infer(*types, **attributes)` returns the result type or types, or raises ShapeError or
    DTypeError. `reference(*arrays, **attributes)` computes with NumPy. An op with regions gets them
    as a further keyword argument `regions`: `Region` objects for `infer`, callables for
    `reference`. An op that needs the values of symbolic sizes in its attributes gets them already
    as ints in `reference`.

    Derivatives: an op that is linear in some operands taken together names them in `linear` (an
    empty tuple: all of them), one that is linear in each of some operands in `multilinear`; both
    have a `transpose` rule and need no `jvp`. Other ops have a `jvp` rule if they are
    differentiable. `batch` may be left out for elementwise ops. `defines` is the attribute that
    names a size which only running the op tells.

    For the loop program and backends (see `lowering`): `scalar` computes an elementwise op on one
    element with other elementwise ops, for backends that have no code of their own for it.
    `index_map` says which elements of the operands an element of a result is, for ops that move
    elements; `view` how the result's strides follow from the operand's, for those that need not
    move anything. `combiner` is how a reduction combines elements. `cost` is that of one element of
    a result, in additions (a complex number counts as four; a function of the op counts as it
    says), and 0 for ops that only rename places; `work` the multiplications of all results
    together, for ops that are products. `memory` says how results lie in memory, `consumers` how
    other ops may go along while it is computed, and `is_row_local(op, axes)` whether it could go
    along itself: whether what it computes at an index of the first `axes` axes needs of its operand
    only what lies at the same index.
    """

    name: str
    doc: str
    infer: TypeRule
    reference: Reference
    attributes: Mapping[str, AttributeKind] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    operands: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    traits: Trait = Trait.NONE
    linear: tuple[int, ...] | None = None
    multilinear: tuple[int, ...] | None = None
    jvp: JvpRule | None = None
    transpose: TransposeRule | None = None
    batch: BatchRule | None = None
    region_rules: RegionRules | None = None
    defines: str | None = None
    scalar: ScalarForm | None = None
    index_map: IndexMap | None = None
    view: View | None = None
    cost: int | Cost = 1
    work: Callable[[Op], Size] | None = None
    combiner: str | None = None
    memory: Memory = _PLAIN
    consumers: Consumers | None = None
    is_row_local: Callable[[Op, int], bool] | None = None
    # The traits one by one: asking a flag takes as long as the rest of a visit does.
    is_elementwise: bool = field(init=False)
    is_commutative: bool = field(init=False)
    is_view: bool = field(init=False)
    is_reduction: bool = field(init=False)
    is_marker: bool = field(init=False)
    is_host: bool = field(init=False)
    is_call: bool = field(init=False)
    has_effect: bool = field(init=False)
    has_map: bool = field(init=False)  # elements of the results are expressions of the operands'

    def __post_init__(self) -> None:
        has_map = self.index_map is not None or Trait.ELEMENTWISE in self.traits
        object.__setattr__(self, "has_map", has_map)
        for name, trait in _TRAITS.items():
            object.__setattr__(self, name, trait in self.traits)

    def __call__(self, *operands: Value, **attributes: object) -> Value:
        """Emit the op into the builder in force and return its one result."""
        (result,) = active_builder().emit(self, operands, attributes)
        return result

    def emit(
        self, *operands: Value, regions: Sequence[Region] = (), **attributes: object
    ) -> tuple[Value, ...]:
        """Emit the op into the builder in force and return all its results."""
        return active_builder().emit(self, operands, attributes, regions)

    def normalise(self, given: Mapping[str, object]) -> dict[str, Any]:
        """The attributes in declared order, defaults filled in, each checked and brought to its one
        form.
        """
        if not self.attributes and not given:
            return {}
        result = {}
        for name, kind in self.attributes.items():
            if name in given:
                result[name] = kind.normalise(given[name])
            elif name in self.defaults:
                result[name] = self.defaults[name]
            else:
                raise VerifyError(f"{self.name} needs the attribute {name}")
        if len(given) > len(result) or not given.keys() <= result.keys():
            unknown = ", ".join(sorted(given.keys() - result.keys()))
            known = ", ".join(self.attributes) or "none"
            raise VerifyError(f"{self.name} has no attribute {unknown}; it has {known}")
        return result

    def operand_name(self, index: int) -> str:
        """What messages call the operand at `index`; a last name that starts with * stands for the
        rest.
        """
        if index < len(self.operands):
            name = self.operands[index]
        elif self.operands and self.operands[-1].startswith("*"):
            name = self.operands[-1]
        else:
            return f"operand {index}"
        if not name.startswith("*"):
            return name
        return f"{name[1:]}[{index - len(self.operands) + 1}]"

    def __repr__(self) -> str:
        return f"<op {self.name}>"
