"""What the page has from others: named by a lock, brought by the build, held by every package."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import hatch_build
from hatch_build import FILES, PLACE, RECEIPT, bring, bring_tools, is_there

ROOT = Path(__file__).resolve().parent.parent
STATIC = "src/bandstand/web/static"

# In the place of npm: puts what the lock would have brought where npm puts it.
FAKE_NPM = """#!/bin/sh
[ "$1" = ci ] && [ -f package-lock.json ] || exit 9
for file in {files}; do
    mkdir -p "node_modules/$(dirname "$file")" && echo "$file" >"node_modules/$file"
done
"""
FAILING_NPM = "#!/bin/sh\necho the registry is on holiday >&2\nexit 3\n"


# ── The lock ─────────────────────────────────────────────────────────────────────────────


def locked(text: str) -> dict[str, str]:
    """Return the hash of each package that a lock names; it must name nothing else."""
    packages = json.loads(text)["packages"]
    packages.pop("")
    for package in packages.values():
        assert package.keys() >= {"version", "integrity"}
        assert not package.keys() & {"resolved", "link", "hasInstallScript"}
    return {name: package["integrity"] for name, package in packages.items()}


def test_the_lock_pins_every_package_by_its_hash_and_says_no_address() -> None:
    text = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    hashes = locked(text)
    assert "node_modules/uplot" in hashes
    assert all(re.fullmatch(r"sha512-[\w+/]{86}==", one) for one in hashes.values())


@pytest.mark.parametrize("key", ["resolved", "link", "hasInstallScript"])
def test_a_lock_with_an_address_is_found_out(key: str) -> None:
    """The twin: what npm writes without our .npmrc is refused."""
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    lock["packages"]["node_modules/uplot"][key] = "somewhere"
    with pytest.raises(AssertionError):
        locked(json.dumps(lock))


def test_git_has_none_of_it() -> None:
    git = shutil.which("git")
    assert git
    # Whoever runs the tests need not be whose folder it is.
    command = [git, "-c", "safe.directory=*"]
    tracked = subprocess.run(
        [*command, "ls-files", PLACE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert tracked.stdout == ""
    ignored = subprocess.run([*command, "check-ignore", f"{PLACE}/uplot.js"], cwd=ROOT, check=False)
    assert ignored.returncode == 0


# ── Bringing it ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that has nothing yet but what names it."""
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Gives the machine an npm, or takes it away; it has no Node in either case."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "dirname", "mkdir"):
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))

    def with_npm(script: str | None) -> None:
        (programs / "npm").unlink(missing_ok=True)
        if script is not None:
            sources = " ".join(source for source, _ in FILES.values())
            (programs / "npm").write_text(script.format(files=sources), encoding="utf-8")
            (programs / "npm").chmod(0o755)

    return with_npm


def test_the_files_come_by_npm_once(
    project: Path, machine: Callable[[str | None], None], capfd: pytest.CaptureFixture[str]
) -> None:
    assert not is_there(project)
    machine(FAKE_NPM)
    bring(project)
    assert is_there(project)
    place = project / PLACE
    assert {one.name for one in place.iterdir()} == {*FILES, RECEIPT}
    wanted = "uplot/dist/uPlot.iife.min.js\nexport default uPlot;\n"
    assert (place / "uplot.js").read_text(encoding="utf-8") == wanted
    machine(None)
    bring(project)  # needs nothing any more
    assert capfd.readouterr() == ("", "")


def test_what_is_not_as_the_lock_wants_it_is_brought_again(
    project: Path, machine: Callable[[str | None], None]
) -> None:
    machine(FAKE_NPM)
    bring(project)
    place, lock = project / PLACE, project / "package-lock.json"

    def spoil_a_file() -> None:
        (place / "uplot.js").write_text("alert(1)", encoding="utf-8")

    def another_version() -> None:
        text = lock.read_text(encoding="utf-8").replace("1.6.32", "1.6.33")
        lock.write_text(text, encoding="utf-8")

    def half_done() -> None:
        (place / RECEIPT).write_text("{", encoding="utf-8")

    spoilers = (spoil_a_file, (place / "uplot.css").unlink, another_version, half_done)
    for spoil in spoilers:
        spoil()
        assert not is_there(project)
        bring(project)
        assert is_there(project)


def test_tools_come_by_npm_once_for_each_lock(
    project: Path, machine: Callable[[str | None], None], tmp_path: Path
) -> None:
    tools, installed = tmp_path / "tools", tmp_path / "tools" / "node_modules"
    machine(FAKE_NPM)
    bring_tools(project, tools)
    assert installed.is_dir()
    machine(None)
    bring_tools(project, tools)  # needs nothing any more
    (project / "package-lock.json").write_text("{}", encoding="utf-8")
    machine(FAILING_NPM)
    with pytest.raises(RuntimeError, match="on holiday"):
        bring_tools(project, tools)
    assert not installed.exists()


def test_what_npm_says_is_passed_on(project: Path, machine: Callable[[str | None], None]) -> None:
    machine(FAILING_NPM)
    with pytest.raises(RuntimeError, match=r"is there a network\?\nthe registry is on holiday"):
        bring(project)
    assert not (project / PLACE).exists()


@pytest.mark.parametrize(
    ("script", "known"), [("#!/bin/sh\nexit 0\n", True), ("#!/bin/sh\nexit 9\n", False)]
)
def test_node_trusts_what_the_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, *, known: bool
) -> None:
    """By a setting that only newer ones know; the others get a file."""
    (tmp_path / "node").write_text(script, encoding="utf-8")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("NODE_OPTIONS", "--no-warnings")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", __file__)
    by_setting = {"NODE_OPTIONS": "--no-warnings --use-system-ca"}
    assert hatch_build._trust() == (by_setting if known else {"NODE_EXTRA_CA_CERTS": __file__})


# ── Packages ─────────────────────────────────────────────────────────────────────────────


def built(target: str, folder: Path) -> Path:
    """Return a distribution of this project; everything is there, so it needs no network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    offline = {**os.environ, "PATH": ""}
    subprocess.run(command, cwd=ROOT, env=offline, check=True, capture_output=True)
    (found,) = folder.iterdir()
    return found


def page_of_the_project() -> set[str]:
    return {
        path.relative_to(ROOT / STATIC).as_posix()
        for path in (ROOT / STATIC).rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def test_the_files_are_in_this_project() -> None:
    assert is_there(ROOT)
    assert {f"vendor/{name}" for name in FILES} < page_of_the_project()


def test_the_wheel_holds_the_whole_page(tmp_path: Path) -> None:
    with zipfile.ZipFile(built("wheel", tmp_path)) as wheel:
        inside = "bandstand/web/static/"
        names = {name.removeprefix(inside) for name in wheel.namelist() if name.startswith(inside)}
    assert names == page_of_the_project()


def test_the_source_holds_the_whole_page_and_what_builds_it(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {f"{STATIC}/{name}" for name in page_of_the_project()} <= names
    wanted = {"hatch_build.py", "package.json", "package-lock.json", ".npmrc", "NOTICE"}
    assert wanted <= names
