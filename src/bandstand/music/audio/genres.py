"""The names behind numeric genres, as ID3v1 and its extensions number them from 0."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = """
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
GENRES: Final = tuple(" ".join(name.split()) for name in _NAMES.split(";"))


# "17" or "(17)" alone, several as in "(17)(21)", or with a name of its own: "(4)Eurodisco".
_NUMBERED: Final = re.compile(r"\(([0-9]{1,3})\)(.*)|([0-9]{1,3})", re.DOTALL)


def genre_named(text: str) -> str:
    """Return the name of a genre that may be given as a number.

    >>> genre_named("17"), genre_named("(17)(21)"), genre_named("(4)Eurodisco"), genre_named("Jazz")
    ('Rock', 'Rock', 'Eurodisco', 'Jazz')
    """
    numbered = _NUMBERED.fullmatch(text)
    if numbered is None:
        return text
    bracketed, own_name, plain = numbered.groups()
    if own_name and own_name.strip() and not own_name.startswith("("):
        return own_name.strip()
    number = int(bracketed or plain)
    return GENRES[number] if number < len(GENRES) else text
