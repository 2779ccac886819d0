"""The blind comparison of algorithms with people: the paper's user study, as values.

design       what a study asks of everybody
design_file  the same as a file that a person writes
orders       in which order each participant meets the algorithms
allotment    which algorithm each of them stands for, and with which randomness
protocol     what is allowed when: listening, rests, gaps, days
records      what people said, as the analysis reads it
exchange     the same as files, and back
averages     average ratings up to the n-th song, of people and of arms
analysis     which algorithm was liked better, and from which n on: tests, corrected
comparison   what is said of two algorithms at every n
measures     uncertainty, repetition and learnt novelty along the arms
simulated    people who do not exist, so that the analysis can be tested
"""
