"""How sure a model is of its best code for a query: a predictor of the query's score.

No part of KAPE. It needs the codes that are searched, but no label, and says far more of a single
query than KAPE does: for MiniLM its correlation with the reciprocal rank is .60 over 1,500
documentation sentences and .59 over CoSQA's 500 dev queries, KAPE's .11 and .12. As a further
control variate it makes intervals a fifth narrower, where KAPE alone gains 1 or 2%. For the mean of
all queries it is no estimate by itself: its scale is that of no measure.
"""

import numpy as np

from tasks.encoders import Similarity
from tasks.estimators import Floats, nearest
from tasks.statistics import Values

_CODES = 10
# Usual in contrastive training by cosines, and that of training by products as in CodeXGLUE.
_TEMPERATURES: dict[Similarity, float] = {"cosine": 0.05, "product": 1.0}


def confidence_of(queries: Floats, codes: Floats, similarity: Similarity = "cosine") -> Values:
    """Return (n,) shares of each query's best code in the softmax over its ten best.

    Args:
        queries: (n, d) checked vectors.
        codes: (m, d) checked vectors of the codes that are searched.
        similarity: By which the model ranks codes.

    Raises:
        EstimationError: There are no codes, or they have another dimension.
    """
    best = nearest(queries, codes, _CODES, similarity).similarities
    shares: Values = 1 / np.exp((best - best[:, :1]) / _TEMPERATURES[similarity]).sum(axis=1)
    return shares
