"""The variational engine: mean field for any number of factors, the paper's Bayes-UCB-CN-V."""
