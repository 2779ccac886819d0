"""The named algorithms and what is made of them.

registry     names for pairs of engine and policy
situation    a catalogue as one listener meets it now
recommender  the interactive object
playlist     the next songs on a simulated clock
estimators   the engines in the manner of scikit-learn
"""
