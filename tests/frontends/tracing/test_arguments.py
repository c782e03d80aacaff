"""Arguments of traced functions: pytrees, names, keywords, static values, methods."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft as wf
from weft.compiler.ir.graph import Graph


class Layer(NamedTuple):
    weight: Any
    bias: Any = None


@dataclasses.dataclass
class Model:
    layers: Any
    scale: Any = 1.0
    activation: str = dataclasses.field(default="tanh", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Frozen:
    weight: Any
    power: Any = dataclasses.field(default=2, metadata={"static": True})


def names(graph: Graph) -> list[str]:
    return [parameter.name for parameter in graph.parameters]


# --- pytrees --------------------------------------------------------------------------------------


def test_nested_structures_come_in_and_go_out() -> None:
    def f(tree: Any) -> Any:
        first, second = tree["layers"]
        return {
            "sum": first.weight + second.weight,
            "parts": [first.bias, (second.weight, None)],
            "layer": Layer(first.weight * 2.0),
        }

    layers = [Layer(np.ones(2), np.zeros(3)), Layer(np.full(2, 5.0))]
    got = wf.jit(f)({"layers": layers, "unused": None})
    np.testing.assert_array_equal(got["sum"], [6.0, 6.0])
    np.testing.assert_array_equal(got["parts"][0], np.zeros(3))
    assert got["parts"][1][1] is None
    assert isinstance(got["layer"], Layer)
    assert got["layer"].bias is None


def test_dataclasses_need_no_registration() -> None:
    def f(model: Model) -> Model:
        function = {"tanh": np.tanh, "exp": np.exp}[model.activation]
        return Model([function(w) * model.scale for w in model.layers], activation="none")

    compiled = wf.jit(f)
    got = compiled(Model([np.ones(2), np.zeros(1)], 2.0))
    assert type(got) is Model
    assert got.activation == "none"
    np.testing.assert_array_equal(got.layers[0], 2 * np.tanh(np.ones(2)))
    other = compiled(Model([np.ones(2), np.zeros(1)], 2.0, "exp"))
    np.testing.assert_array_equal(other.layers[1], [2.0])


def test_frozen_dataclasses_work_and_static_fields_are_python_values() -> None:
    compiled = wf.jit(lambda m: dataclasses.replace(m, weight=m.weight**m.power))
    assert compiled(Frozen(3.0)).weight == 9.0
    assert compiled(Frozen(3.0, 3)).weight == 27.0
    assert compiled(Frozen(3.0, 3)).power == 3


def test_a_static_field_that_cannot_be_hashed_is_refused() -> None:
    with pytest.raises(wf.ArgumentError, match="static field power of Frozen is a list"):
        wf.jit(lambda m: m.weight)(Frozen(1.0, [1]))


@pytest.mark.parametrize("value", [None, (), [], {}])
def test_structures_without_arrays(value: Any) -> None:
    assert wf.jit(lambda x: (x, value))(value) == (value, value)


def test_dict_results_keep_their_order() -> None:
    got = wf.jit(lambda d: {"z": d["b"], "a": d["a"]})({"b": 1.0, "a": 2.0})
    assert list(got) == ["z", "a"]
    assert (got["z"], got["a"]) == (1.0, 2.0)


def test_none_chooses_a_branch_while_tracing() -> None:
    f = wf.jit(lambda x, bias=None: x if bias is None else x + bias)
    assert f(1.0) == 1.0
    assert f(1.0, None) == 1.0
    assert f(1.0, 2.0) == 3.0


# --- names ----------------------------------------------------------------------------------------


def test_parameters_are_named_after_arguments() -> None:
    def f(x: Any, /, params: Any, *rest: Any, rate: Any, **options: Any) -> Any:
        return x

    params = {"out": Layer(1.0, 2.0), "in": [Frozen(3.0)]}
    graph = wf.trace(f)(1.0, params, 2.0, 3.0, rate=0.1, b=1.0, a=(1.0, 2.0))
    assert names(graph) == [
        "x",
        "params.in.0.weight",
        "params.out.weight",
        "params.out.bias",
        "args.2",
        "args.3",
        "a.0",
        "a.1",
        "b",
        "rate",
    ]


def test_the_graph_is_named_after_the_function() -> None:
    def my_model(x: Any) -> Any:
        return x

    assert wf.trace(my_model)(1.0).name == "my_model"
    assert wf.trace(lambda x: x)(1.0).name == "lambda"
    assert wf.trace(functools.partial(my_model))(1.0).name == "partial"


# --- keyword and static arguments -----------------------------------------------------------------


def test_keywords_and_positions_mean_the_same() -> None:
    f = wf.jit(lambda x, y=10.0: x - y)
    assert [f(3.0, 1.0), f(3.0, y=1.0), f(y=1.0, x=3.0), f(3.0)] == [2.0, 2.0, 2.0, -7.0]


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnames": "n"}])
def test_static_arguments_are_python_values(options: dict[str, Any]) -> None:
    def power(x: Any, n: int) -> Any:
        assert type(n) is int
        for _ in range(n - 1):
            x = x * x
        return x

    f = wf.jit(power, **options)
    assert [f(3.0, 1), f(3.0, 2), f(3.0, n=3)] == [3.0, 9.0, 81.0]


def test_a_static_keyword_is_no_position() -> None:
    f = wf.jit(lambda *xs, flag: xs[1] if flag else xs[0], static_argnames="flag")
    assert f(1.0, 2.0, flag=True) == 2.0
    assert names(f.trace(1.0, 2.0, flag=False)) == ["args.0", "args.1"]


def test_static_values_of_other_types_are_other_versions() -> None:
    """1, 1.0 and True are equal in Python, 0.0 and -0.0 too, but give different programs."""
    f = wf.jit(lambda x, n: x * n, static_argnums=1)
    assert f(np.arange(2), 1).dtype == np.int64
    assert f(np.arange(2), 1.0).dtype == np.float64
    assert np.signbit(f(1.0, -0.0)) and not np.signbit(f(1.0, 0.0))
    g = wf.jit(lambda m: m.weight * m.power)
    assert g(Frozen(np.arange(2), 1)).dtype == np.int64
    assert g(Frozen(np.arange(2), 1.0)).dtype == np.float64
    h = wf.jit(lambda x, n: x * n[0], static_argnums=1)
    assert (h(np.arange(2), (1,)).dtype, h(np.arange(2), (1.0,)).dtype) == (np.int64, np.float64)


def test_bad_static_arguments_are_refused() -> None:
    with pytest.raises(wf.ArgumentError, match=r"has no argument 'falg'; it has \['x', 'flag'\]"):
        wf.jit(lambda x, *, flag: x, static_argnames="falg")
    with pytest.raises(wf.ArgumentError, match="static argument n is a list, which cannot be"):
        wf.jit(lambda x, n: x, static_argnums=1)(1.0, [1])
    with pytest.raises(wf.ArgumentError, match="'x' is no position"):
        wf.jit(lambda x: x, static_argnums=("x",))  # type: ignore[arg-type]


# --- methods --------------------------------------------------------------------------------------


@dataclasses.dataclass
class Scaler:
    factor: Any

    @wf.jit
    def apply(self, x: Any) -> Any:
        return self.factor * x


class Plain:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    @functools.partial(wf.jit, static_argnames="self")
    def apply(self, x: Any) -> Any:
        return self.factor * x

    @wf.jit
    def without_static(self, x: Any) -> Any:
        return x


def test_a_method_of_a_dataclass_takes_self_as_a_pytree() -> None:
    scaler = Scaler(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(scaler.apply(3.0), [3.0, 6.0])
    scaler.factor = np.array([10.0, 20.0])
    np.testing.assert_array_equal(scaler.apply(3.0), [30.0, 60.0])


def test_a_method_with_a_static_self() -> None:
    assert Plain(2.0).apply(3.0) == 6.0
    assert Plain(5.0).apply(3.0) == 15.0
    with pytest.raises(wf.ArgumentError, match=r'static_argnames=\("self",\)'):
        Plain(2.0).without_static(3.0)


def test_a_bound_method_is_compiled() -> None:
    assert wf.jit(Plain(2.0).apply)(3.0) == 6.0


class Metres(np.ndarray[Any, Any]):
    """Stands for the array classes of other libraries."""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.array([1.0, 2.0], mask=[False, True]), "masked array.*x.filled"),
        (np.ones((2, 2)).view(np.matrix), "numpy.matrix.*write x @ y"),
        (np.ones(3).view(Metres), "Metres.*np.asarray"),
    ],
)
def test_arrays_that_would_lose_their_meaning_are_refused(given: Any, message: str) -> None:
    with pytest.raises(wf.ArgumentError, match=f"argument x of lambda is a {message}"):
        wf.jit(lambda x: x * 2)(given)
    with pytest.raises(wf.TraceError, match=f"is a {message}"):
        wf.jit(lambda x: np.add(x, given))(1.0)


def test_arrays_in_files_are_arrays(tmp_path: Path) -> None:
    held = np.memmap(tmp_path / "x", np.float64, "w+", shape=(4,))
    held[:] = range(4)
    np.testing.assert_array_equal(wf.jit(lambda x: x * 2)(held), [0, 2, 4, 6])
