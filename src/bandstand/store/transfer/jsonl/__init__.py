"""A store as lines of JSON, for another database, another program, or its owner to read.

    header                    the format, and whether this is a whole store
    scan, projection          scans of the library and fitted projections
    song, file                songs with their file and descriptors; files that cannot be read
    study                     the design of each study, and its songs
    account, event, playlist  accounts without passwords, their whole logs, their playlists
    participation             the arms of a participant, with the songs offered and rated
    end                       the number of lines and their digest

The order and spelling of lines are fixed: equal stores give equal bytes, and a file that was cut
short or changed is refused. The export of one account is for its owner: it has no paths and no
descriptors, only the songs that the account knows, and nothing that reveals which algorithm
played in a study.
"""
