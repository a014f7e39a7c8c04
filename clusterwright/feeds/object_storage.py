"""Price lakes on S3-compatible object storage, read range by range; extra `lake`.

Access is by the variables of the environment that AWS's own tools read: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
`AWS_SESSION_TOKEN`, `AWS_REGION` or `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL` for other servers than Amazon's, roles of
machines and pods; `AWS_SKIP_SIGNATURE=true` for public buckets. Nothing is written, and no key is stored.
"""

import os
from typing import TYPE_CHECKING

from clusterwright.pricing.lake import Reached, StoreError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

_SCHEME = "s3://"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
#: Bytes asked for at least, since a request costs more than the bytes of a Parquet footer.
_BLOCK_BYTES = 2**20


def reach(address: str) -> Reached:
    """Return the files under an address, by one listing, and the file system that reads them.

    Args:
        address: `s3://bucket/prefix`.

    Raises:
        StoreError: the extra is not installed, the bucket does not exist, or access is refused.
    """
    try:
        from fsspec import AbstractFileSystem  # noqa: F401, PLC0415 - the extra
        from obstore.exceptions import BaseError  # noqa: PLC0415
        from obstore.store import S3Store  # noqa: PLC0415
    except ImportError:
        raise StoreError(
            "reading prices from object storage needs the extra lake", help="pip install 'clusterwright[lake]'"
        ) from None
    from clusterwright.feeds.object_files import ObjectFiles  # noqa: PLC0415 - needs the extra

    bucket, _, prefix = address.removeprefix(_SCHEME).partition("/")
    if not bucket:
        raise StoreError(f"{address} names no bucket", help="write s3://bucket/prefix")
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    client: ClientConfig = {"connect_timeout": "5s", "timeout": "60s", "allow_http": endpoint.startswith("http://")}
    retries: RetryConfig = {"max_retries": 3}
    config: S3Config = {"endpoint": endpoint} if endpoint else {}
    try:
        store = S3Store(bucket, config=config, client_options=client, retry_config=retries)
        sizes = _sizes(store, prefix)
    except BaseError as error:
        raise StoreError(f"{address} cannot be read: {_reason(error)}", help=_help(error)) from None
    if not sizes:
        raise StoreError(
            f"there are no files under {address}", help="copy what `clusterwright prices export` wrote there"
        )
    known = {f"{bucket}/{path}": size for path, size in sizes.items()}
    addresses = tuple(f"{_SCHEME}{path}" for path in known)
    return Reached(addresses=addresses, file_system=ObjectFiles(store, sizes=known, block_bytes=_BLOCK_BYTES))


def _sizes(store: "S3Store", prefix: str) -> dict[str, int]:
    listed = store.list(prefix=prefix or None)
    return {entry["path"]: entry["size"] for chunk in listed for entry in chunk}


def _reason(error: Exception) -> str:
    said = str(error)
    for code, words in {
        "NoSuchBucket": "there is no such bucket",
        "AccessDenied": "access is refused",
        "403": "access is refused",
        "401": "access is refused",
        "InvalidAccessKeyId": "the access key is unknown",
        "SignatureDoesNotMatch": "the secret key does not fit",
        "error sending request": "the server does not answer",
    }.items():
        if code in said:
            return words
    return said.splitlines()[0]


def _help(error: Exception) -> str:
    return (
        "look at the bucket's name and at AWS_ENDPOINT_URL"
        if _reason(error) in {"there is no such bucket", "the server does not answer"}
        else "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; AWS_ENDPOINT_URL for another server"
    )
