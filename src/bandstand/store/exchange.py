"""A store as lines of JSON, for another database, another program, or its owner to read.

    header                    what this is, and of which format
    scan, projection          as the library was scanned and described
    song, file                songs with their file and descriptors; files that cannot be read
    study                     what was agreed in each study, and the songs that it has
    account, event, playlist  people without their passwords, their whole logs, their playlists
    participation             what each of them was offered in a study, by which algorithm, and said
    end                       how many lines there are, and a digest of them

Lines come in a fixed order with fixed spelling, so equal stores give equal bytes, and a file that
was cut short or changed is refused. The export of one account is for its owner: it has no paths
and no descriptors, only the songs that the account knows; and of a study nothing that tells which
algorithm has played.
"""

from bandstand.store.exporting import export_lines
from bandstand.store.importing import import_lines

__all__ = ["export_lines", "import_lines"]
