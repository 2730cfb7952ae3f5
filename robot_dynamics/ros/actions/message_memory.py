"""Messages as they lie in memory, before rclpy makes Python objects of them.

rclpy decodes a message into the C structure that ``rosidl`` generates, which takes 1 to 4 ms a megabyte, and
then makes objects of it, which takes 60 ms and holds the interpreter throughout. What it calls for the second
step is an attribute of the message's metaclass; :func:`taking_class` puts a function there that sees the
structure first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from rosidl_parser import definition as idl

POINTER = 8
_SIZES = {
    "boolean": 1, "octet": 1, "char": 1, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "wchar": 2,
    "uint32": 4, "int32": 4, "float": 4, "uint64": 8, "int64": 8, "double": 8, "long double": 16,
}  # fmt: skip


class Sequence(ctypes.Structure):
    """A sequence or a string of any elements, as ``rosidl`` has it in C."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("capacity", ctypes.c_size_t))


class Layout(NamedTuple):
    """Where the fields of a message are in its C structure.

    Attributes:
        size: of the structure [bytes].
        alignment: of the structure [bytes].
        fields: offset [bytes] and type of each field by name.
    """

    size: int
    alignment: int
    fields: dict[str, tuple[int, Any]]


def layout_of(message: type) -> Layout:
    """The layout of a message's C structure."""
    place, largest, fields = 0, 1, {}
    given: Any = message
    for name, kind in zip(given.get_fields_and_field_types(), given.SLOT_TYPES, strict=True):
        size, alignment = _extent(kind)
        place += -place % alignment
        fields[name] = (place, kind)
        place, largest = place + size, max(largest, alignment)
    return Layout(place + -place % largest, largest, fields)


def _extent(kind: Any) -> tuple[int, int]:
    """Size and alignment [bytes] of a field."""
    if isinstance(kind, idl.BasicType):
        return _SIZES[kind.typename], _SIZES[kind.typename]
    if isinstance(kind, idl.Array):
        size, alignment = _extent(kind.value_type)
        return size * kind.size, alignment
    if isinstance(kind, idl.NamespacedType):
        layout = layout_of(_class_of(kind))
        return layout.size, layout.alignment
    return ctypes.sizeof(Sequence), POINTER


def _class_of(kind: Any) -> type:
    module = import_module(".".join(kind.namespaces))
    whole, _, part = kind.name.rpartition("_")  # the goal of an action is an attribute of its class
    found: type = getattr(getattr(module, whole), part) if whole else getattr(module, kind.name)
    return found


def remaining(message: type, address: int, budget: int) -> int:
    """What is left of a budget of bytes after a message at an address; below zero as soon as it is spent."""
    for offset, kind in layout_of(message).fields.values():
        budget = _spend(kind, address + offset, budget)
        if budget < 0:
            break
    return budget


def _spend(kind: Any, address: int, budget: int) -> int:
    if isinstance(kind, idl.NamespacedType):
        return remaining(_class_of(kind), address, budget)
    if isinstance(kind, idl.BasicType | idl.Array):
        return budget - _extent(kind)[0]
    sequence = Sequence.from_address(address)
    count, data = int(sequence.size), int(sequence.data or 0)
    if not isinstance(kind, idl.AbstractSequence):
        return budget - count
    size, _ = _extent(kind.value_type)
    if isinstance(kind.value_type, idl.BasicType) or budget < size * count:
        return budget - size * count
    for k in range(count):
        budget = _spend(kind.value_type, data + k * size, budget)
        if budget < 0:
            break
    return budget


def taking_class(message: Any, convert: Callable[[int], Any]) -> type:
    """A class that rclpy takes messages of a kind by, whose objects a function makes.

    Args:
        message: the kind of the messages.
        convert: gets the address of each as a C structure, which lives as long as the call.
    """
    metaclass = message.__class__
    if metaclass._TYPE_SUPPORT is None:
        metaclass.__import_type_support__()
    function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(convert)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make(ctypes.cast(function, ctypes.c_void_p), None, None)

    class Taking(type):
        _TYPE_SUPPORT = metaclass._TYPE_SUPPORT
        _CREATE_ROS_MESSAGE = metaclass._CREATE_ROS_MESSAGE
        _DESTROY_ROS_MESSAGE = metaclass._DESTROY_ROS_MESSAGE
        _CONVERT_TO_PY = capsule
        _CALLED = function  # lives as long as the capsule

    return Taking(message.__name__, (), {})


def converter_of(message: Any) -> Callable[[int], Any]:
    """What makes an object of a message at an address, as rclpy does it."""
    metaclass = message.__class__
    if metaclass._TYPE_SUPPORT is None:
        metaclass.__import_type_support__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    capsule = metaclass._CONVERT_TO_PY
    address = pointer(capsule, name(capsule))
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(address)
