"""From folders of music to features: files, sound, descriptors, and all songs as one matrix."""
