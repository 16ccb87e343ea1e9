"""Models as plain trees of JSON and arrays, and back.

A node of the tree is null, a truth value, a number, text, a list of nodes, or an object with one
key, the kind of the value: one of `_KINDS` or the name of a class. There are no references, so
that what is checked is what is built. Arrays are members of the archive, named by number; one
that a model holds twice is stored once.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmproba._sklearn_compat import NOT_FITTED_STATE
from svmproba.estimators._records import sparse_fault
from svmproba.persistence import _names
from svmproba.persistence._archive import Refused, check_depth, check_dtype
from svmproba.persistence._checks import within
from svmproba.persistence._rules import check_object

_PLAIN = (type(None), bool, int, str)
_DTYPE = re.compile(r"[<>|=]?[biufcmMSUO][0-9]{0,9}(\[[0-9]{0,9}[a-zA-Z]{1,2}\])?")
#: Length of the state of a Mersenne twister; a place beyond it would be read from foreign memory.
_TWISTER = 624


def encode(model: Any) -> tuple[bytes, list[NDArray[Any]]]:
    """Tree of a model as JSON, and the arrays that it names."""
    writer = Writer()
    text = json.dumps(writer.node(model), separators=(",", ":"), allow_nan=False)
    return check_depth(text.encode()), writer.arrays


def decode(tree: Any, array: Callable[[object], NDArray[Any]]) -> Any:
    """Model of a tree; ``array(number)`` gives the arrays that it names."""
    return Reader(array).node(tree)


class Writer:
    """Turns values into nodes and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def node(self, value: Any) -> Any:
        """Turn a value into a node, or refuse it."""
        cls = type(value)
        if cls in _PLAIN or (cls is float and math.isfinite(value)):
            return value
        if cls is list:
            return self.nodes(value)
        for kind, (fits, write, _) in _KINDS.items():
            if fits(value):
                return {kind: write(value, self)}
        if cls in _names.TUPLES.values():
            return {cls.__name__: self.nodes(value)}
        if _names.classes().get(cls.__name__) is not cls:
            what = value if hasattr(value, "__qualname__") else cls
            name = f"{what.__module__}.{what.__qualname__}"
            raise Refused(f"is {name}, which a model file may not hold")
        attributes = {
            name: part for name, part in vars(value).items() if name not in NOT_FITTED_STATE
        }
        for name in attributes:
            _check_name(cls, name)
        check_object(cls, attributes)
        return {
            cls.__name__: {
                name: within(f".{name}", self.node, part) for name, part in attributes.items()
            }
        }

    def nodes(self, values: Any) -> list[Any]:
        """Turn each of several values into a node."""
        return [within(f"[{i}]", self.node, value) for i, value in enumerate(values)]

    def array(self, array: NDArray[Any]) -> int:
        """Keep an array; gives its number, the same for the same array."""
        check_dtype(array.dtype)
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)  # which also keeps its address from being used again
        return self._numbers[id(array)]


class Reader:
    """Turns nodes into values, with the arrays that they name."""

    def __init__(self, array: Callable[[object], NDArray[Any]]) -> None:
        self.array = array
        self._owner: str | None = None

    def node(self, node: Any) -> Any:
        """Turn a node into a value, or refuse it."""
        if type(node) in (*_PLAIN, float):
            return node
        if type(node) is list:
            return self.nodes(node)
        if type(node) is not dict or len(node) != 1:
            raise Refused("is an object without a kind")
        ((kind, content),) = node.items()
        if kind in _KINDS:
            return _KINDS[kind].read(content, self)
        if kind in _names.TUPLES and self._owner:
            return _names.TUPLES[kind](*self.nodes(content))
        if kind not in _names.classes():
            raise Refused(f"is {kind[:80]!r}, which a model file may not hold")
        return self._object(kind, _names.classes()[kind], content)

    def nodes(self, content: Any) -> list[Any]:
        """Turn each node of a list into a value."""
        if type(content) is not list:
            raise Refused("is not a list")
        return [within(f"[{i}]", self.node, node) for i, node in enumerate(content)]

    def _object(self, name: str, cls: Any, content: Any) -> Any:
        if type(content) is not dict:
            raise Refused(f"is {name} without attributes")
        if (name in _names.PARTS) != (self._owner is not None) and name not in _SPLITTERS:
            raise Refused(f"is {name}, which has no place there")
        outer, self._owner = self._owner, name if name in _names.MODELS else self._owner
        for key in content:
            _check_name(cls, key)
        attributes = {key: within(f".{key}", self.node, part) for key, part in content.items()}
        self._owner = outer
        check_object(cls, attributes)
        given = _names.parameters(cls)
        missing = {key: p.default for key, p in given.items() if key not in attributes}
        if inspect.Parameter.empty in missing.values():
            raise Refused(f"is {name} without all its parameters")
        if name in _names.LINKS:  # which check their parameters as they are made
            made = cls(**{key: part for key, part in attributes.items() if key in given})
        else:
            made = cls.__new__(cls)
            vars(made).update(missing)
        vars(made).update(attributes)
        return made


def _check_name(cls: type, name: str) -> None:
    """Refuse an attribute that would take the place of a method."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,79}", name) and not name.startswith("__")
    if name not in _names.parameters(cls) and (not plain or hasattr(cls, name)):
        raise Refused(f"has {name[:80]!r}, which is no attribute of {cls.__name__}")


class Kind(NamedTuple):
    """How values of one kind are told, written and read."""

    fits: Callable[[Any], bool]
    write: Callable[[Any, Writer], Any]
    read: Callable[[Any, Reader], Any]


def _read_float(text: Any, reader: Reader) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise Refused("is not a number")
    return float(text)


def _write_dict(value: dict[Any, Any], writer: Writer) -> list[Any]:
    _check_leaves(value, "a dict with keys")
    return [
        [writer.node(key), within(f"[{key!r}]", writer.node, part)] for key, part in value.items()
    ]


def _read_dict(content: Any, reader: Reader) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for pair in content if type(content) is list else [None]:
        if type(pair) is not list or len(pair) != 2:
            raise Refused("is not a dict")
        key = reader.node(pair[0])
        _check_leaves([key], "a dict with keys")
        if key in found:
            raise Refused("is a dict with two keys that are the same")
        found[key] = within(f"[{str(key)[:80]!r}]", reader.node, pair[1])
    return found


def _read_array(number: Any, reader: Reader) -> NDArray[Any]:
    return reader.array(number)


def _read_scalar(number: Any, reader: Reader) -> Any:
    if reader.array(number).shape != ():
        raise Refused("is not a single number")
    return reader.array(number)[()]


def _write_objects(value: NDArray[Any], writer: Writer) -> list[Any]:
    _check_leaves(value.flat, "an array", np.ndarray)
    return [list(value.shape), writer.nodes(value.flat)]


def _read_objects(content: Any, reader: Reader) -> NDArray[Any]:
    shape, items = _sized(content, 2)
    values = reader.nodes(items)
    _check_leaves(values, "an array", np.ndarray)
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value  # all at once, arrays of equal length would become a table
    return array.reshape(_whole(shape))


def _write_csr(value: Any, writer: Writer) -> list[Any]:
    parts = (value.data, value.indices, value.indptr)
    return [list(map(int, value.shape)), *map(writer.array, parts)]


def _csr(cls: type) -> Kind:
    def read(content: Any, reader: Reader) -> Any:
        shape, *numbers = _sized(content, 4)
        data, indices, indptr = map(reader.array, numbers)
        n_rows, n_columns = _sized(_whole(shape), 2)
        if data.dtype.kind not in "biuf" or indices.dtype != indptr.dtype:
            raise Refused("is a sparse table of other arrays than numbers and places")
        # Compiled code follows the indices wherever they lead.
        parts = {"data": data, "indices": indices, "indptr": indptr}
        fault = sparse_fault(SimpleNamespace(format="csr", shape=(n_rows, n_columns), **parts))
        if fault:
            raise Refused(f"is a sparse table whose {fault}")
        return cls((data, indices, indptr), shape=(n_rows, n_columns))

    return Kind(lambda value: type(value) is cls, _write_csr, read)


def _write_random(value: np.random.RandomState, writer: Writer) -> list[Any]:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise Refused("is a RandomState of another generator than the Mersenne twister")
    twister = state["state"]
    rest = (int(twister["pos"]), int(state["has_gauss"]), float(state["gauss"]))
    return [writer.array(twister["key"]), *rest]


def _read_random(content: Any, reader: Reader) -> np.random.RandomState:
    number, place, has_gauss, gauss = _sized(content, 4)
    key = reader.array(number)
    right = key.dtype == np.uint32 and key.shape == (_TWISTER,) and type(gauss) is float
    if not right or _whole([place])[0] > _TWISTER or _whole([has_gauss])[0] > 1:
        raise Refused("is no state of a Mersenne twister")
    made = np.random.RandomState()
    made.set_state(("MT19937", key, place, has_gauss, gauss))
    return made


def _read_slice(content: Any, reader: Reader) -> slice:
    ends = _sized(content, 3)
    if not all(type(end) in (int, type(None)) for end in ends):
        raise Refused("is not a slice of whole numbers")
    return slice(*ends)


def _write_slice(value: slice, writer: Writer) -> list[Any]:
    ends = [value.start, value.stop, value.step]
    _read_slice(ends, None)  # type: ignore[arg-type]  # it refuses what could not be read
    return ends


def _read_dtype(text: Any, reader: Reader) -> np.dtype[Any]:
    if type(text) is not str or not _DTYPE.fullmatch(text):
        raise Refused("is not a type of arrays")
    return np.dtype(text)


def _write_dtype(value: np.dtype[Any], writer: Writer) -> str:
    _read_dtype(value.str, None)  # type: ignore[arg-type]
    return value.str


def _named(table: Callable[[], dict[str, Any]]) -> Kind:
    def read(name: Any, reader: Reader) -> Any:
        if type(name) is not str or name not in table():
            raise Refused(f"is {str(name)[:80]!r}, which a model file may not hold")
        return table()[name]

    def names(value: Any) -> list[str]:
        found = [name for name, known in table().items() if known is value]
        return sorted(found, key=lambda name: name != value.__name__)  # other numpys lack aliases

    return Kind(lambda value: bool(names(value)), lambda value, _: names(value)[0], read)


def _check_leaves(values: Any, what: str, *more: type) -> None:
    for value in values:
        if not isinstance(value, (*_PLAIN, float, np.generic, *more)):
            raise Refused(f"is {what} of {type(value).__name__}; use text or numbers")


def _sized(content: Any, n: int) -> Any:
    if type(content) is not list or len(content) != n:
        raise Refused(f"is not a list of {n}")
    return content


def _whole(values: Any) -> list[int]:
    if type(values) is not list or any(type(n) is not int or not 0 <= n < 2**62 for n in values):
        raise Refused("has other numbers than whole ones")
    return values


_SPLITTERS = ("GroupKFold", "KFold", "LeaveOneOut", "PredefinedSplit", "StratifiedKFold")
_KINDS: dict[str, Kind] = {
    "float": Kind(lambda value: type(value) is float, lambda value, _: repr(value), _read_float),
    "tuple": Kind(
        lambda value: type(value) is tuple,
        lambda value, writer: writer.nodes(value),
        lambda content, reader: tuple(reader.nodes(content)),
    ),
    "dict": Kind(lambda value: type(value) is dict, _write_dict, _read_dict),
    "objects": Kind(
        lambda value: type(value) is np.ndarray and value.dtype == object,
        _write_objects,
        _read_objects,
    ),
    "array": Kind(
        lambda value: type(value) is np.ndarray,
        lambda value, writer: writer.array(value),
        _read_array,
    ),
    "scalar": Kind(
        lambda value: isinstance(value, np.generic),
        lambda value, writer: writer.array(np.asarray(value)),
        _read_scalar,
    ),
    "csr_array": _csr(sparse.csr_array),
    "csr_matrix": _csr(sparse.csr_matrix),
    "slice": Kind(lambda value: type(value) is slice, _write_slice, _read_slice),
    "dtype": Kind(lambda value: isinstance(value, np.dtype), _write_dtype, _read_dtype),
    "type": _named(_names.types),
    "function": _named(_names.functions),
    "RandomState": Kind(
        lambda value: type(value) is np.random.RandomState, _write_random, _read_random
    ),
}
