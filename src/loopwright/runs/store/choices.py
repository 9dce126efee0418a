"""What is kept besides the runs: prompts, models for nodes, evaluations, and what allowances have left."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, delete, select, update

from loopwright.database.database import Database
from loopwright.database.values import microseconds
from loopwright.errors import InputError
from loopwright.runs.schemas import KeptEvaluation, PromptVersion
from loopwright.runs.store.entries import Charge, Refused
from loopwright.runs.store.rows import as_json, read
from loopwright.runs.store.tables import ALLOWANCES, ASSIGNMENTS, EVALUATIONS, PROMPTS


class Choices:
    """The part of a `RunStore` that is not about single runs."""

    def __init__(self, database: Database) -> None:
        """Use a database."""
        self._database = database

    def prompt_versions(self, workflow: str, prompt: str | None = None) -> Sequence[PromptVersion]:
        """The versions that people wrote, by prompt and version; those that ship with the package are not here.

        Args:
            workflow: The workflow.
            prompt: One of its prompts; None gives all.
        """
        wanted = select(PROMPTS.c.document).where(PROMPTS.c.workflow == workflow)
        if prompt is not None:
            wanted = wanted.where(PROMPTS.c.prompt == prompt)
        with self._database.reading() as connection:
            documents = connection.scalars(wanted.order_by(PROMPTS.c.prompt, PROMPTS.c.version)).all()
        return [read(PromptVersion, f"a prompt of {workflow!r}", document) for document in documents]

    def keep_prompt(self, version: PromptVersion) -> None:
        """Keep a version of a prompt.

        Raises:
            InputError: If this version exists: somebody else was faster.
        """
        row = {
            "workflow": version.workflow,
            "prompt": version.prompt,
            "version": version.version,
            "document": as_json(version.model_dump(mode="json")),
        }
        with self._database.writing() as connection:
            added = self._database.insert(PROMPTS).values(row).on_conflict_do_nothing()
            if connection.scalar(added.returning(PROMPTS.c.version)) is None:
                raise InputError(
                    f"version {version.version} of the prompt {version.prompt!r} of {version.workflow!r} exists: "
                    "somebody else was faster; read the newest version and change that"
                )

    def assignments(self, workflow: str) -> dict[str, str | None]:
        """The chat models that people chose: node -> model; None for no model."""
        wanted = select(ASSIGNMENTS.c.node, ASSIGNMENTS.c.model).where(ASSIGNMENTS.c.workflow == workflow)
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(ASSIGNMENTS.c.node)).all()
        return {row.node: row.model for row in rows}

    def assign(self, workflow: str, node: str, model: str | None, *, clear: bool = False) -> None:
        """Keep which chat model serves a node.

        Args:
            workflow: The workflow.
            node: The node, or ``default``.
            model: The model, or None for no model.
            clear: Forget the choice instead, so that the configuration's holds again.
        """
        if clear:
            there = and_(ASSIGNMENTS.c.workflow == workflow, ASSIGNMENTS.c.node == node)
            statement = delete(ASSIGNMENTS).where(there)
        else:
            row = {"workflow": workflow, "node": node, "model": model}
            statement = self._database.insert(ASSIGNMENTS).values(row)
            statement = statement.on_conflict_do_update(index_elements=["workflow", "node"], set_={"model": model})
        with self._database.writing() as connection:
            connection.execute(statement)

    def charge(self, charges: Sequence[Charge]) -> Refused | None:
        """Add to what was spent, all of it or, where one goes beyond a limit, nothing; however many ask at once.

        Returns:
            None, or the first that was refused.
        """
        table, keys = ALLOWANCES, sorted({charge.key for charge in charges})
        none = [{"key": key, "model_calls": 0, "tokens": 0, "usd": 0} for key in keys]
        with self._database.writing() as connection:
            connection.execute(self._database.insert(table).values(none).on_conflict_do_nothing())
            # In one order, so that nobody waits for somebody who waits for him.
            kept = select(table).where(table.c.key.in_(keys)).order_by(table.c.key).with_for_update()
            spent = {row["key"]: row for row in connection.execute(kept).mappings()}
            for charge in charges:
                for resource, limit in charge.limits.items():
                    if spent[charge.key][resource] + charge.amounts[resource] > limit:
                        return Refused(charge, resource, spent[charge.key][resource])
            for charge in charges:
                more = {resource: table.c[resource] + amount for resource, amount in charge.amounts.items()}
                connection.execute(update(table).where(table.c.key == charge.key).values(more))
        return None

    def evaluations(self, workflow: str) -> Sequence[KeptEvaluation]:
        """What came of labelled questions, the newest version first."""
        table = EVALUATIONS
        wanted = select(table.c.document).where(table.c.workflow == workflow)
        wanted = wanted.order_by(table.c.created_at.desc(), table.c.questions, table.c.version)
        with self._database.reading() as connection:
            documents = connection.scalars(wanted).all()
        return [read(KeptEvaluation, f"an evaluation of {workflow!r}", document) for document in documents]

    def keep_evaluation(self, kept: KeptEvaluation) -> None:
        """Keep what came of labelled questions, in place of what the same version made of them before."""
        key = {"workflow": kept.workflow, "questions": kept.questions, "version": kept.version}
        told = {"created_at": microseconds(kept.created_at), "document": as_json(kept.model_dump(mode="json"))}
        insert = self._database.insert(EVALUATIONS).values(**key, **told)
        with self._database.writing() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=[*key], set_=told))

    def delete_evaluation(self, workflow: str, questions: str, version: str) -> bool:
        """Forget what a version made of a set of questions.

        Returns:
            Whether it was kept.
        """
        table = EVALUATIONS
        there = and_(table.c.workflow == workflow, table.c.questions == questions, table.c.version == version)
        with self._database.writing() as connection:
            return connection.execute(delete(table).where(there)).rowcount > 0
