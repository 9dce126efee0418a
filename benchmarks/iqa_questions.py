"""Multiple-choice questions about image quality with known answers, in the form of AgenticIQA-Eval.

    python benchmarks/iqa_questions.py FOLDER [--count 90] [--seed 0] [--config FILE] [--write]

They are made of the pristine images of the folder, as many of each kind, and are only as good as their keys:

- distortion, put to the whole workflow: which distortion an image has, how severe, worse or the same. The key is what
  ``examples/distort.py`` did to the image, at levels that are not near the border of two words.
- planner, put to the planner alone: which plan a question needs. The key is written by hand beside the question, by
  those who wrote the planner: it says whether something broke.
- summarizer, put to the summarizer alone: which answer follows from evidence that is written down, in the product's own
  words. This too says whether something broke.
"""

from __future__ import annotations

import json
import random
import string
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))  # known distortions

from common import arguments, finish, machine
from iqa_mcq.forms import KINDS, PLANNER, SUMMARIZER
from iqa_mcq.forms import Question as Choice
from iqa_mcq.images import distortion_question
from iqa_mcq.plans import what_the_plan_says
from iqa_mcq.stages import planner_question, summarizer_question
from PIL import Image

from loopwright.errors import ImageError, UnknownNameError
from loopwright.workflows.evaluation import evaluate, mean_figure
from loopwright.workflows.evaluation.results import shown
from loopwright.workflows.iqa import IQAConfig, Services
from loopwright.workflows.iqa.answer.choosing import parse_choice
from loopwright.workflows.iqa.answer.facts import UNABLE
from loopwright.workflows.iqa.batch.samples import read_folder
from loopwright.workflows.iqa.nodes import planner_node, summarizer_node
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.workflow import IQAInput, IQAWorkflow

TITLE = "Multiple-choice questions about images"


def options_of(choice: Choice) -> dict[str, str]:
    """Letter -> option."""
    return dict(zip(string.ascii_uppercase, choice.options, strict=False))


def asked(choice: Choice) -> str:
    """The question with its options, as it is put to the workflow."""
    return "\n".join([choice.stem, *(f"{letter}. {option}" for letter, option in options_of(choice).items())])


class Stages:
    """Puts questions to the planner or the summarizer alone."""

    def __init__(self, config: IQAConfig) -> None:
        self.services = Services.of(config)
        self.workflow = IQAWorkflow(self.services)

    def is_right(self, choice: Choice, image: Path, reference: Path | None) -> bool:
        """Whether the stage that a question tests gives the right answer."""
        given = choice.given or {}
        planned = choice.kind == PLANNER
        query = given["query"] if planned else asked(choice)
        places = {"image": image, **({"reference": reference} if reference else {})}
        state = self.workflow.start(IQAInput(query=query, **{key: key for key in places}), places, "")
        options = options_of(choice)
        if planned:
            said = what_the_plan_says(planner_node(state, self.services)["plan"], given["aspect"])
            return options[choice.answer] == said
        plan, evidence = PlannerOutput.model_validate(given["plan"]), ExecutorOutput.model_validate(given["evidence"])
        state = {**state, "plan": plan, "executor_evidence": evidence}
        said = summarizer_node(state, self.services)["summarizer_result"].final_answer
        try:
            letter = parse_choice(said, options)
        except UnknownNameError:
            letter = UNABLE
        right = options[choice.answer].casefold() == "cannot tell"
        return letter == choice.answer or (letter == UNABLE and right)


def images_of(folder: Path, out: Path) -> list[Path]:
    """The pristine images that can be read, as PNG."""
    found = []
    for number, sample in enumerate(read_folder(folder, "?")):
        try:
            rgb = load_image(folder / sample.image_path).rgb
        except ImageError:
            continue
        found.append(out / f"pristine-{number}.png")
        Image.fromarray(rgb).save(found[-1])
    return found or exit(f"no image in {folder} can be read")


def made(number: int, pristine: Path, out: Path, chance: random.Random) -> tuple[Choice, Path, Path | None]:
    """A question, its image and the reference."""
    kind, turn = KINDS[number % len(KINDS)], number // len(KINDS)
    if kind == SUMMARIZER:
        return summarizer_question(turn, chance), pristine, pristine
    if kind == PLANNER:
        referenced = chance.random() < 0.5
        return planner_question(turn, chance, referenced=referenced), pristine, pristine if referenced else None
    illustrated = distortion_question(turn, load_image(pristine).rgb, chance)
    image = out / f"{number:05d}.png"
    Image.fromarray(illustrated.image).save(image)
    return illustrated.question, image, pristine if illustrated.referenced else None


def report(folder: Path, count: int, seed: int, config: IQAConfig) -> str:
    """Make the questions, ask them, and show the accuracy of each kind as Markdown."""
    stages = Stages(config)
    right: dict[str, list[float]] = {kind: [] for kind in KINDS}
    chances: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary)
        images = images_of(folder, out)
        lines = []
        for number in range(count):
            chance = random.Random(f"{seed} {number}")
            choice, image, reference = made(number, images[number // len(KINDS) % len(images)], out, chance)
            chances[choice.kind].append(1 / len(choice.options))
            if choice.kind in (PLANNER, SUMMARIZER):
                right[choice.kind].append(float(stages.is_right(choice, image, reference)))
                continue
            option = options_of(choice)[choice.answer]
            line = {"id": f"{number}", "kind": choice.kind, "query": asked(choice), "image": image.name}
            line |= {"reference": reference.name} if reference else {}
            answers = [choice.answer, f"{choice.answer}. {option}"]
            lines.append(json.dumps({**line, "expected": {"answers": answers}}))
        (out / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
        found = evaluate(IQAWorkflow(Services.of(config)), out / "questions.jsonl")
    for each in found.outcomes:
        right[each.kind].append(each.scores["em"] or 0.0)
    rows = ["| | questions | accuracy | chance |", "|---|--:|--:|--:|"]
    for kind in KINDS:
        figure, guessed = mean_figure(right[kind]), mean_figure(chances[kind]).value or 0.0
        rows.append(f"| {kind} | {figure.n} | {shown(figure, is_count=False)} | {guessed * 100:.0f} |")
    return "\n".join(
        [*rows, "", f"{machine()}. Percent with 95 % bootstrap intervals; the keys: the head of the file."]
    )


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("folder", type=Path, help="pristine images")
    parser.add_argument("--count", type=int, default=90, help="how many questions, as many of each kind")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same questions")
    parser.add_argument("--config", type=Path, help="a YAML file")
    given = parser.parse_args()
    finish(TITLE, report(given.folder, given.count, given.seed, IQAConfig.load(given.config)), given.write)
