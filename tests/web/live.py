"""Chromium without a window, for what only a browser can tell; it is watched for frames.

Playwright clicks once an element has stood still for two animation frames. All tabs get theirs from
one process, which Chromium calls the GPU process although it draws on the CPU. When that process
hangs, the pages still run and answer, but every click waits until its time is up. So each page
looks for frames itself, and when none come the GPU process is killed: Chromium starts another one,
the click goes on, and the page keeps its state. No visit begins before there was a frame.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import expect, sync_playwright

from tests.programs import require_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

# What a browser without a window has no use for: the first two are pages of its own that each tab
# draws behind its address bar, which takes longer than to draw ours. The others are what Playwright
# switches off, of whose list nothing holds any more once there is this one.
_UNUSED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "AimEnabled"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "PaintHolding"),
    *("HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "ThirdPartyStoragePartitioning"),
    *("AvoidCorsURLLoaderRestartOnRedirect", "LensOverlay", "MediaRouter", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "PreconnectToSearch"),
)
# As root it has no sandbox of its own; sound may begin without a click, and nobody hears it. Pages
# use no WebGL, for which the GPU process would load a driver.
_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--autoplay-policy=no-user-gesture-required",
    "--mute-audio",
    f"--disable-features={','.join(_UNUSED)}",
)

# Milliseconds until what should be seen is missing; on a slow, busy machine much takes long.
PATIENCE = 60_000
# Seconds without a frame after which there will be none; the busiest machine draws one in three.
STALLED_SECONDS: Final = 10

_NO_FRAMES: Final = "no animation frames"
# The page's own seconds are counted, so that a machine that sleeps or a page that is busy is not
# blamed. Frames inside a page are left alone: out of sight they rightly get none.
_WATCH: Final = f"""if (window === top) {{
  const ask = requestAnimationFrame.bind(window);
  let seconds = 0;
  let isAsked = false;
  setInterval(() => {{
    seconds = isAsked && document.visibilityState === "visible" ? seconds + 1 : 0;
    if (seconds && seconds % SECONDS === 0) console.debug("{_NO_FRAMES}");
    if (!isAsked) ask(() => (isAsked = false));
    isAsked = true;
  }}, 1000);
}}"""

# Places in /proc/…/stat after the name of the process, and the unit of the times there.
_PARENT, _BORN = 1, 19
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_FRAME: Final = """(patience) => new Promise((resolve) => {
  requestAnimationFrame(() => resolve(true));
  setTimeout(() => resolve(false), patience);
})"""


@contextmanager
def browser() -> Iterator[Browser]:
    """Give a Chromium without a window."""
    found = require_program("chromium")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=found, args=list(_OPTIONS), timeout=PATIENCE
        )
        try:
            yield chromium
        finally:
            chromium.close()


def open_context(
    chromium: Browser, *, stalled_seconds: int = STALLED_SECONDS, **options: Any
) -> BrowserContext:
    """Return a new context of a browser, whose pages report when they get no frames."""
    context = chromium.new_context(**options)

    def restart_frames(message: ConsoleMessage) -> None:
        if message.text == _NO_FRAMES:
            # When another page has complained before, the new process is not to blame.
            for process in gpu_processes(min_age_seconds=stalled_seconds):
                os.kill(process, signal.SIGKILL)

    context.on("console", restart_frames)
    context.add_init_script(_WATCH.replace("SECONDS", str(stalled_seconds)))
    return context


def wait_for_frame(page: Page) -> None:
    """Wait until a page gets a frame, so that no test begins with a browser that has stalled."""
    assert page.evaluate(_FRAME, PATIENCE), "the page must get a frame, and got none"


def gpu_processes(*, min_age_seconds: float = 0) -> list[int]:
    """Return the processes that draw for the browsers which this process has started."""
    born_before = (time.clock_gettime(time.CLOCK_BOOTTIME) - min_age_seconds) * _TICKS_PER_SECOND
    parents, drawing = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (place / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        parents[int(place.name)] = int(fields[_PARENT])
        if b"--type=gpu-process" in command and int(fields[_BORN]) <= born_before:
            drawing.append(int(place.name))
    return [process for process in drawing if _is_below(os.getpid(), process, parents)]


def _is_below(ancestor: int, process: int, parents: dict[int, int]) -> bool:
    while process in parents and process != ancestor:
        process = parents[process]
    return process == ancestor
