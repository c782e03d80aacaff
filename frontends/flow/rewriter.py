"""The user's syntax tree with control flow as calls: each branch and loop body becomes a function
inside of the user's, which shares its variables, and `operators` decides when it runs what to do.

Nothing is decided here: a condition that turns out to be a plain Python value is treated as Python
does. All nodes keep the user's lines and columns.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from weft.frontends.flow import names
from weft.frontends.flow.assertions import with_raises
from weft.frontends.flow.dunders import OPERATORS
from weft.frontends.flow.jumps import JumpGuard, without_jumps
from weft.frontends.flow.liveness import Liveness
from weft.frontends.flow.numeric_handlers import catches_numbers

RUNTIME: Final = "weft_flow"
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_Node = TypeVar("_Node", bound=ast.AST)


def rewritten(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
    """A function with its control flow as calls of operators; the node is changed."""
    return _Rewriter(None).function(node)


class _Rewriter(ast.NodeTransformer):
    """Rewrites one scope; functions inside of it have rewriters of their own."""

    def __init__(self, counter: list[int] | None) -> None:
        self._counter = counter if counter is not None else [0]
        self._globals: set[str] = set()
        self._nonlocals: set[str] = set()
        self._own: set[str] = set()
        self._first = ""
        self._liveness = Liveness()

    # --- functions ------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
        parameters = node.args
        listed = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
        listed += [p for p in (parameters.vararg, parameters.kwarg) if p is not None]
        for parameter in listed:
            parameter.annotation = None
        self._own = {parameter.arg for parameter in listed}
        self._first = listed[0].arg if listed else ""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        node.decorator_list, node.returns = [], None
        node.body = self._body(node.body, node)
        return node

    def _body(self, body: list[ast.stmt], around: ast.FunctionDef) -> list[ast.stmt]:
        if any(
            isinstance(part, ast.Yield | ast.YieldFrom | ast.Await) for part in names.within(body)
        ):
            return body
        self._globals = names.declared(body, ast.Global)
        self._nonlocals = names.declared(body, ast.Nonlocal)
        declared = self._globals | self._nonlocals
        inside = names.read_by_inner_functions(body)
        body = without_jumps([with_raises(statement) for statement in body])
        self._own |= names.bound(body) - declared
        self._liveness = Liveness(frozenset(inside | declared))
        self._liveness.block(body, set())
        # Before the bodies of `try` and `with` are rewritten, which happens in place.
        local = sorted(names.bound(body) - declared)
        written = self.block(body)
        made = self._declarations(self._globals, self._nonlocals)
        if local:
            targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in local]
            never = ast.Assign(targets, ast.Constant(None))
            made.append(ast.If(ast.Constant(False), [never], []))
        return [_at(statement, around) for statement in made] + written

    def _declarations(self, of_globals: set[str], of_functions: set[str]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        if of_globals:
            result.append(ast.Global(sorted(of_globals)))
        if of_functions:
            result.append(ast.Nonlocal(sorted(of_functions)))
        return result

    def block(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        built: list[ast.stmt] = []
        for statement in block:
            result = self.visit(statement)
            built += result if isinstance(result, list) else [] if result is None else [result]
        return built

    def _part(self, block: Sequence[ast.stmt], place: ast.AST, item: str = "") -> ast.FunctionDef:
        """A function that runs a block on the variables of the function around it."""
        bound = names.bound(block) | (names.changed(block) & self._own)
        body = self.block(block) or [ast.Pass()]
        self._counter[0] += 1
        parameters = [ast.arg(item)] if item else []
        declared = self._declarations(bound & self._globals, bound - self._globals)
        made = ast.FunctionDef(
            name=f"weft_part_{self._counter[0]}",
            args=_arguments(parameters),
            body=[*declared, *body],
            decorator_list=[],
        )
        if sys.version_info >= (3, 12):
            made.type_params = []
        return _at(made, place)

    def _names(self, statement: ast.stmt, parts: Sequence[ast.AST]) -> ast.expr:
        """What `scope.Names` holds, as a constant."""
        own = self._own | self._globals | self._nonlocals
        read = names.read(parts)
        if "super" in read:
            read.add(self._first)
        sets = (
            names.rebound(parts),
            (names.changed(parts) & own),
            self._liveness.after.get(statement, set()),
            read,
            names.attributes(parts),
        )
        fields: list[Any] = [tuple(sorted(part)) for part in sets]
        has_loop = any(isinstance(n, ast.For | ast.While) for n in names.within(parts))
        size = sum(1 for _ in names.within(parts))
        listed: Any = (*fields, isinstance(statement, JumpGuard), has_loop, size)
        return ast.Constant(listed)

    # --- statements -----------------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        listed = self._names(node, [*node.body, *node.orelse])
        test = self._test(node.test)
        then, otherwise = self._part(node.body, node), self._part(node.orelse, node)
        call = _call("if_", test, _load(then.name), _load(otherwise.name), listed)
        return [then, otherwise, _at(ast.Expr(call), test)]

    def visit_JumpGuard(self, node: JumpGuard) -> list[ast.stmt]:
        return self.visit_If(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        listed = self._names(node, [*node.body, node.test])
        test = self._test(node.test)
        goes_on = self._part([], node)
        goes_on.body = [_at(ast.Return(test), test)]
        body = self._part(node.body, node)
        call = _call("while_", _load(goes_on.name), _load(body.name), listed)
        return [goes_on, body, _at(ast.Expr(call), test)]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        item = "weft_item"
        bind = _at(ast.Assign([node.target], _load(item)), node.target)
        listed = self._names(node, [bind, *node.body])
        iterable = self.visit(node.iter)
        body = self._part([bind, *node.body], node, item)
        more = getattr(node, "more", None)
        goes_on: ast.expr = ast.Constant(None) if more is None else _later(self.visit(more))
        call = _call("for_", iterable, _load(body.name), goes_on, listed)
        return [body, _at(ast.Expr(call), iterable)]

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        stores: list[ast.stmt] = []
        node.targets = [self._target(target, stores) for target in node.targets]
        node.value = self.visit(node.value)
        return [node, *stores]

    def _target(self, target: ast.expr, stores: list[ast.stmt]) -> ast.expr:
        """A target with a new variable where an item of an array is assigned, which follows."""
        if isinstance(target, ast.Tuple | ast.List):
            target.elts = [self._target(part, stores) for part in target.elts]
        elif isinstance(target, ast.Starred):
            target.value = self._target(target.value, stores)
        elif isinstance(target, ast.Subscript) and self._base(target):
            value = self._fresh()
            stores += self._store(target, _at(_load(value), target), None)
            return _at(ast.Name(value, ast.Store()), target)
        else:
            self.generic_visit(target)
        return target

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        call = node.value
        target = names.written_by(call) if isinstance(call, ast.Call) else None
        if target is None or target.id not in self._own or not isinstance(call, ast.Call):
            self.generic_visit(node)
            return [node]
        return self._write_by_call(node, call, target.id)

    def _write_by_call(self, node: ast.Expr, call: ast.Call, name: str) -> list[ast.stmt]:
        """`np.add.at(x, i, v)`, after x was made an array that can be written to while tracing."""
        made: list[ast.stmt] = []

        def kept(argument: ast.expr) -> ast.expr:
            if isinstance(argument, ast.Name | ast.Constant | ast.Starred):
                return argument
            value = self._fresh()
            target = ast.Name(value, ast.Store())
            made.append(_at(ast.Assign([target], self.visit(argument)), argument))
            return _at(_load(value), argument)

        call.args = [kept(argument) for argument in call.args]
        for word in call.keywords:
            word.value = kept(word.value)
        others = [*call.args, *[word.value for word in call.keywords]]
        given: list[ast.expr] = [
            _at(_load(a.id), a) for a in others if isinstance(a, ast.Name) and a.id != name
        ]
        self.generic_visit(node)
        return [*made, self._adopt(name, given, node), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        if isinstance(node.target, ast.Name) and node.target.id in self._own:
            value = self._fresh()
            given = _at(ast.Assign([ast.Name(value, ast.Store())], self.visit(node.value)), node)
            adopt = self._adopt(node.target.id, [_load(value)], node)
            node.value = _at(_load(value), node.value)
            return [given, adopt, node]
        if isinstance(node.target, ast.Subscript) and self._base(node.target):
            value = self._fresh()
            given = _at(ast.Assign([ast.Name(value, ast.Store())], self.visit(node.value)), node)
            return [given, *self._store(node.target, _at(_load(value), node.value), node.op)]
        self.generic_visit(node)
        return [node]

    def _store(
        self, target: ast.Subscript, value: ast.expr, operation: ast.operator | None
    ) -> list[ast.stmt]:
        """`x[key] = value`, after x was made an array that can be written to while tracing."""
        key = self._fresh()
        taken = _at(ast.Assign([ast.Name(key, ast.Store())], self._key(target.slice)), target.slice)
        adopt = self._adopt(self._base(target), [_load(key), value], target)
        whole = self.visit(target.value)
        place = _at(ast.Subscript(whole, _load(key), ast.Store()), target)
        made: ast.stmt = ast.Assign([place], value)
        if operation is not None:
            made = ast.AugAssign(place, operation, value)
        return [taken, adopt, _at(made, target)]

    def _adopt(self, name: str, given: list[ast.expr], place: ast.AST) -> ast.stmt:
        call = _call("writable", _load(name), *given)
        return _at(ast.Assign([ast.Name(name, ast.Store())], call), place)

    def _base(self, target: ast.expr) -> str:
        """The variable that `x[i][j]` is a part of, if it is the function's own."""
        while isinstance(target, ast.Subscript):
            target = target.value
        return target.id if isinstance(target, ast.Name) and target.id in self._own else ""

    def _key(self, key: ast.expr) -> ast.expr:
        if isinstance(key, ast.Slice):
            parts = [part and self.visit(part) for part in (key.lower, key.upper, key.step)]
            return _at(_call("slice_", *[part or ast.Constant(None) for part in parts]), key)
        if isinstance(key, ast.Tuple):
            return _at(ast.Tuple([self._key(part) for part in key.elts], ast.Load()), key)
        visited: ast.expr = self.visit(key)
        return visited

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return []
        return self.visit_Assign(_at(ast.Assign([node.target], node.value), node))

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        self.generic_visit(node)
        if node.exc is not None and not names.has_walrus(node):
            node.exc = _at(_call("raised", _later(node.exc)), node.exc)
        return node

    def visit_Try(self, node: ast.Try) -> ast.stmt | list[ast.stmt]:
        if catches_numbers(node):
            return self._try_of_numbers(node)
        kinds = [handler.type or _at(_load("BaseException"), handler) for handler in node.handlers]
        self.generic_visit(node)
        for handler, kind in zip(node.handlers, kinds, strict=True):
            asked = _at(ast.Expr(_call("not_refused", _later(kind))), handler.body[0])
            handler.body = [asked, *handler.body]
        if kinds:
            listed = _at(ast.Tuple(list(kinds), ast.Load()), node)
            around = ast.withitem(_at(_call("handled", _later(listed)), node), None)
            node.body = [_at(ast.With([around], node.body), node.body[0])]
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        self.generic_visit(node)
        parts = [part for case in node.cases for part in ast.walk(case.pattern)]
        if any(
            isinstance(part, ast.MatchClass)
            or (isinstance(part, ast.MatchSingleton) and part.value is not None)
            for part in parts
        ):
            node.subject = _at(_call("subject", node.subject), node.subject)
        return node

    def _try_of_numbers(self, node: ast.Try) -> list[ast.stmt]:
        """A `try` that may become a branch."""
        blocks = [handler.body for handler in node.handlers]
        listed = self._names(node, [part for block in (node.body, *blocks) for part in block])
        kinds = [_later(self.visit(handler.type)) for handler in node.handlers if handler.type]
        body = self._part(node.body, node)
        parts = [self._part(block, block[0]) for block in blocks]
        pairs: list[ast.expr] = [
            ast.Tuple([kind, _load(part.name)], ast.Load())
            for kind, part in zip(kinds, parts, strict=True)
        ]
        call = _call("try_", _load(body.name), ast.Tuple(pairs, ast.Load()), listed)
        return [body, *parts, _at(ast.Expr(call), node.body[0])]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        kind = type(node.op).__name__
        if kind not in OPERATORS:
            return node
        return _at(_call("operate", ast.Constant(kind), node.left, node.right), node)

    def visit_Global(self, node: ast.Global) -> None:
        return None

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        return None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        decorators = [self.visit(decorator) for decorator in node.decorator_list]
        self._visit_defaults(node.args)
        result = _Rewriter(self._counter).function(node)
        assert isinstance(result, ast.FunctionDef)
        result.decorator_list = decorators
        return result

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self._visit_defaults(node.args)
        result = _Rewriter(self._counter).function(node)
        assert isinstance(result, ast.Lambda)
        return result

    def _visit_defaults(self, parameters: ast.arguments) -> None:
        parameters.defaults = [self.visit(default) for default in parameters.defaults]
        parameters.kw_defaults = [d and self.visit(d) for d in parameters.kw_defaults]

    # --- expressions ----------------------------------------------------------------------------

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if names.has_walrus(node):
            return self._unmoved(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return _at(_call(name, *[_later(self.visit(value)) for value in node.values]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return _at(_call("not_", self._test(node.operand)), node)
        self.generic_visit(node)
        return node

    def _test(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth matters."""
        if not isinstance(node, ast.BoolOp) or names.has_walrus(node):
            visited: ast.expr = self.visit(node)
            return visited
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        parts = [_at(_call("tested", self._test(value)), value) for value in node.values]
        return _at(_call(name, *[_later(part) for part in parts]), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if names.has_walrus(node):
            return self._unmoved(node)
        test, then, otherwise = (
            self._test(node.test),
            self.visit(node.body),
            self.visit(node.orelse),
        )
        return _at(_call("if_expression", test, _later(then), _later(otherwise)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        is_plain = len(node.ops) == 1 and not isinstance(node.ops[0], ast.In | ast.NotIn)
        if is_plain and isinstance(node.ops[0], ast.Is | ast.IsNot):
            operands = (node.left, node.comparators[0])
            is_plain = any(isinstance(o, ast.Constant) and o.value in (None, ...) for o in operands)
        if is_plain and not isinstance(node.ops[0], ast.Is | ast.IsNot):
            self.generic_visit(node)
            name = ast.Constant(_COMPARISONS[type(node.ops[0])])
            return _at(_call("compared", name, node.left, node.comparators[0]), node)
        if is_plain or names.has_walrus(node):
            return self._unmoved(node)
        parts: list[ast.expr] = [self.visit(node.left)]
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            parts += [ast.Constant(_COMPARISONS[type(operator)]), _later(self.visit(operand))]
        return _at(_call("compare", *parts), node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """An f-string, whose text may only be known when the program runs."""
        parts: list[ast.expr] = []
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                parts.append(part)
                continue
            conversion = ast.Constant("" if part.conversion < 0 else chr(part.conversion))
            spec = part.format_spec and self.visit(part.format_spec)
            listed = [self.visit(part.value), conversion, spec or ast.Constant("")]
            parts.append(ast.Tuple(listed, ast.Load()))
        return _at(_call("joined", *parts), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or names.has_walrus(node):
            return self._unmoved(node)
        if isinstance(node.slice, ast.Constant):
            return self._unmoved(node)
        return _at(_call("item", self.visit(node.value), self._key(node.slice)), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        is_private = node.attr.startswith("__") and not node.attr.endswith("__")
        if not isinstance(node.ctx, ast.Load) or is_private:
            return self._unmoved(node)
        return _at(_call("attribute", self.visit(node.value), ast.Constant(node.attr)), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        is_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        if is_super and not node.args and self._first:
            return _at(ast.Call(node.func, [_load("__class__"), _load(self._first)], []), node)
        self.generic_visit(node)
        node.func = _at(_call("call", node.func), node.func)
        return node

    def _unmoved(self, node: _Node) -> _Node:
        self.generic_visit(node)
        return node

    def _fresh(self) -> str:
        """A variable that only neighbouring statements use: no part of anybody's results."""
        self._counter[0] += 1
        return f"weft_local_{self._counter[0]}"


def _arguments(parameters: list[ast.arg]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _later(expression: ast.expr) -> ast.expr:
    return _at(ast.Lambda(_arguments([]), expression), expression)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(operator: str, *arguments: ast.expr) -> ast.Call:
    function = ast.Attribute(_load(RUNTIME), operator, ast.Load())
    return ast.Call(function, list(arguments), [])


def _at(node: _Node, place: ast.AST) -> _Node:
    """A new node at the place of another; parts that have a place keep it."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node
