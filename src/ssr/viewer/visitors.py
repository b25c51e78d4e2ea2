"""Who may talk to `ssr play`: pages it served itself, not another page that the user's browser has open."""

from __future__ import annotations

import http
import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import websockets.asyncio.server as server
from websockets.datastructures import Headers
from websockets.http11 import Request as Asked
from websockets.http11 import Response

LOCAL = ("localhost", "127.0.0.1", "::1")


def stranger(headers: Headers, host: str) -> str:
    """Why a request is refused, or nothing. host: what the server listens on.

    A name that leads here by a trick of its owner's is refused, so addresses and this machine's names remain.
    A browser says which page asks; programs that say nothing are no pages.
    """
    asked = headers.get_all("Host")
    if len(asked) != 1:
        return "expected one Host"
    name = _name(f"http://{asked[0]}")
    if name not in _names(host) and not (host not in LOCAL and _is_address(name)):
        return f"{asked[0]!r} is not the name of this server"
    origins = headers.get_all("Origin")
    if len(origins) > 1 or (origins and urlsplit(origins[0]).netloc.lower() != asked[0].lower()):
        return f"pages of {origins[0]!r} may not connect"
    return ""


def _names(host: str) -> set[str]:
    return {*LOCAL, host.lower(), *(() if host in LOCAL else (socket.gethostname().lower(),))}


def _name(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@contextmanager
def guarded(host: str) -> Iterator[None]:
    """Servers of websockets that are opened meanwhile refuse strangers before anything else."""
    serve = server.serve

    def serve_guests(*arguments: Any, process_request: Callable[..., Any] | None, **rest: Any) -> Any:
        def process(connection: Any, request: Asked) -> Any:
            if why := stranger(request.headers, host):
                status = http.HTTPStatus.FORBIDDEN
                return Response(status.value, status.phrase, Headers(), f"ssr play: {why}\n".encode())
            return process_request(connection, request) if process_request else None

        return serve(*arguments, process_request=process, **rest)

    server.serve = serve_guests  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        server.serve = serve  # type: ignore[misc]
