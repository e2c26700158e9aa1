"""Results and the snapshot as facts in words, each kind of result by the rule of its kind."""

from revelio.presentation.facts.calls import felt
from revelio.presentation.facts.fact import Fact, Words, lowered, quoted, sentence, written
from revelio.presentation.facts.figures import component_of
from revelio.presentation.facts.logs import new_error
from revelio.presentation.facts.of_query import fact_of

__all__ = ["Fact", "Words", "component_of", "fact_of", "felt", "lowered", "new_error", "quoted", "sentence", "written"]
