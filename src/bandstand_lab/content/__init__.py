"""How well a song's features explain what people say of it: the paper's check of Uc.

ratings      raters, and the file they come from
folds        who is learnt from and who is tested on
ridge        ridge regression that chooses its own strength
predictors   the content model and what it is compared with
validation   cross-validated errors of one rater
comparison   errors of all raters, and their paired differences
simulated    raters whose taste is known
table, plot  the comparison on a screen and as a figure
"""
