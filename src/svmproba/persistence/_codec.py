"""Models as plain trees of JSON and arrays, and back.

A node of the tree is null, a boolean, a number, text, a list of nodes, or an object with one key,
the kind of the value: one of `KINDS` or the name of a class. There are no references, so that
what is checked is what is built. Arrays are members of the archive, named by number; an array that
a model holds twice is stored once.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from svmproba._sklearn_compat import NOT_FITTED_STATE
from svmproba.persistence import _names
from svmproba.persistence._archive import Refused, check_depth, check_dtype
from svmproba.persistence._kinds import KINDS, PLAIN
from svmproba.persistence.rules.checks import within
from svmproba.persistence.rules.objects import check_object


def encode(model: Any) -> tuple[bytes, list[NDArray[Any]]]:
    """Turn a model into a tree as JSON, and the arrays that it names."""
    writer = Writer()
    text = json.dumps(writer.node(model), separators=(",", ":"))
    return check_depth(text.encode()), writer.arrays


def decode(tree: Any, array: Callable[[object], NDArray[Any]]) -> Any:
    """Build the model of a tree; ``array(number)`` gives the arrays that it names."""
    return Reader(array).node(tree)


class Writer:
    """Turns values into nodes and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def node(self, value: Any) -> Any:
        """Turn a value into a node, or refuse it."""
        cls = type(value)
        if cls in PLAIN or (cls is float and math.isfinite(value)):
            return value
        if cls is list:
            return self.nodes(value)
        for kind, (fits, write, _) in KINDS.items():
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
        """Store an array once and return its number."""
        check_dtype(array.dtype)
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self.arrays.append(array)  # while it lives, no other object has its id
        return self._numbers[id(array)]


class Reader:
    """Turns nodes into values, with the arrays that they name."""

    def __init__(self, array: Callable[[object], NDArray[Any]]) -> None:
        self.array: Callable[[object], NDArray[Any]] = array
        self._owner: str | None = None

    def node(self, node: Any) -> Any:
        """Turn a node into a value, or refuse it."""
        if type(node) in (*PLAIN, float):
            return node
        if type(node) is list:
            return self.nodes(node)
        if type(node) is not dict or len(node) != 1:
            raise Refused("is an object without a kind")
        ((kind, content),) = node.items()
        if kind in KINDS:
            return KINDS[kind].read(content, self)
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
        if (name in _names.PARTS) != (self._owner is not None) and name not in _names.SPLITTERS:
            raise Refused(f"is {name}, which is not allowed there")
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
        if name in _names.LINKS:  # their constructors check the parameters
            made = cls(**{key: part for key, part in attributes.items() if key in given})
        else:
            made = cls.__new__(cls)
            vars(made).update(missing)
        vars(made).update(attributes)
        return made


def _check_name(cls: type, name: str) -> None:
    """Refuse an attribute that would replace a method."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,79}", name) and not name.startswith("__")
    if name not in _names.parameters(cls) and (not plain or hasattr(cls, name)):
        raise Refused(f"has {name[:80]!r}, which is not an attribute of {cls.__name__}")
