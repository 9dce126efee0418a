"""Where a model's files are: in the folder of models, or in the user's hub cache."""

import hashlib
import importlib.util
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from loopwright.errors import WeightsError, unknown_name_message
from loopwright.models.embedded.catalogue import KNOWN, KnownModel, Role, WeightFile

logger = logging.getLogger("loopwright.models")

FOLDER_VARIABLE = "LOOPWRIGHT_MODELS"
"""The environment variable with the folder of models."""

DEFAULT_FOLDER = ".models"
"""The folder of models where that variable is not set, in the working directory."""


@dataclass(frozen=True)
class Weights:
    """A model with its files on this machine."""

    model: KnownModel
    """The model."""
    files: Mapping[str, Path]
    """`WeightFile.name` -> where that file is."""

    @property
    def place(self) -> Path:
        """The folder of the weights."""
        return self.files[self.model.files[0].name].parent


def weights_folder() -> Path:
    """The folder of models: `FOLDER_VARIABLE`, or `DEFAULT_FOLDER` in the working directory."""
    return Path(os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER)


def known_model(name: str) -> KnownModel:
    """A model of the catalogue by its name.

    Raises:
        WeightsError: If no model has that name.
    """
    if name not in KNOWN:
        raise WeightsError(unknown_name_message("model", name, KNOWN))
    return KNOWN[name]


def resolve(name: str, role: Role) -> Weights:
    """Find the files of a model of the catalogue for a role, and check their sizes.

    They are looked for in the folder of models first and in the user's hub cache then.

    Raises:
        WeightsError: If the model is unknown, not here, of another role, or a file has the wrong size.
    """
    model = known_model(name)
    if model.role != role:
        fitting = ", ".join(model.name for model in KNOWN.values() if model.role == role)
        raise WeightsError(f"{model.name} is for {model.role}, not for {role}. Known: {fitting}.")
    if (weights := find(model)) is None:
        raise WeightsError(missing_message(model))
    return weights


def find(model: KnownModel) -> Weights | None:
    """A known model's files, their sizes checked; None if it is not on this machine.

    Raises:
        WeightsError: If files are here, but one of them is missing or has the wrong size.
    """
    folder = weights_folder() / model.name
    if folder.is_dir() and any((folder / file.name).exists() for file in model.files):
        return Weights(model, _checked(model, folder))
    cached = _in_hub_cache(model)
    return Weights(model, cached) if cached else None


def first_here(role: Role, preferred: Callable[[str], bool] | None = None) -> str | None:
    """The first model of the catalogue for a role whose files are on this machine, whole, a preferred one before."""
    of_role = [model for model in KNOWN.values() if model.role == role]
    for model in sorted(of_role, key=lambda each: not (preferred and preferred(each.name))):
        try:
            if find(model) is not None:
                return model.name
        except WeightsError as error:
            logger.warning("not used: %s", error)
    return None


def verify(weights: Weights) -> None:
    """Compare the hash of every file with the catalogue's.

    Raises:
        WeightsError: If a hash differs.
    """
    for file in weights.model.files:
        require_hash(weights.files[file.name], file)


def require_hash(path: Path, file: WeightFile) -> None:
    """Compare a file's hash with the catalogue's.

    Raises:
        WeightsError: If the hash differs or the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None
    if found != file.sha256:
        raise WeightsError(
            f"{path} is not the expected file: its SHA-256 is {found}, not {file.sha256}. Delete it and get it again."
        )


def missing_message(model: KnownModel) -> str:
    """Say how to get a model that is not here."""
    names = " and ".join(file.name for file in model.files)
    by_hand = f"put {names} into {weights_folder() / model.name} (or set {FOLDER_VARIABLE})"
    if model.published:
        return f"{model.name} is not on this machine: run 'loopwright models pull {model.name}', or {by_hand}."
    builds = [other.name for other in KNOWN.values() if other.upstream == model.upstream and other.published]
    other = f", or run 'loopwright models pull {builds[0]}' for another build of it" if builds else ""
    return f"{model.name} cannot be downloaded, since no publisher has this build: {by_hand}{other}."


def _checked(model: KnownModel, folder: Path) -> dict[str, Path]:
    for file in model.files:
        size = _size(folder / file.name)
        if size is None:
            raise WeightsError(f"{folder} lacks {file.name}, which {model.name} needs. {_again(model)}")
        if size != file.bytes:
            raise WeightsError(
                f"{folder / file.name} has {size:,} bytes, but {model.name} has {file.bytes:,}: it is damaged or "
                f"another build. {_again(model)}"
            )
    return {file.name: folder / file.name for file in model.files}


def _again(model: KnownModel) -> str:
    return f"Run 'loopwright models pull {model.name}'." if model.published else "Put the right file there."


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _in_hub_cache(model: KnownModel) -> dict[str, Path] | None:
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    folder = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or Path(home, "hub")
    # Where nothing was ever kept, or nobody has a home, the hub's client need not be imported.
    used = Path(os.path.expanduser(folder)).is_dir() and importlib.util.find_spec("huggingface_hub")
    if model.published is None or not used:
        return None
    from huggingface_hub import try_to_load_from_cache

    files: dict[str, Path] = {}
    for file in model.files:
        found = try_to_load_from_cache(model.published.repository, file.remote, revision=model.published.revision)
        if not isinstance(found, str) or _size(Path(found)) != file.bytes:
            return None
        files[file.name] = Path(found)
    return files
