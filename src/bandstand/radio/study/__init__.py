"""A study as it goes on: people in a blind comparison of algorithms, over the store.

opening     a study is opened, once, and its songs are frozen
frozen      those songs as bytes
desk        `StudyDesk`: join, begin, next song, rate, withdraw
offering    the next song of an arm: chosen, then offered once, whoever asks
standings   what the store has of a participant, and whether a rule allows something
learners    what is learnt in each arm, kept ready
views       what is answered: nothing that names or betrays an algorithm
gather      all of it for the report
"""
