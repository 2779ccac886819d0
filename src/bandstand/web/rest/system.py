"""Endpoints of the server itself, and those of what Bandstand does not have.

What is not there is answered as an empty list where the protocol has one. All else is refused
by the router (code 0), such as the jukebox, or changes of users, shares and podcasts.
"""

from collections.abc import Callable
from typing import Final

from bandstand.web.rest.answers import NOT_ALLOWED, Refusal, Tree
from bandstand.web.rest.browsing import MUSIC_FOLDER
from bandstand.web.rest.calls import Call, endpoint

EXTENSIONS: Final = (
    "apiKeyAuthentication",
    "formPost",
    "indexBasedQueue",
    "playbackReport",
    "sonicSimilarity",
    "topSongsByArtistId",
)
_ROLES: Final = (
    *("adminRole", "settingsRole", "uploadRole", "coverArtRole", "commentRole", "podcastRole"),
    *("jukeboxRole", "shareRole", "videoConversionRole"),
)


def extensions() -> Tree:
    """Return what the server has beyond the protocol of 1.16.1; anybody may know."""
    known = [{"name": name, "versions": [1]} for name in EXTENSIONS]
    return {"openSubsonicExtensions": known}


@endpoint("ping", scope="read")
def _ping(_call: Call) -> Tree:
    return {}


@endpoint("getLicense", scope="read")
def _get_license(_call: Call) -> Tree:
    return {"license": {"valid": True}}


@endpoint("getUser", scope="read")
def _get_user(call: Call) -> Tree:
    wanted = call.params.text("username")
    if wanted is not None and wanted.casefold() != call.app.account.name.casefold():
        raise Refusal(NOT_ALLOWED, "an app knows only the account that it belongs to")
    return {"user": _user(call)}


def _user(call: Call) -> Tree:
    scope = call.app.password.scope
    return {
        "username": call.app.account.name,
        "scrobblingEnabled": scope != "read",
        **dict.fromkeys(_ROLES, False),
        "downloadRole": scope != "read",
        "streamRole": scope != "read",
        "playlistRole": scope == "rate",
        "folder": [MUSIC_FOLDER["id"]],
    }


@endpoint("getUsers", scope="read")
def _get_users(call: Call) -> Tree:
    return {"users": {"user": [_user(call)]}}


@endpoint("tokenInfo", scope="read")
def _token_info(call: Call) -> Tree:
    return {"tokenInfo": {"username": call.app.account.name}}


@endpoint("getScanStatus", scope="read")
def _get_scan_status(call: Call) -> Tree:
    return {"scanStatus": _scan_status(call)}


@endpoint("startScan", scope="read")
def _start_scan(_call: Call) -> Tree:
    message = "an app cannot start a scan: the page can, and the server does so by itself"
    raise Refusal(NOT_ALLOWED, message)


def _scan_status(call: Call) -> Tree:
    scanner = call.context.scanner
    return {
        "scanning": scanner is not None and scanner.is_busy,
        "count": call.context.radio.catalogue.tally.songs,
    }


@endpoint("getLyrics", scope="read")
def _get_lyrics(_call: Call) -> Tree:
    return {"lyrics": {"value": ""}}


@endpoint("getLyricsBySongId", scope="read")
def _get_lyrics_by_song_id(_call: Call) -> Tree:
    return {"lyricsList": {"structuredLyrics": []}}


def _empty(**tree: Tree) -> Callable[[Call], Tree]:
    return lambda _call: tree


for _name, _nothing in {
    "getBookmarks": _empty(bookmarks={"bookmark": []}),
    "getChatMessages": _empty(chatMessages={"chatMessage": []}),
    "getInternetRadioStations": _empty(internetRadioStations={"internetRadioStation": []}),
    "getNewestPodcasts": _empty(newestPodcasts={"episode": []}),
    "getPodcasts": _empty(podcasts={"channel": []}),
    "getShares": _empty(shares={"share": []}),
    "getVideos": _empty(videos={"video": []}),
}.items():
    endpoint(_name, scope="read")(_nothing)
