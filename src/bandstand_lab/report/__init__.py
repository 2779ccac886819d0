"""The paper reproduced by one command: studies cut into jobs, and one report of them all.

study         what a study is, and what it says
registry      the studies in the order of the paper
command       plan, run what is missing, write the report
folder        one folder belongs to one plan and one process; `files` are whole or not there
jobs          runs what is missing and keeps every result; `children` run by themselves
chapters      a study's chapter and its raw files
page          the report; `chapter_page` is one chapter, `words` what is the same every time
document      the HTML file around it, also of other reports
markup        HTML in which everything is escaped
"""
