"""Small exact statistics of what was measured: nothing here draws, and nothing here knows radios.

summaries  means with their standard errors
paired     differences between two ways to treat the same people, with p-values
slopes     straight lines, also on two logarithmic axes
zipf       how often the same things come back
"""
