# SPDX-License-Identifier: Apache-2.0
"""A browser without a window, which tests talk to through two pipes: Chromium, if there is one.

Its protocol is that of Chrome's developer tools, a JSON object and a zero byte for each message.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from harness import Failure, Skip, check

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
    "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip


class Browser:
    """A page in a browser that reaches no network."""

    def __init__(self, url, width=1280, height=900, dark=False):
        program = next((path for name in NAMES if (path := shutil.which(name))), None)
        if not program:
            raise Skip("no Chromium")
        self.folder = tempfile.mkdtemp(prefix="browser-")
        (reads, theirs), (mine, writes) = os.pipe(), os.pipe()
        # The browser's ends are 3 and 4.
        command = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--no-first-run", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{reads} 4>&{writes}', "sh", *command],
            pass_fds=(reads, writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self.output, self.input = theirs, mine
        self.buffer, self.count, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        self.resize(width, height)
        self.set_media(dark)
        self.call("Page.navigate", url=url)
        self.wait("document.documentElement?.dataset.ready || document.documentElement?.dataset.error")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.input, 1 << 20) if ready else b""
            if not data:
                raise Failure("the browser does not answer")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.count:
                check("result" in answer, f"{method}: {answer.get('error')}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        """The value of an expression of JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        check("exceptionDetails" not in result, f"{expression}: {result.get('exceptionDetails')}")
        return result["result"].get("value")

    def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            check(time.monotonic() < end, f"never true: {expression}")
            time.sleep(0.05)

    def press(self, key, times=1, shift=False):
        event = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        if shift:
            event["modifiers"] = 8
        for _ in range(times):
            text = {"text": "\r" if key == "Enter" else " "} if key in ("Enter", "Space") else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def resize(self, width, height):
        """Gives the window that size, and waits until the page has drawn itself again."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.wait(f"innerWidth === {width}")
        # Observers of sizes are told in the next frame, and what they draw is laid out in the one after it.
        self.evaluate(
            "window.framesLeft = 3; (function count() { if (--window.framesLeft) requestAnimationFrame(count) })()"
        )
        self.wait("window.framesLeft === 0")

    def set_media(self, dark, kind=""):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def screenshot(self, path, whole=True):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        flags = {"clip": clip, "captureBeyondViewport": True} if whole else {}
        data = self.call("Page.captureScreenshot", format="png", **flags)["data"]
        path.write_bytes(base64.b64decode(data))

    def print(self, path):
        data = self.call("Page.printToPDF", printBackground=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def problems(self):
        """Exceptions and messages of errors, and what was loaded beside the page itself."""
        found = [e["params"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        found += [
            e["params"]
            for e in self.events
            if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"
        ]
        loaded = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return found, [url for url in loaded if not url.startswith(("file:", "data:"))]
