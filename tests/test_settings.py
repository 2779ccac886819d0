from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.settings import Settings, load_settings, setting_fields, variable

PAGE = Path(__file__).parents[1] / "docs" / "serve.md"


def loaded(
    options: Mapping[str, Any] | None = None, config: Path | None = None, **variables: str
) -> Settings:
    named = None if config is None else str(config)
    return load_settings(options=options or {}, environment=variables, config=named)


def set_by(name: str, text: str) -> Settings:
    """Return the settings with one variable in the environment."""
    return load_settings(options={}, environment={name: text})


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


# ── Where settings come from ─────────────────────────────────────────────────────────────


def test_without_anything_all_is_default_and_only_this_computer_is_served() -> None:
    assert loaded() == Settings()
    assert loaded().listen == "127.0.0.1"


def test_an_option_wins_over_a_variable_and_that_over_the_file(tmp_path: Path) -> None:
    config = written(tmp_path, "port = 1\nrescan_minutes = 1\nsession_days = 1\n")
    found = loaded({"port": 3}, config, BANDSTAND_PORT="2", BANDSTAND_RESCAN_MINUTES="2", OTHER="x")
    assert (found.port, found.rescan_minutes, found.session_days) == (3, 2, 1)


def test_every_setting_can_stand_in_the_file_and_in_the_environment(tmp_path: Path) -> None:
    values: dict[str, tuple[str, str, Any]] = {
        "store": ('"postgresql://a@b/c"', "postgresql://a@b/c", "postgresql://a@b/c"),
        "folders": ('["/a", "/b c"]', "/a:/b c", ("/a", "/b c")),
        "listen": ('"::1"', "[::1]", "::1"),
        "hosts": ('["a.example", "b"]', "A.example., b", ("a.example", "b")),
        "public_url": ('"https://a.example/"', "https://A.example", "https://a.example"),
        "trusted_proxies": ('["10.1.2.3/8"]', "10.0.0.0/8", ("10.0.0.0/8",)),
        "scrobble_hosts": ('["koito.lan"]', "Koito.lan", ("koito.lan",)),
        "access_log": ("false", "no", False),
        "log_level": ('"ERROR"', "error", "error"),
    }
    for name, field in setting_fields().items():
        in_file, in_environment, meant = values.get(name, ("17", "17", 17))
        config = written(tmp_path, f"{name} = {in_file}")
        assert getattr(loaded(config=config), name) == meant
        assert getattr(set_by(variable(name), in_environment), name) == meant
        assert meant != field.default


def test_the_user_s_own_file_is_read_if_it_is_there(tmp_path: Path) -> None:
    assert loaded(XDG_CONFIG_HOME=str(tmp_path)).port == 8260
    (tmp_path / "bandstand").mkdir()
    written(tmp_path / "bandstand", "port = 9")
    assert loaded(XDG_CONFIG_HOME=str(tmp_path)).port == 9
    assert loaded(XDG_CONFIG_HOME="relative", HOME=str(tmp_path)).port == 8260
    (tmp_path / ".config").mkdir()
    (tmp_path / "bandstand").rename(tmp_path / ".config" / "bandstand")
    assert loaded(HOME=str(tmp_path)).port == 9


def test_a_variable_names_another_file_and_an_option_yet_another(tmp_path: Path) -> None:
    one, two = tmp_path / "one.toml", tmp_path / "two.toml"
    one.write_text("port = 1")
    two.write_text("port = 2")
    assert loaded(BANDSTAND_CONFIG=str(one)).port == 1
    assert loaded(config=two, BANDSTAND_CONFIG=str(one)).port == 2


def test_paths_in_a_file_are_seen_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    text = 'folders = ["Music", "/mnt/b", "~/c"]\nstore = "radio.db"'
    found = loaded(config=written(tmp_path, text))
    assert found.folders == (str(tmp_path / "Music"), "/mnt/b", "/home/ann/c")
    assert found.store == str(tmp_path / "radio.db")


# ── What is refused, and how ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("port", "65536"),
        ("port", "-1"),
        ("port", "8_260"),
        ("port", "1e3"),
        ("port", "٣"),
        ("port", "tcp://10.0.0.1:8260"),
        ("rescan_minutes", "9" * 400),
        ("session_days", "0"),
        ("listener_cache_mb", "0"),
        ("listen", "not an address"),
        ("listen", "http://x"),
        ("listen", ""),
        ("hosts", "a,,b"),
        ("hosts", "a:80"),
        ("hosts", "*"),
        ("public_url", "music.example.org"),
        ("public_url", "ftp://music.example.org"),
        ("public_url", "https://music.example.org/path"),
        ("public_url", "https://ann:secret@music.example.org"),
        ("public_url", "https://music.example.org:99999"),
        ("public_url", "https://[::1"),
        ("trusted_proxies", "everybody"),
        ("trusted_proxies", "0.0.0.0/0"),
        ("trusted_proxies", "::/0"),
        ("access_log", "perhaps"),
        ("log_level", "loud"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_source(name: str, text: str) -> None:
    if text:
        with pytest.raises(InvalidInputError, match=rf"^{variable(name)} must be .*, got "):
            set_by(variable(name), text)
    with pytest.raises(InvalidInputError, match=r"^--[a-z-]+ must be .*, got "):
        loaded({name: text})


@pytest.mark.parametrize(
    "line",
    [
        'port = "8260"',
        "port = true",
        "port = 8260.0",
        "port = nan",
        "port = 1979-05-27",
        'access_log = "true"',
        "access_log = 1",
        'folders = "/music"',
        "folders = [1]",
        'folders = ["a\\u0000b"]',
        'folders = [""]',
        "store = 5",
        'store = ""',
        "listen = []",
        "hosts = [[]]",
        "log_level = 3",
        "public_url = {}",
    ],
)
def test_a_value_of_the_wrong_kind_in_a_file_is_refused(tmp_path: Path, line: str) -> None:
    config = written(tmp_path, line)
    name = line.partition(" ")[0]
    with pytest.raises(InvalidInputError, match=rf"^{config}: {name} must be .*, got "):
        loaded(config=config)


def test_a_password_in_a_store_s_address_is_never_shown() -> None:
    with pytest.raises(InvalidInputError) as refusal:
        loaded({"store": "postgresql://ann:secret@\0/x"})
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "did you mean port"),
        ("[server]\nport = 1", "there is no setting 'server'"),
        ("port = ", "must be TOML"),
        ("port = 1\nport = 2", "must be TOML"),
        ("\x00", "must be TOML"),
        ("a = " + "[" * 3000, "must be TOML"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, said: str) -> None:
    config = written(tmp_path, text)
    with pytest.raises(InvalidInputError, match=re.escape(said)) as refusal:
        loaded(config=config)
    assert str(config) in str(refusal.value)
    assert len(str(refusal.value)) < 500


def test_a_file_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"# \xff")
    with pytest.raises(InvalidInputError, match="must be TOML in UTF-8"):
        loaded(config=tmp_path / "c.toml")


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InvalidInputError, match="must be a file that can be read"):
            loaded(config=path)
    with pytest.raises(InvalidInputError, match="must be a file that can be read"):
        loaded(BANDSTAND_CONFIG="a\0b")


def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(InvalidInputError, match="at most 1,048,576 bytes"):
        loaded(config=Path("/dev/zero"))


def test_a_misspelt_variable_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"^BANDSTAND_FOLDER: .* did you mean folders"):
        loaded(BANDSTAND_FOLDER="/music")


@given(st.sampled_from(sorted(setting_fields())), st.text(min_size=1))
def test_any_text_is_taken_or_refused_in_one_sentence(name: str, text: str) -> None:
    refusal = ""
    try:
        set_by(variable(name), text)
    except InvalidInputError as problem:
        refusal = str(problem)
    assert not refusal or refusal.startswith(variable(name))
    assert "\n" not in refusal


# ── The page ─────────────────────────────────────────────────────────────────────────────


def test_every_setting_is_on_the_page_with_its_default_and_what_it_means() -> None:
    rows = re.findall(
        r"^\| `([a-z_]+)` \| `(BANDSTAND_[A-Z_]+)` \| (.+?) \| (.+) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    shown = [
        (name, variable(name), in_words(field.default), field.metadata["help"])
        for name, field in setting_fields().items()
    ]
    assert rows == shown


def in_words(default: object) -> str:
    if default is None or default == ():
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"
