from .evaluation import aevaluate as aevaluate, evaluate as evaluate, gain_of as gain_of, without_loop as without_loop
from .questions import Expected as Expected, Question as Question, read_questions as read_questions
from .results import (
    EvaluatedAnswer as EvaluatedAnswer,
    Evaluation as Evaluation,
    Figure as Figure,
    LoopGain as LoopGain,
    mean_figure as mean_figure,
)
from .scores import answer_scores as answer_scores, citation_scores as citation_scores, scores_of as scores_of
