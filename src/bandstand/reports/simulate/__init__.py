"""What `bandstand simulate` tells of an experiment.

report  regrets with standard errors, slopes and paired differences, and all of it as JSON
table   the report on a screen
plot    the report as a figure
"""
