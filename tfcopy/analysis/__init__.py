"""What models know of words: by rarity, by category, by example."""

from tfcopy.analysis.categories import category_scores, project
from tfcopy.analysis.examples import choose_examples
from tfcopy.analysis.rarity import accuracy_by_quantile, mean_log_rank
