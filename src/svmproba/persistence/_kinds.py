"""Kinds of values in the tree of a model that are neither plain JSON nor objects of a class."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmproba.estimators.input.samples import sparse_fault
from svmproba.persistence import _names
from svmproba.persistence._archive import Refused
from svmproba.persistence.rules.checks import within

if TYPE_CHECKING:
    from svmproba.persistence._codec import Reader, Writer

#: Values that JSON holds as they are; finite floats are the others.
PLAIN = (type(None), bool, int, str)
_DTYPE = re.compile(r"[<>|=]?[biufcmMSUO][0-9]{0,9}(\[[0-9]{0,9}[a-zA-Z]{1,2}\])?")
#: Length of the state of a Mersenne twister; NumPy would read a place beyond it from other memory.
_TWISTER = 624


class Kind(NamedTuple):
    """How values of one kind are recognised, written and read."""

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
            raise Refused("is a dict with a repeated key")
        found[key] = within(f"[{str(key)[:80]!r}]", reader.node, pair[1])
    return found


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
        array[i] = value  # np.array would turn arrays of equal length into a table
    return array.reshape(_whole(shape))


def _write_csr(value: Any, writer: Writer) -> list[Any]:
    parts = (value.data, value.indices, value.indptr)
    return [list(map(int, value.shape)), *map(writer.array, parts)]


def _read_csr(cls: type) -> Callable[[Any, Reader], Any]:
    def read(content: Any, reader: Reader) -> Any:
        shape, *numbers = _sized(content, 4)
        data, indices, indptr = map(reader.array, numbers)
        n_rows, n_columns = _sized(_whole(shape), 2)
        if data.dtype.kind not in "biuf" or indices.dtype != indptr.dtype:
            raise Refused("is a sparse table with arrays of the wrong type")
        # Compiled code does not check its indices.
        parts = {"data": data, "indices": indices, "indptr": indptr}
        fault = sparse_fault(SimpleNamespace(format="csr", shape=(n_rows, n_columns), **parts))
        if fault:
            raise Refused(f"is a sparse table whose {fault}")
        return cls((data, indices, indptr), shape=(n_rows, n_columns))

    return read


def _write_random(value: np.random.RandomState, writer: Writer) -> list[Any]:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise Refused("is a RandomState that is not a Mersenne twister")
    twister = state["state"]
    rest = (int(twister["pos"]), int(state["has_gauss"]), float(state["gauss"]))
    return [writer.array(twister["key"]), *rest]


def _read_random(content: Any, reader: Reader) -> np.random.RandomState:
    number, place, has_gauss, gauss = _sized(content, 4)
    key = reader.array(number)
    right = key.dtype == np.uint32 and key.shape == (_TWISTER,) and type(gauss) is float
    if not right or _whole([place])[0] > _TWISTER or _whole([has_gauss])[0] > 1:
        raise Refused("is not the state of a Mersenne twister")
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
    _read_slice(ends, None)  # type: ignore[arg-type]  # refuses what could not be read
    return ends


def _read_dtype(text: Any, reader: Reader) -> np.dtype[Any]:
    if type(text) is not str or not _DTYPE.fullmatch(text):
        raise Refused("is not a dtype")
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
        return sorted(
            found, key=lambda name: name != value.__name__
        )  # aliases differ between numpys

    return Kind(lambda value: bool(names(value)), lambda value, _: names(value)[0], read)


def _check_leaves(values: Any, what: str, *more: type) -> None:
    for value in values:
        if not isinstance(value, (*PLAIN, float, np.generic, *more)):
            raise Refused(f"is {what} of {type(value).__name__}; use text or numbers")


def _sized(content: Any, n: int) -> Any:
    if type(content) is not list or len(content) != n:
        raise Refused(f"is not a list of {n}")
    return content


def _whole(values: Any) -> list[int]:
    if type(values) is not list or any(type(n) is not int or not 0 <= n < 2**62 for n in values):
        raise Refused("must hold whole numbers")
    return values


def _exactly(cls: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is cls


#: In the order in which they are tried: object arrays before other arrays.
KINDS: dict[str, Kind] = {
    "float": Kind(_exactly(float), lambda value, _: repr(value), _read_float),
    "tuple": Kind(
        _exactly(tuple),
        lambda value, writer: writer.nodes(value),
        lambda content, reader: tuple(reader.nodes(content)),
    ),
    "dict": Kind(_exactly(dict), _write_dict, _read_dict),
    "objects": Kind(
        lambda value: type(value) is np.ndarray and value.dtype == object,
        _write_objects,
        _read_objects,
    ),
    "array": Kind(
        _exactly(np.ndarray),
        lambda value, writer: writer.array(value),
        lambda number, reader: reader.array(number),
    ),
    "scalar": Kind(
        lambda value: isinstance(value, np.generic),
        lambda value, writer: writer.array(np.asarray(value)),
        _read_scalar,
    ),
    "csr_array": Kind(_exactly(sparse.csr_array), _write_csr, _read_csr(sparse.csr_array)),
    "csr_matrix": Kind(_exactly(sparse.csr_matrix), _write_csr, _read_csr(sparse.csr_matrix)),
    "slice": Kind(_exactly(slice), _write_slice, _read_slice),
    "dtype": Kind(lambda value: isinstance(value, np.dtype), _write_dtype, _read_dtype),
    "type": _named(_names.types),
    "function": _named(_names.functions),
    "RandomState": Kind(_exactly(np.random.RandomState), _write_random, _read_random),
}
