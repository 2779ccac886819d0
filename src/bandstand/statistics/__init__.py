"""Small exact statistics of what was measured: nothing here draws, and nothing here knows radios.

summaries      means with their standard errors
paired         differences between two ways to treat the same people, with p-values
slopes         straight lines, also on two logarithmic axes
zipf           how often the same things come back
concentration  how plays are spread over songs, and the distance between two such spreads
rank_laws      whether plays follow Zipf's law, an exponential one, or go to all songs alike
"""
