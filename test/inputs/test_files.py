"""Files that are no files, and such that no name can have: refused at once, never waited for."""

import os
import socket

import pytest

from robot_dynamics import load_stewart, load_urdf
from robot_dynamics.errors import LONGEST_MESSAGE, ModelError
from robot_dynamics.inputs.files import read_bytes, read_text


def fifo(folder):
    os.mkfifo(folder / "fifo")
    return folder / "fifo"


def unix_socket(folder):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
    return folder / "socket"


def loop(folder):
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


def link_to_a_device(folder):
    (folder / "link").symlink_to("/dev/zero")
    return folder / "link"


STRANGE = {
    "FIFO without a writer": fifo,
    "socket": unix_socket,
    "link to itself": loop,
    "endless device": lambda _: "/dev/zero",
    "link to an endless device": link_to_a_device,
    "terminal": lambda _: "/dev/tty",
    "directory": lambda folder: folder,
    "nothing": lambda folder: folder / "nothing",
    "below a file": lambda _: f"{__file__}/file",
    "NUL in the name": lambda _: "arm\0.urdf",
    "long name": lambda _: "x" * 100_000,
    "no UTF-8 in the name": lambda _: os.fsdecode(b"\xff\xfe.urdf"),
    "direction of writing in the name": lambda _: "arm\u202efdru.",
}


@pytest.mark.parametrize("read", [load_urdf, load_stewart], ids=["URDF", "machine"])
@pytest.mark.parametrize("make", STRANGE.values(), ids=STRANGE.keys())
def test_what_is_no_regular_file_is_refused(make, read, tmp_path):
    with pytest.raises(ModelError) as caught:
        read(make(tmp_path))
    message = str(caught.value)
    assert len(message) <= LONGEST_MESSAGE
    assert message.isprintable()
    message.encode()


def test_the_size_is_bounded(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * 11)
    assert read_bytes(file, "file", most=11) == b"x" * 11
    with pytest.raises(ModelError, match="larger than"):
        read_bytes(file, "file", most=10)


def test_text_is_utf_8_with_or_without_a_byte_order_mark(tmp_path):
    file = tmp_path / "file"
    file.write_bytes("\ufeffGrüße".encode())
    assert read_text(file, "file") == "Grüße"
    file.write_bytes("Grüße".encode("latin-1"))
    with pytest.raises(ModelError, match=r"not text in UTF-8: .* at byte 2"):
        read_text(file, "file")
