"""The promises of the project's frame: quick import, honest locks, layers, the two commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-dev.lock")
NODE_LOCK = "requirements-node.lock"
# A version pinned for some interpreters or systems: name==version [; condition].
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?: ; (?P<condition>[^\\]+?))? \\$")


class Outcome(NamedTuple):
    code: int
    text: str


def run(*command: str | Path, cwd: Path, **variables: str) -> Outcome:
    # Without what the test runner adds, such as its colours and its number of workers.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**clean, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Outcome(done.returncode, done.stdout)


# ── Importing ────────────────────────────────────────────────────────────────────────────


def test_importing_the_package_brings_nothing_heavy() -> None:
    program = "import sys, bandstand; print(*sys.modules)"
    code, text = run(sys.executable, "-c", program, cwd=ROOT)
    assert code == 0, text
    heavy = {"jax", "numpyro", "torch", "scipy.stats", "matplotlib", "pytest", "hypothesis"}
    assert heavy.isdisjoint(text.split())


# ── Locks ────────────────────────────────────────────────────────────────────────────────


def pins(lock: str) -> dict[tuple[str, str], str]:
    """Return the version of each package under each condition."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    found = [match for line in lines if (match := PIN.match(line))]
    return {(match["name"], match["condition"] or ""): match["version"] for match in found}


@pytest.mark.parametrize(("lock", "least"), [*((lock, 20) for lock in LOCKS), (NODE_LOCK, 2)])
def test_every_line_of_a_lock_is_a_pin_with_hashes(lock: str, least: int) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).strip())
    assert len(blocks) >= least
    for block in blocks:
        first, *rest = block.splitlines()
        assert PIN.match(first), first
        assert rest, f"{first} has no hash"
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?", line) for line in rest)


@pytest.mark.parametrize(
    "name",
    [
        *(*LOCKS, NODE_LOCK, "package-lock.json", "package.json", ".npmrc"),
        *("run", ".ci/run", "pyproject.toml", "hatch_build.py"),
    ],
)
def test_no_file_names_a_package_index_or_a_place_on_some_machine(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.search(r"\w+://|--(?:extra-)?index-url|--find-links|(?:/home|/root)/", text) is None


def test_the_developers_lock_holds_the_runtime_lock_at_the_same_versions() -> None:
    runtime, developers = (pins(lock) for lock in LOCKS)
    names = {name for name, _ in runtime}
    assert {name for name, _ in developers} > names
    assert {pin for pin in runtime.items() if pin not in developers.items()} == set()


# ── Layers ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the package's empty files under the project's contracts, for wrong imports."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    source, package = ROOT / "src" / "bandstand", tmp_path / "src" / "bandstand"
    for file in source.rglob("*.py"):
        copy = package / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    return package


def lint(package: Path) -> Outcome:
    program = Path(sys.executable).with_name("lint-imports")
    return run(
        program, "--no-cache", "--no-logo", cwd=package.parents[1], PYTHONPATH=str(package.parent)
    )


def test_imports_downwards_are_accepted_and_others_refused_with_their_lines(tree: Path) -> None:
    downwards = [("core/policies", "core.model"), ("radio/log", "music"), ("web/routes", "radio")]
    for importer, imported in downwards:
        (tree / importer / "fine.py").write_text(f"import bandstand.{imported}\n", encoding="utf-8")
    code, text = lint(tree)
    assert code == 0, text
    wrong = [
        ("core/model", "bandstand.core.engines"),
        ("core/engines", "bandstand.core.policies"),
        ("core/policies", "bandstand.core.engines"),
        ("core/engines", "bandstand.core.recommender"),
        ("store", "bandstand.music"),
        ("store/database", "bandstand.store.events"),
        *(("core/policies", library) for library in ("click", "matplotlib", "rich", "sqlite3")),
    ]
    for number, (importer, imported) in enumerate(wrong):
        (tree / importer / f"new_{number}.py").write_text(f"import {imported}\n", encoding="utf-8")
    code, text = lint(tree)
    assert code == 1
    for number, (importer, imported) in enumerate(wrong):
        place = importer.replace("/", ".")
        assert f"bandstand.{place}.new_{number} -> {imported} (l.1)" in text


def test_a_part_without_a_place_in_the_layers_is_refused(tree: Path) -> None:
    (tree / "gramophone.py").touch()
    code, text = lint(tree)
    assert code == 1
    assert "gramophone" in text


# ── The commands ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("shell", "script"), [("sh", "run"), ("bash", ".ci/run")])
def test_the_scripts_are_valid_and_executable(shell: str, script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    interpreter = shutil.which(shell)
    assert interpreter
    assert run(interpreter, "-n", ROOT / script, cwd=ROOT) == Outcome(0, "")


def test_run_says_what_it_can_do_and_refuses_an_unknown_command() -> None:
    code, text = run(ROOT / "run", "dance", cwd=ROOT)
    assert code == 2
    assert "there is no command 'dance'" in text
    code, text = run(ROOT / "run", cwd=ROOT)
    assert code == 0
    assert all(f"./run {name}" in text for name in ("demo", "bandstand", "test", "check", "lock"))


def test_run_says_which_python_it_needs(tmp_path: Path) -> None:
    shutil.copy(ROOT / "run", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("cat", "cksum", "dirname", "mkdir", "sh"):
        program = shutil.which(name)
        assert program
        (tools / name).symlink_to(program)
    (tools / "python3").write_text("#!/bin/sh\necho Python 3.9.2; exit 1\n", encoding="utf-8")
    (tools / "python3").chmod(0o755)
    code, text = run(tmp_path / "run", "demo", cwd=tmp_path, PATH=str(tools))
    assert code == 1
    assert text.startswith("run: Bandstand needs Python 3.11 or newer on the PATH, found ")
    assert text.count("\n") == 1


# ── The tests themselves ─────────────────────────────────────────────────────────────────

SOME_TESTS = """
import pytest

def test_quick() -> None: ...

@pytest.mark.long
def test_long() -> None: ...

def test_reads(shared_data) -> None: ...
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a folder with three tests under the project's own settings."""
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_some.py").write_text(SOME_TESTS, encoding="utf-8")
    return tmp_path


def outcomes(suite: Path, *arguments: str, **variables: str) -> str:
    places = {"BANDSTAND_SHARED_DATA": str(suite), "CI": "", **variables}
    command = (sys.executable, "-m", "pytest", "-q", *arguments)
    return run(*command, cwd=suite, **places).text.splitlines()[-1]


def test_long_tests_wait_to_be_asked_for_and_then_are_alone(suite: Path) -> None:
    assert outcomes(suite).startswith("2 passed, 1 deselected")
    assert outcomes(suite, "--long").startswith("1 passed, 2 deselected")


def test_absent_reference_data_is_skipped_by_people_and_fails_in_ci(suite: Path) -> None:
    nowhere = str(suite / "nowhere")
    assert outcomes(suite, BANDSTAND_SHARED_DATA=nowhere).startswith("1 passed, 1 skipped")
    assert "1 error" in outcomes(suite, BANDSTAND_SHARED_DATA=nowhere, CI="true")


PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def prose(page: Path) -> str:
    """Return a document without its examples."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return a document's own anchors, and those of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    names = {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}
    return names | set(re.findall(r'<a id="([^"]+)">', prose(page)))


def leads_nowhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return not target.exists() or (bool(anchor) and anchor not in anchors(target))


def broken_links(page: Path) -> list[str]:
    links = re.findall(r"\]\((?!\w+:)([^)\s]+)\)", prose(page))
    return [f"{page.name}: {link}" for link in links if leads_nowhere(page, link)]


def test_every_link_of_the_documents_leads_somewhere(tmp_path: Path) -> None:
    assert [link for page in PAGES for link in broken_links(page)] == []
    planted = tmp_path / "page.md"
    planted.write_text("# Here\n[a](gone.md) [b](#here) [c](#there)", encoding="utf-8")
    assert broken_links(planted) == ["page.md: gone.md", "page.md: #there"]


def test_every_file_that_the_documents_name_is_there() -> None:
    named = re.compile(
        r"`((?:src|tests|benchmarks)/[\w/.-]+|(?:core|music|store|radio|web)/[\w/]+\.py)`"
    )
    homes = (ROOT, ROOT / "src" / "bandstand")
    absent = {
        name
        for page in PAGES
        for name in named.findall(page.read_text(encoding="utf-8"))
        if not any((home / name).exists() for home in homes)
    }
    # Examples of files to come.
    examples = ("two_sigma.py", "STUDY.py", "STUDY.toml")
    assert {name for name in absent if not name.endswith(examples)} == set()
