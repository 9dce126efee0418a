"""Downloading a model from its publisher, at a fixed revision, and only if every hash is the known one."""

import errno
import shutil
from pathlib import Path
from typing import Any

from loopwright.errors import WeightsError
from loopwright.models.embedded.catalogue import KnownModel, Published, WeightFile
from loopwright.models.embedded.resolving import Weights, missing_message, require_hash, weights_folder

_PARTIAL = ".partial"
"""Within a model's folder: what is not complete and checked yet. It stays after a lost connection, to be resumed."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_STORAGE = (*_FULL, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENOTDIR)
"""What the operating system says when the fault is the disk's and not the network's."""


def pull(model: KnownModel, *, endpoint: str | None = None) -> Weights:
    """Download a model's files that are not here yet, and give all of them.

    They go into `weights_folder`. A file gets its name only after its hash was found right, so a file with a name is
    always whole. No token is sent. The endpoint is the hub's base URL; None for the environment variable
    ``HF_ENDPOINT``, or the public hub.

    Raises:
        WeightsError: If the model has no publisher, a download fails, a hash differs, or there is no space.
    """
    if model.published is None:
        raise WeightsError(missing_message(model))
    place = weights_folder() / model.name
    try:
        place.mkdir(parents=True, exist_ok=True)
        wanted = [file for file in model.files if not _is_right(place / file.name, file)]
        needed, free = sum(file.bytes for file in wanted), shutil.disk_usage(place).free
        if needed > free:
            told = f"{model.name} needs {needed:,} bytes, but {place} has {free:,} free"
            raise WeightsError(f"{told}. Make room, or set LOOPWRIGHT_MODELS.")
        for file in wanted:
            try:
                part = _download(model, model.published, file, place / _PARTIAL, endpoint)
                try:
                    require_hash(part, file)
                except WeightsError as error:
                    part.unlink()
                    raise WeightsError(f"{model.name} was refused and removed: {error}") from None
                part.replace(place / file.name)
            except (OSError, WeightsError):
                if not _is_right(place / file.name, file):  # else another process was faster, and took the part away
                    raise
        shutil.rmtree(place / _PARTIAL, ignore_errors=True)
    except OSError as error:
        fix = "Make room" if error.errno in _FULL else "Check its permissions"
        told = f"{model.name} cannot be stored in {place}: {error.strerror or error}. {fix}, or set LOOPWRIGHT_MODELS."
        raise WeightsError(told) from None
    return Weights(model, {file.name: place / file.name for file in model.files})


def _is_right(path: Path, file: WeightFile) -> bool:
    try:
        require_hash(path, file)
    except WeightsError:
        return False
    return True


def _download(model: KnownModel, published: Published, file: WeightFile, partial: Path, endpoint: str | None) -> Path:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ModuleNotFoundError as error:
        told = f"{error.name}, which downloads models, is not installed: pip install 'loopwright[{model.extra}]'"
        raise WeightsError(told) from None
    where: dict[str, Any] = {"local_dir": partial, "endpoint": endpoint, "token": False}
    try:
        return Path(hf_hub_download(published.repository, file.remote, revision=published.revision, **where))
    except HfHubHTTPError as error:
        problem = f"the hub answered {error.response.status_code}"
    except LocalEntryNotFoundError:
        problem = "the hub cannot be reached"
    except Exception as error:  # the hub's client lets its HTTP library's exceptions through, which share no base
        if isinstance(error, OSError) and error.errno in _STORAGE:
            raise
        problem = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    raise WeightsError(
        f"{model.name}: {file.remote} of {published.repository} could not be downloaded: {problem}. Try again (what is "
        f"here already is kept), or put the file into {partial.parent} as {file.name}."
    )
