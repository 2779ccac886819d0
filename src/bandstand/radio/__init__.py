"""The radio: what a listener asks of it, and what a listener tells it.

service             `Radio`: next song, playlists, events, settings, taste; it joins the parts
log/                what a listener's log says: evidence, the ledger, snapshots, rebuilding
choice/             which song is played: the shelf, bans, years, spacing, wishes, the dial
reasons/            why this song, and what has been learnt about a listener
media/              songs on their way out: files, conversion, covers, playlist files
scanning/           the library in the background
study/              a study with people as it goes on: who may do what, which song comes next
offers              what the radio answers
seats               what is kept ready of the listeners who are here
sound               how songs sound, as the model sees it
listener_settings   how a listener wants the radio
passwords           how passwords are kept and checked
clock               the time
"""
