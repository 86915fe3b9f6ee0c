"""The playground: the simulator as WebAssembly gives the figures of the command, in Node and in a browser's page."""

from __future__ import annotations

import base64
import http.server
import json
import shutil
import subprocess
import threading
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import paceline
from conftest import ROOT
from paceline.browser.chromium import NAMES, Chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "target" / "playground-page"
MADE = (PAGE / "paceline_playground.wasm").exists()
pytestmark = pytest.mark.skipif(not MADE, reason="the page is not made: `make playground`")

SCENARIO = """duration = "20s"
seed = 5
[links.link]
rate = { trace = "steps.csv", format = "time-mbps", repeat = true }
delay = "25ms"
queue = { kind = "codel" }
loss = { kind = "bernoulli", ratio = 0.002 }
noise = { kind = "rfc8868" }
[flows.scream]
controller = "scream"
source = { kind = "trace-encoder", generator = "frames", fps = 30 }
path = ["link"]
[flows.gcc]
controller = { kind = "gcc", profile = "libwebrtc" }
source = { kind = "trace-encoder", generator = "frames", fps = 30 }
path = ["link"]
[flows.cubic]
controller = "cubic"
source = { kind = "bulk" }
path = ["link"]
"""
TRACE = "".join(f"{at / 2},{2 + at % 7}\n" for at in range(30))

# Asks in turn what stands in the file `questions`, one JSON text a line, and prints the answers.
ASK = """
const fs = require("fs");
const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(process.argv[2])), {});
for (const question of fs.readFileSync(process.argv[3], "utf8").split("\\n").filter(Boolean)) {
  const bytes = new TextEncoder().encode(question);
  const place = wasm.allocate(bytes.length);
  new Uint8Array(wasm.memory.buffer).set(bytes, place);
  const length = wasm.answer();
  console.log(new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, wasm.answered(), length)));
}
"""


def asked(folder: Path, *questions: object) -> list[Any]:
    """The answers of the module under Node to these questions, in one instance; a text is sent as it is."""
    (folder / "ask.cjs").write_text(ASK)
    lines = [question if isinstance(question, str) else json.dumps(question) for question in questions]
    (folder / "questions").write_text("".join(f"{line}\n" for line in lines))
    command = ["node", "ask.cjs", str(PAGE / "paceline_playground.wasm"), "questions"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=300)
    return [json.loads(line) for line in done.stdout.splitlines()]


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")


def by_command(folder: Path) -> dict[str, Any]:
    """The summary as the command has it, without the two fields that say how long it took and which build made it."""
    (folder / "steps.csv").write_text(TRACE)
    (folder / "scenario.toml").write_text(SCENARIO)
    return alike(paceline.run(folder / "scenario.toml").summary)


def alike(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key not in ("wall_s", "version")}


@pytest.mark.peer
@needs_node
def test_the_module_gives_the_bits_of_the_command(tmp_path: Path) -> None:
    begin = {"ask": "begin", "scenario": SCENARIO, "files": {"steps.csv": TRACE}}
    begun, _, rows, finished = asked(
        tmp_path, begin, {"ask": "advance", "seconds": 10}, {"ask": "rows", "after": 5}, {"ask": "finish"}
    )
    assert [flow["controller"] for flow in begun["flows"]] == ["cubic", "gcc", "scream"]
    times = rows["flows"]["scream"]["time_s"]
    assert 5 < times[0] < 5.1
    assert 9.9 < times[-1] <= 10.05
    assert len(times) == len(rows["links"]["link"]["capacity_mbps"])
    assert alike(finished["summary"]) == by_command(tmp_path)


@pytest.mark.peer
@needs_node
def test_wrong_questions_are_answered_with_messages(tmp_path: Path) -> None:
    misspelt = SCENARIO.replace("delay =", "dealy =")
    answers = asked(
        tmp_path,
        "nonsense",
        {"ask": "sing"},
        {"ask": "advance", "seconds": 1},
        {"ask": "begin", "scenario": misspelt, "files": {"steps.csv": TRACE}},
        {"ask": "begin", "scenario": SCENARIO},
        {"ask": "begin", "scenario": SCENARIO, "files": {"steps.csv": "nothing of use"}},
        {"ask": "begin", "scenario": SCENARIO, "files": {"steps.csv": TRACE}},
        {"ask": "advance", "seconds": -1e300},
        {"ask": "finish"},
        {"ask": "finish"},
    )
    messages = [answer.get("error", {}).get("message", "") for answer in answers]
    for message, said in zip(
        messages[:6], ("question", "sing", "no run", "delay", "steps.csv", "steps.csv"), strict=True
    ):
        assert said in message, messages
    assert answers[3]["error"]["line"] == 5
    assert not messages[6]
    assert not messages[7]
    assert answers[8]["summary"]["packets"] > 0
    assert "no run" in messages[9]


class Server(http.server.SimpleHTTPRequestHandler):
    """The page, a page around it that drives it, and what that page reports."""

    driver = ""
    reported: ClassVar[list[Any]] = []
    heard = threading.Event()
    extensions_map: ClassVar[dict[str, str]] = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
    }

    def do_GET(self) -> None:
        if self.path.startswith("/driver"):
            text = self.driver.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html")
            self.end_headers()
            self.wfile.write(
                b'<!doctype html><link rel="icon" href="data:,"><body><script src="driver.js"></script>'
                if self.path == "/driver"
                else text
            )
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.reported.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()
        self.heard.set()

    def log_message(self, *_: object) -> None:
        pass


# Opens the page in a frame, does as a person would, and reports what is to be seen.
DRIVER = """
const frame = document.createElement("iframe");
frame.style = "width: 1200px; height: 900px";
const rest = (ms) => new Promise((on) => setTimeout(on, ms));
const until = async (found) => {
  for (;;) {
    const it = found();
    if (it) return it;
    await rest(50);
  }
};
const report = (what) => fetch("/", { method: "POST", body: JSON.stringify(what) });
(async () => {
  frame.src = "/index.html";
  document.body.append(frame);
  const page = await until(() => frame.contentDocument?.getElementById("run") && frame.contentWindow);
  const $ = (id) => page.document.getElementById(id);
  await until(() => page.paceline);
  const first = { summary: page.paceline.summary, rows: $("figures").tBodies[0].rows.length };
  const ink = $("rates").getContext("2d").getImageData(60, 30, 600, 150).data.filter((value) => value).length;
  $("form").delay_ms.value = "80";
  $("form").delay_ms.dispatchEvent(new page.Event("change", { bubbles: true }));
  const fromForm = await until(() => $("toml").value.includes('delay = "80ms"') && $("toml").value);
  $("toml").value = fromForm.replaceAll('"80ms"', '"0.12s"').replaceAll("fps = 30", "fps = 15");
  $("toml").dispatchEvent(new page.Event("input"));
  await until(() => $("form").delay_ms.value === "120" && $("form").fps.value === "15");
  const trace = new page.File([TRACE], "steps.csv");
  const dropped = new page.DataTransfer();
  dropped.items.add(trace);
  page.document.dispatchEvent(new page.DragEvent("drop", { dataTransfer: dropped, cancelable: true }));
  await until(() => $("toml").value.includes('trace = "steps.csv"') && $("form").pattern.value === "trace");
  const format = $("form").format.value;
  $("toml").value = SCENARIO;
  page.paceline = undefined;
  $("form").requestSubmit();
  await until(() => page.paceline);
  const whole = page.paceline;
  $("toml").value = SCENARIO.replace("20s", "x");
  $("form").requestSubmit();
  const wrong = await until(() => $("wrong").textContent);
  const address = page.location.hash;
  const large = new page.File([new Uint8Array(60e6)], "large.csv");
  const heavy = new page.DataTransfer();
  heavy.items.add(large);
  page.document.dispatchEvent(new page.DragEvent("drop", { dataTransfer: heavy, cancelable: true }));
  const tooLarge = await until(() => $("message").textContent);
  frame.src = "about:blank";
  await until(() => frame.contentWindow?.location.href === "about:blank");
  frame.src = "/index.html" + FIRST;
  const again = await until(() => frame.contentWindow?.paceline);
  await report({ first, ink, format, whole, wrong, address, tooLarge, again: again.summary,
    text: frame.contentDocument.getElementById("toml").value });
})().catch((error) => report({ error: String(error.stack) }));
"""


@pytest.fixture
def server() -> Iterator[str]:
    Server.reported, Server.heard = [], threading.Event()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, directory=str(PAGE))) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()


@pytest.mark.peer
@pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="Chromium is not here")
def test_the_page_simulates_in_a_browser(server: str, tmp_path: Path) -> None:
    short = SCENARIO.replace('{ trace = "steps.csv", format = "time-mbps", repeat = true }', '"3Mbps"')
    packer = zlib.compressobj(wbits=-15)
    packed = base64.urlsafe_b64encode(packer.compress(short.encode()) + packer.flush()).decode().rstrip("=")
    values = {"SCENARIO": SCENARIO, "TRACE": TRACE, "FIRST": f"#{packed}"}
    Server.driver = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items()) + DRIVER
    with Chromium(f"{server}/driver", "") as browser:
        for _ in range(1500):
            if Server.heard.wait(0.2):
                break
            browser.check()
    assert Server.reported, "nothing in five minutes"
    (seen,) = Server.reported
    assert "error" not in seen, seen
    assert seen["first"]["rows"] == 2
    assert seen["first"]["summary"]["packets"] > 1000
    assert seen["ink"] > 1000, "nothing was drawn"
    assert seen["format"] == "time-mbps"
    assert alike(seen["whole"]["summary"]) == by_command(tmp_path)
    assert "duration" in seen["wrong"]
    assert seen["address"].startswith("#")
    assert "50 MB" in seen["tooLarge"]
    assert seen["text"] == short
    assert alike(seen["again"])["duration_s"] == 20
