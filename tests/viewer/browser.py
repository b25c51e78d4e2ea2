"""A headless Chromium, driven through its DevTools socket."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
)  # fmt: skip
PATIENCE = 120.0  #: s


def find() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page. Use as a context manager; `profile` is a folder of its own."""

    def __init__(self, url: str, profile: Path, size: tuple[int, int]) -> None:
        program = find()
        assert program is not None
        flags = (*FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={profile}")
        self.process = subprocess.Popen(
            [program, *flags, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.count = 0
        try:
            self.socket = connect(self._page(profile / "DevToolsActivePort"), max_size=None)
        except BaseException:
            self._end()
            raise

    def _page(self, file: Path) -> str:
        """The page's socket; Chromium writes its port into `file` once it listens."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if file.exists() and file.read_text().strip():
                port = file.read_text().split()[0]
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                    pages = [page for page in json.load(answer) if page["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(0.1)
        raise TimeoutError("Chromium did not open its DevTools port")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv(timeout=PATIENCE))
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def run(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, letter: str) -> None:
        key = {"key": letter.lower(), "code": f"Key{letter}", "windowsVirtualKeyCode": ord(letter)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **key)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    def click(self, text: str) -> None:
        """Click the button that says so."""
        self.run(
            f"[...document.querySelectorAll('button')]"
            f".find(b => b.innerText.trim() === {json.dumps(text)}).click()"
        )

    def wait_for(self, script: str) -> None:
        """Until the script says true."""
        until = time.monotonic() + PATIENCE
        while not self.run(script):
            assert time.monotonic() < until, script
            time.sleep(0.2)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()
        self._end()
