"""Beam search, sampling and best spans, on every Keras backend.

Examples of the searches continue this one:

```python
import numpy as np
from tfcopy import decoding, models, tokens

model = models.copynet(9, 9, embedding_dim=4, units=4)
source_ids = np.array([[5, 1, 6, 3]], "int32")
source_copy_ids = np.array([[5, 10, 6, -1]], "int32")  # 10 is unknown
```
"""

from tfcopy.decoding.beam_search import SearchResult, beam_search
from tfcopy.decoding.options import SearchOptions
from tfcopy.decoding.search_models import Candidates, Ensemble, search_among
from tfcopy.layers.heads.span_head import independent_spans, joint_spans

__all__ = [
    "Candidates",
    "Ensemble",
    "SearchOptions",
    "SearchResult",
    "beam_search",
    "independent_spans",
    "joint_spans",
    "search_among",
]
