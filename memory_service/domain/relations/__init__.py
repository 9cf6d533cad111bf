"""How a later statement relates to an earlier one, by wording and a cosine, without a language model.

English and Chinese alike (E9, E10, E2, S8). Pure: readings in, a judgement out.
"""

from memory_service.domain.relations.features import may_concern
from memory_service.domain.relations.judging import judge
from memory_service.domain.relations.reading import Reading, read
from memory_service.domain.relations.relation import Judgement, StatementRelation

__all__ = ["Judgement", "Reading", "StatementRelation", "judge", "may_concern", "read"]
