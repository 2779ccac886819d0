"""The paper reproduced by one command: studies cut into jobs, and one report of them all.

study     what a study is, and what it says
jobs      runs what is missing and keeps every result
page      the report
registry  the studies in the order of the paper
"""
