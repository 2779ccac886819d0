"""From folders of music to songs in the store: walk, open, analyse, recognise, record."""
