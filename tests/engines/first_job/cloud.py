"""A stand-in for what machines ask a cloud over the network: metadata over HTTP, secrets and a certificate over TLS.

Usage: cloud.py FOLDER, with `secrets/` and `tls/` in it; answers on ports 80 and 443 of every address of its machine.
"""

import base64
import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlsplit

_TOKENS = (
    "/metadata/identity/oauth2/token",
    "/computeMetadata/v1/instance/service-accounts/default/token",
)


class Cloud(BaseHTTPRequestHandler):
    """Answers as Azure's and Google's services do."""

    protocol_version = "HTTP/1.1"
    folder: ClassVar[Path]

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def secret(self) -> Path:
        """Return the file of the secret that the path names."""
        path = urlsplit(self.path).path.removeprefix("/v1/").removeprefix("/")
        name = path.removesuffix(":addVersion").removesuffix("/versions/latest:access")
        return self.folder / "secrets" / quote(name, safe="")

    def answer(self, code: int, body: bytes = b"{}") -> None:
        """Send an answer."""
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """Give a token, a secret, or the authority's certificate."""
        if urlsplit(self.path).path in _TOKENS:
            self.answer(200, json.dumps({"access_token": "token-of-the-machine"}).encode())
        elif self.path.endswith("global-bundle.pem"):
            self.answer(200, (self.folder / "tls" / "ca.pem").read_bytes())
        elif self.headers.get("Authorization") != "Bearer token-of-the-machine":
            self.answer(401)
        elif not self.secret().exists():
            self.answer(404)
        else:
            value = self.secret().read_text()
            packed = {"value": value, "payload": {"data": base64.b64encode(value.encode()).decode()}}
            self.answer(200, json.dumps(packed).encode())

    def do_PUT(self) -> None:
        """Store a secret."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        value = body["value"] if "value" in body else base64.b64decode(body["payload"]["data"]).decode()
        self.secret().write_text(value)
        self.answer(200)

    def do_POST(self) -> None:
        """Store a secret, or give the machine a token of the account for data."""
        if not self.path.endswith(":generateAccessToken"):
            self.do_PUT()
            return
        self.rfile.read(int(self.headers["Content-Length"]))
        account = self.path.rpartition("/")[2].removesuffix(":generateAccessToken")
        if self.headers.get("Authorization") != "Bearer token-of-the-machine":
            self.answer(403)
            return
        token = {"accessToken": f"token-of-{account}", "expireTime": "2036-01-01T00:00:00Z"}
        self.answer(200, json.dumps(token).encode())


def main() -> None:
    """Answer until the machine ends."""
    Cloud.folder = Path(sys.argv[1])
    plain = ThreadingHTTPServer(("", 80), Cloud)
    secure = ThreadingHTTPServer(("", 443), Cloud)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Cloud.folder / "tls" / "server.pem", Cloud.folder / "tls" / "server.key")
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=plain.serve_forever, daemon=True).start()
    secure.serve_forever()


if __name__ == "__main__":
    main()
