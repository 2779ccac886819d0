"""Songs on their way out: files, conversion for browsers, covers, playlist files."""
