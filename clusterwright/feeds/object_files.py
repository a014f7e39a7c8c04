"""A file system of fsspec over one listing of a bucket: sizes are known, bytes are fetched by range. Read only."""

from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem
from fsspec.spec import AbstractBufferedFile

if TYPE_CHECKING:
    from obstore.store import S3Store


class ObjectFiles(AbstractFileSystem):  # type: ignore[misc]
    """Files of one bucket by `bucket/path`."""

    protocol = "s3"
    cachable = False

    def __init__(self, store: "S3Store", *, sizes: dict[str, int], block_bytes: int) -> None:
        """Take an open bucket, the size of each file, and how many bytes to ask for at least."""
        super().__init__()
        self.store = store
        self._sizes = sizes
        self._block_bytes = block_bytes

    def info(self, path: str, **_: Any) -> dict[str, Any]:  # noqa: ANN401 - of fsspec
        """Return name, size and type of a file, from the listing.

        Raises:
            FileNotFoundError: the listing does not have it.
        """
        name = self._strip_protocol(path)
        if name not in self._sizes:
            raise FileNotFoundError(path)
        return {"name": name, "size": self._sizes[name], "type": "file"}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: ANN401
        """Return the files under a path, at any depth."""
        name = self._strip_protocol(path).rstrip("/")
        found = [entry for entry in self._sizes if entry == name or entry.startswith(f"{name}/")]
        return [self.info(entry) for entry in found] if detail else found

    def modified(self, path: str) -> Any:  # noqa: ANN401, ARG002 - a listing is read once; files do not change in it
        """Return one day for every file."""
        import datetime as dt  # noqa: PLC0415

        return dt.datetime(2000, 1, 1, tzinfo=dt.UTC)

    def _open(self, path: str, mode: str = "rb", **_: Any) -> "_ObjectFile":  # noqa: ANN401
        if mode != "rb":
            raise OSError("a price lake is read only")
        return _ObjectFile(self, path, block_size=self._block_bytes, size=self.info(path)["size"])


class _ObjectFile(AbstractBufferedFile):  # type: ignore[misc]
    """One file; fsspec keeps the block that was read last."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        key = self.path.partition("/")[2]
        return bytes(self.fs.store.get_range(key, start=start, end=end))
