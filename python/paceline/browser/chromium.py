"""Chromium without a window, which holds one call and is gone after it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from enum import Enum
from pathlib import Path

from paceline import disk
from paceline.errors import PacelineError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Programs that are looked for."""
LONGEST_TEMPORARY = 60
"""Characters of a folder in which the path of its socket, 108 at most, has room."""
END_S = 5.0
"""How long it may take to end by itself."""


class BrowserError(PacelineError):
    """No browser, or one that failed."""


class Congestion(str, Enum):
    """The browser's own congestion control."""

    gcc = "gcc"
    scream = "scream"


def field_trials(feedback: str, congestion: Congestion) -> str:
    """Field trials to switch on in libwebrtc: RFC 8888, which it offers only if asked to, and its SCReAM v2."""
    trials = ""
    if feedback == "rfc8888":
        trials += "WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/"
    if congestion is Congestion.scream:
        trials += "WebRTC-Bwe-ScreamV2/Enabled,mode:always/"
    return trials


def needed(trials: str) -> list[str]:
    """Options that any browser needs for a call with us: plain RTP, and the field trials."""
    return ["--disable-webrtc-encryption", *([f"--force-fieldtrials={trials}"] if trials else [])]


class Chromium:
    """A browser of its own profile, with one page open."""

    def __init__(self, url: str, trials: str, program: str | None = None) -> None:
        self._gone = ExitStack()
        profile = self._gone.enter_context(disk.temporary_folder(Path(tempfile.gettempdir()), "paceline-browser-"))
        arguments = [
            *("--headless=new", "--disable-gpu", "--no-first-run", "--mute-audio"),
            *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
            *("--autoplay-policy=no-user-gesture-required", f"--user-data-dir={profile}"),
            # Its sandbox refuses root; the page is our own and loads nothing else.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *needed(trials),
        ]
        # The browser ends with this process, however that ends.
        setpriv = shutil.which("setpriv")
        with_us = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        self._said = profile / "stderr.txt"
        try:
            with self._said.open("wb") as said:
                self._process = subprocess.Popen(
                    [*with_us, find(program), *arguments, url],
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    env=os.environ | ({"TMPDIR": str(profile)} if len(str(profile)) <= LONGEST_TEMPORARY else {}),
                    start_new_session=True,
                )
        except BaseException:
            self._gone.close()
            raise

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        # Its other processes end with it, or not at all.
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._gone.close()

    def check(self) -> None:
        """Raises `BrowserError` if it has ended."""
        status = self._process.poll()
        if status is not None:
            said = self._said.read_text("utf-8", "replace").strip().splitlines()[-3:]
            raise BrowserError(
                f"the browser ended with status {status}: {' / '.join(said)[-400:] or 'it said nothing'}"
            )


def find(program: str | None) -> str:
    """The program that is named, or the first that is installed."""
    found = shutil.which(program) if program else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        looked = program or ", ".join(NAMES)
        raise BrowserError(
            f"browser: found none of {looked}, expected Chromium: install it (apt install chromium), name it with "
            "--chromium PATH, or open the page in a browser of yours with --wait"
        )
    return found
