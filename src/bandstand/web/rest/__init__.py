"""The OpenSubsonic server under `/rest`: the library and the radio for music apps."""
