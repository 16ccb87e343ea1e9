"""Named tuples of arrays that are handed on by their address.

Numba hands a tuple on as one number for each field of each array, seven to eleven an array, and
copies all of them wherever a field is read. A work space of thirty arrays then takes longer to
compile than what is done with it. A reference is one pointer to the tuple, on the stack of the
function that made it; reading a field reads this field alone.

Read fields that are used in a loop before the loop: the compiler cannot know that what is written
there leaves the tuple alone.
"""

from __future__ import annotations

from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)


class Reference(types.Type):
    """The type of a reference to a named tuple."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(f"Reference({record})")


@register_model(Reference)
class _Pointer(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Reference) -> None:
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.record).get_value_type().as_pointer())


def _field(record: Any, name: str) -> tuple[int, Any]:
    place = record.fields.index(name)
    return place, record.types[place]


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        if name not in reference.record.fields:
            return None
        kind = _field(reference.record, name)[1]
        return Reference(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@lower_getattr_generic(Reference)
def _read(context: Any, builder: Any, reference: Reference, value: Any, name: str) -> Any:
    place, kind = _field(reference.record, name)
    address = cgutils.gep_inbounds(builder, value, 0, place)
    if isinstance(kind, types.BaseNamedTuple):
        return address
    return impl_ret_borrowed(context, builder, kind, builder.load(address))


@intrinsic
def _refer(typingctx: Any, record: Any) -> Any:
    if isinstance(record, Reference):
        return record(record), lambda context, builder, signature, args: args[0]

    def point(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cgutils.alloca_once_value(builder, args[0])

    return Reference(record)(record), point


def _same(record: Any) -> Any:
    return record


#: Returns a reference to a named tuple, valid until the calling function returns.
by_reference: Any = _same if config.DISABLE_JIT else _refer
