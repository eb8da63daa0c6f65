"""A learner's state as compiled code sees it: one address, behind which its fields are found.

Kernels name the fields of a state, a NamedTuple of arrays and numbers. Handed over by value, a
state would be hundreds of arguments in every call of every kernel: half of what the compiler had to
do, and, called from Python, several times what a round takes. So a block holds where the arrays are
and how large, and a kernel reads of it what it names.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, models, register_model
from numba.np.arrayobj import make_array, populate_array

from lumpable.learners.engine.clock import Clock

DTYPES = ("int64", "uint64", "float64", "int32", "int8", "bool")
"""What a state may hold."""
NAMES = {np.dtype(name): name for name in DTYPES}
"""Looked up: to ask an array for the name of its type takes NumPy longer than all else here."""
Kinds = tuple[tuple[str, str, int], ...]
"""Name, type and number of dimensions of each field of a state; a number has none."""
WORD = ir.IntType(64)


class Block:
    """The addresses and shapes of a state's arrays, so that one number hands over all of them.

    The clock comes first. Numbers are behind addresses, too.
    """

    def __init__(self, state: NamedTuple, clock: Clock) -> None:
        held = [
            np.asarray(value, dtype=dtype)
            for value, (_, dtype, _) in zip(state, kinds(state), strict=True)
        ]
        self._held = [clock, *held]  # they must live as long as their addresses
        words = []
        for array in self._held:
            words += [array.ctypes.data, *array.shape]
        self._words = np.array(words, dtype=np.int64)
        self.address = int(self._words.ctypes.data)


def kinds(state: NamedTuple) -> Kinds:
    """Return the name, the type and the number of dimensions of each field of a state."""
    found = []
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, np.ndarray):
            dtype = NAMES.get(value.dtype)
            if dtype is None or not value.flags.c_contiguous:
                raise TypeError(
                    f"state.{name}: expected a C-contiguous array of {', '.join(DTYPES)}, "
                    f"got {value.dtype.name} with strides {value.strides}"
                )
            found.append((name, dtype, value.ndim))
        elif isinstance(value, bool):
            found.append((name, "bool", 0))
        elif isinstance(value, int | float) and not isinstance(value, np.generic):
            found.append((name, type(value).__name__ + "64", 0))
        else:
            raise TypeError(f"state.{name}: expected an array, bool, int or float, got {value!r}")
    return tuple(found)


# --- What the compiler knows of it ----------------------------------------------------------------


class Held(types.Type):
    """The type of a state in a block, with its clock: in compiled code, a pointer to the words."""

    def __init__(self, fields: Kinds) -> None:
        self.fields: dict[str, tuple[types.Type, int]] = {}
        """The type of each field, and which word of the block has its address."""
        at = 0
        for name, dtype, dimensions in (("_clock", "uint64", 1), *fields):
            number = types.boolean if dtype == "bool" else getattr(types, dtype)
            kind = types.Array(number, dimensions, "C") if dimensions else number
            self.fields[name] = kind, at
            at += 1 + dimensions
        super().__init__(name=f"Held({fields})")


@register_model(Held)
class HeldModel(models.PrimitiveModel):
    """How it is stored."""

    def __init__(self, manager: Any, kind: Held) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@infer_getattr
class HeldFields(AttributeTemplate):
    """The types of the fields."""

    key = Held

    def generic_resolve(  # type: ignore[override]
        self, held: Held, name: str
    ) -> types.Type | None:
        """Return the type of a field; None if there is no such field."""
        return held.fields[name][0] if name in held.fields else None


@lower_getattr_generic(Held)  # type: ignore[untyped-decorator]
def read_field(context: Any, builder: Any, held: Held, words: Any, name: str) -> Any:
    """Read a field: the address and the shape of an array, or a number."""
    kind, at = held.fields[name]
    if isinstance(kind, types.Array):
        return read_array(context, builder, kind, words, at)
    place = builder.inttoptr(
        read_word(builder, words, at), context.get_data_type(kind).as_pointer()
    )
    return context.unpack_value(builder, kind, place)


def read_array(context: Any, builder: Any, kind: types.Array, words: Any, at: int) -> Any:
    """Return the array whose address is this word of a block; its shape comes after it."""
    array = make_array(kind)(context, builder)
    itemsize = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = [read_word(builder, words, at + 1 + axis) for axis in range(kind.ndim)]
    strides = [itemsize]
    for size in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    data = builder.inttoptr(read_word(builder, words, at), array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def read_word(builder: Any, words: Any, at: int) -> Any:
    """Read a word of a block. None of them ever changes, so loops need not read it again."""
    word = builder.load(builder.gep(words, [ir.Constant(WORD, at)]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def state_of(fields: Kinds) -> Any:
    """Return the compiled function from the address of a block to its state."""
    held = Held(fields)

    @intrinsic
    def state(typing: Any, address: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], WORD.as_pointer())

        return held(types.int64), code

    return state
