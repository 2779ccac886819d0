"""A real browser, for what only a browser can tell."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

from tests.programs import require_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

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
# As root it has no sandbox of its own; sound may begin without a click, and nobody hears it.
_OPTIONS = (
    "--no-sandbox",
    "--autoplay-policy=no-user-gesture-required",
    "--mute-audio",
    f"--disable-features={','.join(_UNUSED)}",
)

# Milliseconds until what should be seen is missing; on a slow, busy machine much takes long.
PATIENCE = 60_000


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
