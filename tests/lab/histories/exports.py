"""Tiny exports of every kind, written by hand; each has the same five plays of three songs.

2024-03-01 20:00:00  Ada     First Light  3 minutes
2024-03-01 20:05:00  Bo & Co Second       10 seconds: skipped
2024-03-01 21:00:00  Ada     First Light  3 minutes
2024-03-02 20:00:00  Ada     Third, Take  2 minutes
2024-03-03 20:00:00  Ada     First Light  3 minutes
"""

from __future__ import annotations

from typing import Final

BEGINS: Final = (1709323200, 1709323500, 1709326800, 1709409600, 1709496000)
SONGS: Final = (0, 1, 0, 2, 0)
LASTED: Final = (180.0, 10.0, 180.0, 120.0, 180.0)

# A play is written when it ends, to the minute; a podcast is in between.
SPOTIFY_ACCOUNT: Final = """[
  {"endTime" : "2024-03-01 20:03", "artistName" : "Ada",
   "trackName" : "First Light", "msPlayed" : 180000},
  {"endTime" : "2024-03-01 20:05", "artistName" : "Bo & Co",
   "trackName" : "Second", "msPlayed" : 10000},
  {"endTime" : "2024-03-01 20:30", "podcastName" : "Talk",
   "episodeName" : "One", "msPlayed" : 900000},
  {"endTime" : "2024-03-01 21:03", "artistName" : "Ada",
   "trackName" : "First Light", "msPlayed" : 180000},
  {"endTime" : "2024-03-02 20:02", "artistName" : "Ada",
   "trackName" : "Third, Take", "msPlayed" : 120000},
  {"endTime" : "2024-03-03 20:03", "artistName" : "Ada",
   "trackName" : "First Light", "msPlayed" : 180000}
]
"""

_NO_TALK: Final = '"episode_name": null, "episode_show_name": null, "spotify_episode_uri": null'


def _extended(ts: str, played: int, artist: str, title: str, reason: str, skipped: str) -> str:
    return (
        f'{{"ts": "{ts}", "platform": "linux", "ms_played": {played}, "conn_country": "NL", '
        f'"master_metadata_track_name": "{title}", '
        f'"master_metadata_album_artist_name": "{artist}", '
        f'"master_metadata_album_album_name": "Album", "spotify_track_uri": "spotify:track:x", '
        f'{_NO_TALK}, "reason_start": "trackdone", "reason_end": "{reason}", "shuffle": false, '
        f'"skipped": {skipped}, "offline": false, "incognito_mode": false}}'
    )


_EPISODE: Final = (
    '{"ts": "2024-03-01T20:30:00Z", "ms_played": 900000, "master_metadata_track_name": null, '
    '"master_metadata_album_artist_name": null, "episode_name": "One", '
    '"episode_show_name": "Talk", "spotify_episode_uri": "spotify:episode:y", "skipped": false}'
)
SPOTIFY_EXTENDED: Final = (
    "["
    + ",".join(
        (
            _extended("2024-03-01T20:03:00Z", 180000, "Ada", "First Light", "trackdone", "false"),
            _extended("2024-03-01T20:05:10Z", 10000, "Bo & Co", "Second", "fwdbtn", "null"),
            _EPISODE,
            _extended("2024-03-01T21:03:00Z", 180000, "Ada", "First Light", "trackdone", "false"),
            _extended("2024-03-02T20:02:00Z", 120000, "Ada", "Third, Take", "fwdbtn", "true"),
            _extended("2024-03-03T20:03:00Z", 180000, "Ada", "First Light", "logout", "null"),
        )
    )
    + "]"
)

# Newest first, as the exporters write it; the first row is playing now.
LASTFM: Final = """uts,utc_time,artist,artist_mbid,album,album_mbid,track,track_mbid
,,Ada,,,,Playing Now,
"1709496000","03 Mar 2024, 20:00","Ada","","One","","First Light",""
"1709409600","02 Mar 2024, 20:00","Ada","","One","","Third, Take",""
"1709326800","01 Mar 2024, 21:00","Ada","","One","","First Light",""
"1709323500","01 Mar 2024, 20:05","Bo & Co","","Two","","Second",""
"1709323200","01 Mar 2024, 20:00","Ada","","One","","First Light",""
"""
LASTFM_BARE: Final = """Ada,One,First Light,03 Mar 2024 20:00
Ada,One,"Third, Take",02 Mar 2024 20:00
Ada,One,First Light,01 Mar 2024 21:00
Bo & Co,Two,Second,01 Mar 2024 20:05
Ada,One,First Light,01 Mar 2024 20:00
"""
LASTFM_STATS: Final = """Artist;Album;AlbumId;Track;Date#ada
"Ada";"One";"1";"First Light";"1709496000000"
"Ada";"One";"1";"Third, Take";"1709409600000"
"Ada";"One";"1";"First Light";"1709326800000"
"Bo & Co";"Two";"2";"Second";"1709323500000"
"Ada";"One";"1";"First Light";"1709323200000"
"""
LASTFM_TSV: Final = """1709496000\tFirst Light\tAda\tOne\t\t\t
1709409600\tThird, Take\tAda\tOne\t\t\t
1709326800\tFirst Light\tAda\tOne\t\t\t
1709323500\tSecond\tBo & Co\tTwo\t\t\t
1709323200\tFirst Light\tAda\tOne\t\t\t
"""
LASTFM_1K: Final = """user_000001\t2024-03-03T20:00:00Z\ta1\tAda\tt1\tFirst Light
user_000001\t2024-03-02T20:00:00Z\ta1\tAda\tt3\tThird, Take
user_000001\t2024-03-01T21:00:00Z\ta1\tAda\tt1\tFirst Light
user_000001\t2024-03-01T20:05:00Z\t\tBo & Co\t\tSecond
user_000001\t2024-03-01T20:00:00Z\ta1\tAda\tt1\tFirst Light
"""

LISTENBRAINZ_LINES: Final = """\
{"listened_at": 1709496000, "track_metadata": {"artist_name": "Ada", "track_name": "First Light"}}
{"listened_at": 1709409600, "track_metadata": {"artist_name": "Ada", "track_name": "Third, Take"}}
{"listened_at": 1709326800, "track_metadata": {"artist_name": "Ada", "track_name": "First Light"}}
{"listened_at": 1709323500, "track_metadata": {"artist_name": "Bo & Co", "track_name": "Second"}}
{"listened_at": 1709323200, "track_metadata": {"artist_name": "Ada", "track_name": "First Light"}}
"""
LISTENBRAINZ_LIST: Final = "[" + ", ".join(LISTENBRAINZ_LINES.splitlines()) + "]"
LISTENBRAINZ_ANSWER: Final = '{"payload": {"count": 5, "listens": ' + LISTENBRAINZ_LIST + "}}"

PLAIN: Final = """listener,epoch_s,track,ms_played
x,1709323200,10,180000
x,1709323500,20,10000
x,1709326800,10,180000
x,1709409600,30,120000
x,1709496000,10,180000
"""
PLAIN_ISO: Final = """\ufeffTime, Artist ,Title,Skipped
2024-03-01T20:00:00Z,Ada,First Light,no
2024-03-01T20:05:00Z,Bo & Co,Second,yes
2024-03-01T22:00:00+01:00,Ada,First Light,no
2024-03-02 20:00:00,Ada,"Third, Take",no
2024-03-03T20:00Z,Ada,First Light,
"""
PLAIN_ELAPSED: Final = """user,item,seconds
x,10,0
x,20,300
x,10,3600
x,30,86400
x,10,172800
"""

# The content of each, the format that it is found to be, and how many entries are left out.
ALL: Final = {
    "spotify-account": (SPOTIFY_ACCOUNT, "Spotify, account data", 1),
    "spotify-extended": (SPOTIFY_EXTENDED, "Spotify, extended history", 1),
    "lastfm": (LASTFM, "Last.fm CSV", 1),
    "lastfm-bare": (LASTFM_BARE, "Last.fm CSV", 0),
    "lastfm-stats": (LASTFM_STATS, "Last.fm CSV", 0),
    "lastfm-tsv": (LASTFM_TSV, "Last.fm TSV", 0),
    "lastfm-1k": (LASTFM_1K, "Last.fm 1K", 0),
    "listenbrainz-lines": (LISTENBRAINZ_LINES, "ListenBrainz", 0),
    "listenbrainz-list": (LISTENBRAINZ_LIST, "ListenBrainz", 0),
    "listenbrainz-answer": (LISTENBRAINZ_ANSWER, "ListenBrainz", 0),
    "plain": (PLAIN, "CSV", 0),
    "plain-iso": (PLAIN_ISO, "CSV", 0),
    "plain-elapsed": (PLAIN_ELAPSED, "CSV", 0),
}
