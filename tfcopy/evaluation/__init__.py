"""Scores of texts, and what models know of words."""

from tfcopy.evaluation.categories import category_scores, project
from tfcopy.evaluation.example_choice import choose_examples
from tfcopy.evaluation.rarity import accuracy_by_quantile, mean_log_rank
