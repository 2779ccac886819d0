"""Small exact statistics of what was measured; nothing here knows radios.

summaries       means with their standard errors
paired          differences between two ways to treat the same people, with p-values
paired_columns  the same at many places at once, also where some people are missing
max_t           p-values corrected for many tests of the same people, by flipping signs
slopes          straight lines, also on two logarithmic axes
zipf            how often the same things come back
concentration   how plays are spread over songs, and the distance between two such spreads
rank_laws       whether plays follow Zipf's law, an exponential one, or go to all songs alike

Nothing is drawn, but for flips of many people, with the randomness that the caller gives.
"""
