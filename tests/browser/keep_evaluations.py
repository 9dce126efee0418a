"""Keeps what two versions of the essay made of three questions, for the tests of the page: keep_evaluations.py DATA."""

from contextlib import closing
from functools import partial

from serve_for_browser import DATA, essay

from loopwright.runs.preparing import kept_evaluation
from loopwright.runs.store import open_runs
from loopwright.workflows.evaluation import Expected, Question, evaluate, without_loop
from loopwright.workflows.user_graph import UserGraph

QUESTIONS = [
    Question(
        id=f"q{number}", kind="", input={"topic": topic}, expected=Expected(answers=(f"Draft {draft} about {topic}.",))
    )
    for number, (topic, draft) in enumerate([("bees", 2), ("ships", 1), ("broken pens", 2)], 1)
]

if __name__ == "__main__":
    whole = essay()
    once = UserGraph("essay", without_loop(whole.graph(None), "improve"))
    with closing(open_runs(f"sqlite:{DATA / 'runs.db'}")) as store:
        for version, workflow in (("written once", once), ("written twice", whole)):
            kept_evaluation(store, workflow, partial(evaluate, workflow, QUESTIONS), "town", version, {})
