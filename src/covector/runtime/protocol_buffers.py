"""Protocol buffers without their library: messages as fields by number.

A message is a sequence of fields, each with its number and a *wire type*: 0 for an
integer, 1 and 5 for 8 and 4 bytes, 2 for a length and so many bytes, which may be a
text, or a message again. (``runtime/compile_options.py`` writes one of bytes.)
"""

from collections.abc import Iterator

Value = int | memoryview

_FIXED = {1: 8, 5: 4}


def fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    """The fields of a message in order: number, and an integer or bytes.

    Raises:
      ValueError: it is no message, or cut off.
    """
    position, end = 0, len(message)
    while position < end:
        key, position = _read_varint(message, position)
        wire_type = key & 7
        if wire_type == 0:
            value, position = _read_varint(message, position)
            yield key >> 3, value
            continue
        length = _FIXED.get(wire_type)
        if wire_type == 2:
            length, position = _read_varint(message, position)
        if length is None or position + length > end:
            raise ValueError("this is not a protocol buffer, or it is cut off")
        yield key >> 3, message[position : position + length]
        position += length


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(message):
        byte = message[position]
        number |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return number, position
    raise ValueError("this is not a protocol buffer, or it is cut off")
