"""Opening a knowledge store by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_contract import contribution

from loopwright.errors import ConfigError
from loopwright.retrieval.stores import KnowledgeStore, open_store

SECRET = "hunter2"


@pytest.mark.parametrize("form", ["sqlite:{}", "{}"])
@pytest.mark.parametrize("name", ["k.db", "deeper/ไทย k.sqlite"])
def test_a_file_is_made_with_its_folder(tmp_path: Path, form: str, name: str) -> None:
    path = tmp_path / name
    with open_store(form.format(path)) as store:
        assert isinstance(store, KnowledgeStore)
        store.put([contribution("a", "word")])
    with open_store(str(path)) as store:
        assert store.digests() == {"a": repr(("word",))}


@pytest.mark.parametrize(
    "spec", ["", "sqlite:", "sqlite: ", "notes", "mysql://u:hunter2@h/db", "postgres:db", "mem", "https://x/y.db"]
)
def test_other_names_are_refused_with_the_known_ones(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"'memory'.*sqlite:FILE.*postgresql://") as caught:
        open_store(spec)
    assert SECRET not in str(caught.value)
