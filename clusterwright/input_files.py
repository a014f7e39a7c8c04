"""Reading of files that a user names: regular files only, as a whole, up to a size that is checked first.

Reading a device would never end, opening a pipe would wait forever, and a large file would fill the memory before its
content is checked.
"""

import io
import os
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.errors import InputError

if TYPE_CHECKING:
    from openpyxl.workbook import Workbook

_KB = 1000
_MB = 1000 * _KB
#: Limits of a workbook. The cost workbook of the shipped blueprint has 0.2 MB, 1.3 MB unpacked in 42 parts, and
#: openpyxl reads about 2 MB/s, so that a workbook at the limit takes seconds.
_WORKBOOK_BYTES, _UNPACKED_BYTES, _MEMBERS = 10 * _MB, 10 * _MB, 500
_ROWS, _COLUMNS = 100_000, 1_000


def read_bytes(path: Path, *, most_bytes: int, what: str, advice: str) -> bytes:
    """Return the content of a file.

    Args:
        path: file to read.
        most_bytes: largest size of a file of this kind.
        what: kind of the file with its article, for messages: "a blueprint".
        advice: help text of the errors.

    Raises:
        InputError: there is no such file, it cannot be read, is not a regular file, or is too large.
    """
    try:
        # Opening without O_NONBLOCK would wait forever if the path is a pipe.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InputError(f"{path} is not a regular file", help=advice)
            # Files in /proc report a size of 0, so the length of the content is checked too.
            content = stream.read(most_bytes + 1) if status.st_size <= most_bytes else b""
    except FileNotFoundError:
        raise InputError(f"there is no file {path}", help=advice) from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder, not {what}", help=advice) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} cannot be read: {reason}", help=advice) from None
    if max(len(content), status.st_size) > most_bytes:
        raise InputError(f"{path} is larger than {_size(most_bytes)}, so it is not {what}", help=advice)
    return content


def read_text(path: Path, *, most_bytes: int, what: str, advice: str) -> str:
    """Return the text of a UTF-8 file without its byte order mark; parameters as in `read_bytes`.

    Raises:
        InputError: as in `read_bytes`, or the file is not UTF-8.
    """
    try:
        return read_bytes(path, most_bytes=most_bytes, what=what, advice=advice).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: byte {error.start}", help="save it as UTF-8") from None


def read_workbook(path: Path, *, what: str, advice: str, values: bool = False) -> "Workbook":
    """Return a workbook after checking its unpacked size and the extent of its sheets.

    A small file can unpack to more than fits into memory, and one cell in the last row makes a sheet of a million rows.

    Args:
        path: XLSX file.
        what: kind of the workbook with its article, for messages.
        advice: help text of the errors.
        values: whether to read the results saved with the file in place of the formulas.

    Raises:
        InputError: the file cannot be read, is no workbook, or is too large.
    """
    import openpyxl  # noqa: PLC0415 - only commands that read a workbook pay for it

    content = io.BytesIO(read_bytes(path, most_bytes=_WORKBOOK_BYTES, what=what, advice=advice))
    try:
        with zipfile.ZipFile(content) as archive:
            members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        small = unpacked <= _UNPACKED_BYTES and len(members) <= _MEMBERS
        book = openpyxl.load_workbook(content, data_only=values) if small else None
    except Exception as error:  # noqa: BLE001 - whatever a damaged archive raises
        raise InputError(f"{path.name} is no workbook: {error}", help=advice) from None
    if book is None:
        raise InputError(f"{path.name} unpacks to {unpacked / _MB:,.0f} MB in {len(members):,} parts", help=advice)
    for sheet in book.worksheets:
        if sheet.max_row > _ROWS or sheet.max_column > _COLUMNS:
            raise InputError(
                f"{path.name}: the sheet {sheet.title!r} reaches to row {sheet.max_row:,}, column {sheet.max_column:,}",
                help=f"delete everything beyond row {_ROWS:,} and column {_COLUMNS:,}; {advice}",
            )
    return book


def _size(count: int) -> str:
    return f"{count / _MB:,.0f} MB" if count >= _MB else f"{count / _KB:,.0f} kB"
