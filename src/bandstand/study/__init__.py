"""The blind comparison of algorithms with people: design, protocol, service, export."""
