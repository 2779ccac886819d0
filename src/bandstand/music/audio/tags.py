"""Tags of a file: by PyAV, and by tinytag for what PyAV does not find; covers and thumbnails.

Text is made fit to be kept and shown, whatever bytes it came from. Only `thumbnail` decodes a
picture, and only in a limited child process, since pictures come from strangers.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import av
from av.stream import Disposition
from tinytag import TinyTag

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import DECODER_ERRORS, opened
from bandstand.music.audio.source import (
    Source,
    check_size,
    checked_picture,
    media_type,
    recording_identifier,
)
from bandstand.types import Tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from av.container import InputContainer
    from av.stream import Stream

# ── Pictures inside an audio file ───────────────────────────────────────────────────────

MAX_COVER_BYTES: Final = 20_000_000  # bytes
# Pictures come first, one packet each; what follows is sound.
_MAX_COVER_PACKETS: Final = 64


def embedded_cover(file: BinaryIO) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of the front cover, or else of another picture.

    Only JPEG, PNG and WebP count, by how they begin, whatever the file calls them: a browser
    can do nothing with these but show them.
    """
    with opened(Source(file)) as container:
        streams = pictures(container)
        if not streams:
            return None
        images = {
            packet.stream_index: bytes(packet)
            for packet in islice(container.demux(), _MAX_COVER_PACKETS)
            if 0 < packet.size <= MAX_COVER_BYTES and packet.stream_index in streams
        }
    for index in streams:
        kind = media_type(images.get(index, b""))
        if kind is not None:
            return kind, images[index]
    return None


def pictures(container: InputContainer) -> list[int]:
    """Return the streams that are pictures, the front cover first."""
    attached = [stream for stream in container.streams.video if _is_attached(stream)]
    return [stream.index for stream in sorted(attached, key=_is_not_front)]


def _is_attached(stream: Stream) -> bool:
    return bool(stream.disposition & Disposition.attached_pic)


def _is_not_front(stream: Stream) -> bool:
    return "front" not in stream.metadata.get("comment", "").lower()


# ── Thumbnails ──────────────────────────────────────────────────────────────────────────

_PICTURE_DECODERS: Final = {"image/jpeg": "mjpeg", "image/png": "png", "image/webp": "webp"}
_JPEG_QUALITY: Final = "4"  # of a JPEG, as ffmpeg counts: 2 is best, 31 worst


def thumbnail(image: bytes, side: int) -> bytes:
    """Return the picture as a JPEG whose longer side is at most `side` pixels."""
    kind = checked_picture(image)
    try:
        frame = _decoded_picture(image, _PICTURE_DECODERS[kind])
        scale = min(1.0, side / max(frame.width, frame.height))
        width, height = (max(1, round(scale * n)) for n in (frame.width, frame.height))
        return _as_jpeg(frame.reformat(width, height, format="yuvj420p", interpolation="AREA"))
    except DECODER_ERRORS:
        msg = "expected a picture, got one that is damaged"
        raise UnreadableAudioError(msg) from None


def _decoded_picture(image: bytes, codec: str) -> av.VideoFrame:
    decoder: Any = av.CodecContext.create(codec, "r")
    decoder.thread_count = 1
    packets = (av.Packet(image), None)
    frames = [frame for packet in packets for frame in decoder.decode(packet)]
    if not frames:
        raise EOFError
    # What the picture itself says may be another size than its header.
    frame: av.VideoFrame = frames[0]
    check_size(frame.width, frame.height)
    return frame


def _as_jpeg(frame: av.VideoFrame) -> bytes:
    encoder: Any = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.time_base = Fraction(1, 25)
    encoder.options = {"qmin": _JPEG_QUALITY, "qmax": _JPEG_QUALITY}
    frame.pts = 0
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


# ── Clean text ──────────────────────────────────────────────────────────────────────────

MAX_TEXT_LENGTH: Final = 500  # characters

# Enough that cleaned text is rarely cut short; normalising megabytes of combining marks would
# take minutes.
_MAX_RAW_LENGTH: Final = 8 * MAX_TEXT_LENGTH

# Marks that change the direction of the text around them, and the byte-order mark.
_DIRECTION_MARKS: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
# PyAV hands on a byte that is not UTF-8 as a lone surrogate, U+DC80 to U+DCFF.
_ESCAPED_BYTE: Final = re.compile("[\udc80-\udcff]")


def clean(text: str | None) -> str | None:
    r"""Return `text` as valid Unicode (NFC) of at most 500 characters; None if nothing is left.

    Control characters and marks that change the direction of writing are removed, white space
    is collapsed. Bytes that are not UTF-8 are read as Windows-1252, in which old tags are.

    >>> clean("  Bj\udcf6rk\x00 \n Ho\u0308sl "), clean("\x00 ")
    ('Björk Hösl', None)
    """
    if not text:
        return None
    spaced = " ".join(_ESCAPED_BYTE.sub(_cp1252_letter, text[:_MAX_RAW_LENGTH]).split())
    kept = "".join(character for character in spaced if _is_kept(character))
    # Again: removed characters may leave spaces.
    whole = " ".join(unicodedata.normalize("NFC", kept).split())
    return whole[:MAX_TEXT_LENGTH].rstrip() or None


def _cp1252_letter(escaped: re.Match[str]) -> str:
    byte = escaped[0].encode("utf-8", "surrogateescape")
    return byte.decode("cp1252", "ignore")


def _is_kept(character: str) -> bool:
    if character in _DIRECTION_MARKS or unicodedata.category(character) in {"Cc", "Cs"}:
        return False
    return ord(character) & 0xFFFE != 0xFFFE and not 0xFDD0 <= ord(character) <= 0xFDEF


# ── Genres ──────────────────────────────────────────────────────────────────────────────

_GENRE_NAMES: Final = """
Blues; Classic Rock; Country; Dance; Disco; Funk; Grunge; Hip-Hop; Jazz; Metal; New Age; Oldies;
Other; Pop; R&B; Rap; Reggae; Rock; Techno; Industrial; Alternative; Ska; Death Metal; Pranks;
Soundtrack; Euro-Techno; Ambient; Trip-Hop; Vocal; Jazz+Funk; Fusion; Trance; Classical;
Instrumental; Acid; House; Game; Sound Clip; Gospel; Noise; Alternative Rock; Bass; Soul; Punk;
Space; Meditative; Instrumental Pop; Instrumental Rock; Ethnic; Gothic; Darkwave;
Techno-Industrial; Electronic; Pop-Folk; Eurodance; Dream; Southern Rock; Comedy; Cult; Gangsta;
Top 40; Christian Rap; Pop/Funk; Jungle; Native American; Cabaret; New Wave; Psychedelic; Rave;
Showtunes; Trailer; Lo-Fi; Tribal; Acid Punk; Acid Jazz; Polka; Retro; Musical; Rock & Roll;
Hard Rock; Folk; Folk-Rock; National Folk; Swing; Fast Fusion; Bebop; Latin; Revival; Celtic;
Bluegrass; Avantgarde; Gothic Rock; Progressive Rock; Psychedelic Rock; Symphonic Rock; Slow
Rock; Big Band; Chorus; Easy Listening; Acoustic; Humour; Speech; Chanson; Opera; Chamber Music;
Sonata; Symphony; Booty Bass; Primus; Porn Groove; Satire; Slow Jam; Club; Tango; Samba;
Folklore; Ballad; Power Ballad; Rhythmic Soul; Freestyle; Duet; Punk Rock; Drum Solo; A
Cappella; Euro-House; Dance Hall; Goa; Drum & Bass; Club-House; Hardcore; Terror; Indie;
BritPop; Afro-Punk; Polsk Punk; Beat; Christian Gangsta Rap; Heavy Metal; Black Metal;
Crossover; Contemporary Christian; Christian Rock; Merengue; Salsa; Thrash Metal; Anime; JPop;
Synthpop
"""
GENRES: Final = tuple(" ".join(name.split()) for name in _GENRE_NAMES.split(";"))


# "17" or "(17)" alone, several as in "(17)(21)", or with a name of its own: "(4)Eurodisco".
_NUMBERED_GENRE: Final = re.compile(r"\(([0-9]{1,3})\)(.*)|([0-9]{1,3})", re.DOTALL)


def genre_named(text: str) -> str:
    """Return the name of a genre that may be given as a number.

    >>> genre_named("17"), genre_named("(17)(21)"), genre_named("(4)Eurodisco"), genre_named("Jazz")
    ('Rock', 'Rock', 'Eurodisco', 'Jazz')
    """
    numbered = _NUMBERED_GENRE.fullmatch(text)
    if numbered is None:
        return text
    bracketed, own_name, plain = numbered.groups()
    if own_name and own_name.strip() and not own_name.startswith("("):
        return own_name.strip()
    number = int(bracketed or plain)
    return GENRES[number] if number < len(GENRES) else text


# ── Values of single tags: a text without a meaning is None ─────────────────────────────

_YEAR: Final = re.compile(
    # Alone among digits, or the beginning of a date such as 20030501.
    r"(?<![0-9])(1[0-9]{3}|2[01][0-9]{2}|2200)(?=[^0-9]|$|[01][0-9][0-3][0-9](?:[^0-9]|$))"
)
_POSITION: Final = re.compile(r"0*([0-9]{1,4})(?:\s*(?:/|of)\s*[0-9]*)?", re.IGNORECASE)
_UUID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])"
)
_NUMBER: Final = re.compile(r"([+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+))\s*(?:dB)?", re.IGNORECASE)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,6}")

MAX_GAIN: Final = 60.0  # decibels, either way
MAX_PEAK: Final = 100.0
# Opus keeps gains in 1/256 dB and aims at -23 LUFS; ReplayGain aims at -18.
_R128_STEP: Final = 1 / 256
_R128_OFFSET: Final = 5.0


def year_of(text: str | None) -> int | None:
    """Return the first year from 1000 to 2200 in a date of any form.

    >>> year_of("2003-05-01"), year_of("(P) 1999"), year_of("19990501"), year_of("0000")
    (2003, 1999, 1999, None)
    """
    found = _YEAR.search(text or "")
    return int(found[1]) if found else None


def position_of(text: str | None) -> int | None:
    """Return the number of a track or disc, which may come with how many there are.

    >>> position_of("3/12"), position_of("07"), position_of("A1"), position_of("0")
    (3, 7, None, None)
    """
    found = _POSITION.fullmatch((text or "").strip())
    return (int(found[1]) or None) if found else None


def identifier_of(text: str | None) -> str | None:
    """Return the first MusicBrainz identifier, a UUID, in lower case.

    >>> identifier_of("F205627F-B70A-409D-ADBE-66289B614E80; and others")
    'f205627f-b70a-409d-adbe-66289b614e80'
    """
    found = _UUID.search((text or "").lower())
    return found[0] if found else None


def gain_of(text: str | None) -> float | None:
    """Return a gain in decibels.

    >>> gain_of("-7.32 dB"), gain_of("+1,5"), gain_of("loud"), gain_of("-900 dB")
    (-7.32, 1.5, None, None)
    """
    gain = _number(text)
    return gain if gain is not None and abs(gain) <= MAX_GAIN else None


def r128_gain_of(text: str | None) -> float | None:
    """Return the ReplayGain that an Opus gain amounts to, in decibels.

    >>> r128_gain_of("-1280"), r128_gain_of("256"), r128_gain_of("0.5")
    (0.0, 6.0, None)
    """
    if _WHOLE.fullmatch((text or "").strip()) is None:
        return None
    gain = int(text or "") * _R128_STEP + _R128_OFFSET
    return gain if abs(gain) <= MAX_GAIN else None


def peak_of(text: str | None) -> float | None:
    """Return a peak, 1 at full scale.

    >>> peak_of("0.988547"), peak_of("-1"), peak_of("nan")
    (0.988547, None, None)
    """
    peak = _number(text)
    return peak if peak is not None and 0 <= peak <= MAX_PEAK else None


def genre_of(text: str | None) -> str | None:
    """Return all genres that a tag names, one after the other; numbers by their names.

    >>> genre_of("(17)"), genre_of("R&B/Soul; Funk"), genre_of(" ; Pop; Pop")
    ('Rock', 'R&B/Soul; Funk', 'Pop')
    """
    parts = (clean(part) for part in re.split("[;\0]", text or ""))
    names = (clean(genre_named(part)) for part in parts if part)
    return "; ".join(dict.fromkeys(name for name in names if name)) or None


def _number(text: str | None) -> float | None:
    found = _NUMBER.fullmatch((text or "").strip()[:32])
    return float(found[1].replace(",", ".")) if found else None


# ── Tags of a file ──────────────────────────────────────────────────────────────────────

# Tags are small; what tinytag reads beyond this is damage.
_MAX_TINYTAG_BYTES: Final = 1 << 26
_MAX_TINYTAG_CALLS: Final = 1 << 16
# tinytag reads the file if PyAV lacks one of these, and then fills in the others too. Identifiers
# and gains are no reason to: most files have none, and PyAV finds those that are there.
_EXPECTED_TAGS: Final = (
    ("title",),
    ("artist",),
    ("album", "product"),
    ("albumartist",),
    ("genre",),
    ("date", "year"),
    ("track", "tracknumber"),
)


class _Found:
    """Texts by name; names differ between formats in case, spaces and underscores only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep what was not there before."""
        for name, text in pairs:
            if text.strip("\0 \t\r\n"):
                self._texts.setdefault(_plain_name(name), text)

    def get(self, *names: str) -> str | None:
        """Return the text of the first of these names that is there."""
        return next((self._texts[name] for name in names if name in self._texts), None)


def read_tags(file: BinaryIO) -> Tags:
    """Return the tags of a file that can be opened; tags that are damaged are just missing."""
    found = _Found()
    with opened(Source(file)) as container:
        for metadata in _metadata_of(container):
            found.add(metadata.items())
        has_picture = bool(pictures(container))
    if any(found.get(*names) is None for names in _EXPECTED_TAGS):
        found.add(_by_tinytag(file))
    identifier = recording_identifier(Source(file))
    found.add([("musicbrainztrackid", identifier)] if identifier else [])
    return _tags(found, cover=_cover(file) if has_picture else None)


def _tags(found: _Found, *, cover: str | None) -> Tags:
    get = found.get
    return Tags(
        title=clean(get("title")),
        artist=clean(get("artist", "author")),
        album=clean(get("album", "product")),
        album_artist=clean(get("albumartist")),
        genre=genre_of(get("genre")),
        year=year_of(get("date")) or year_of(get("year")),
        track=position_of(get("track", "tracknumber")),
        disc=position_of(get("disc", "discnumber")),
        recording_mbid=identifier_of(get("musicbrainztrackid", "musicbrainzrecordingid")),
        release_mbid=identifier_of(get("musicbrainzalbumid", "musicbrainzreleaseid")),
        artist_mbid=identifier_of(get("musicbrainzartistid")),
        track_gain=_gain(found, "track"),
        track_peak=peak_of(get("replaygaintrackpeak")),
        album_gain=_gain(found, "album"),
        album_peak=peak_of(get("replaygainalbumpeak")),
        cover=cover,
    )


def _cover(file: BinaryIO) -> str | None:
    with suppress(UnreadableAudioError):  # a damaged picture is no reason to lose a song
        found = embedded_cover(file)
        return checked_picture(found[1]) if found else None
    return None


def _gain(found: _Found, kind: str) -> float | None:
    gain = gain_of(found.get(f"replaygain{kind}gain"))
    return r128_gain_of(found.get(f"r128{kind}gain")) if gain is None else gain


def _metadata_of(container: InputContainer) -> Iterator[Mapping[str, str]]:
    """Yield the container's tags; in Ogg, which has none, those of its sound.

    Elsewhere a stream's title is not the song's: "Stereo", "Commentary".
    """
    yield container.metadata
    if container.format.name == "ogg":
        for stream in container.streams.audio:
            yield stream.metadata


def _by_tinytag(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield what tinytag finds in the file."""
    source = Source(file, limit=_MAX_TINYTAG_BYTES, calls=_MAX_TINYTAG_CALLS)
    source.seek(0)
    try:
        tag = TinyTag.get(file_obj=cast("BinaryIO", source), duration=False)
    except Exception:  # noqa: BLE001 - damaged tags raise anything, and are no reason to lose a song
        return
    for name, texts in tag.as_dict().items():
        if isinstance(texts, list):  # the others are properties of the sound
            yield name, ";".join(texts)


def _plain_name(name: str) -> str:
    """Return a name as letters and digits: MUSICBRAINZ_TRACKID is "MusicBrainz Track Id"."""
    return "".join(character for character in name.lower() if character.isalnum())
