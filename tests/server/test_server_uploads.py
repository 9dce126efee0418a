"""Files that clients give: kept under the server's names, typed by their content, decoded where they can do no harm."""

import io
import zipfile
import zlib
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from batch_images import png
from PIL import Image
from scripted_server import read_all

from loopwright.errors import ImageError
from loopwright.server.decoding import Decoder


def picture(width: int = 40, height: int = 30, kind: str = "PNG") -> bytes:
    with io.BytesIO() as file:
        image = Image.new("RGB", (width, height), (200, 30, 30))
        image.save(file, kind, **({"save_all": True, "append_images": [image]} if kind == "MPO" else {}))
        return file.getvalue()


def send(served, content: bytes, name: str = "a.png", kind: str = "image/png") -> httpx.Response:
    return httpx.post(served.url + "/uploads", files={"file": (name, content, kind)}, timeout=60)


@pytest.fixture(scope="module")
def server(serve_in_module):
    return serve_in_module(settings={"upload_bytes": 300_000, "upload_pixels": 1_000_000})


def folder(server):
    return server.app.state.context.uploads.folder


@pytest.mark.matrix(3)
@pytest.mark.parametrize("kind", ["PNG", "MPO", "JPEG", "WEBP", "BMP", "GIF", "TIFF"])
def test_a_picture_is_kept_and_given_back_and_its_content_says_what_it_is(server, kind):
    content, served = picture(kind=kind), f"image/{kind.lower()}".replace("mpo", "jpeg")
    reply = send(server, content, name="../../etc/passwd.txt", kind="text/html")
    assert reply.status_code == 201, reply.text
    about = reply.json()
    assert (about["name"], about["content_type"]) == ("passwd.txt", served)
    assert (about["width"], about["height"], about["bytes"]) == (40, 30, len(content))
    back = httpx.get(f"{server.url}/uploads/{about['id']}")
    assert back.content == content
    assert back.headers["content-type"] == served
    assert back.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in back.headers["content-security-policy"]
    assert {path.name for path in folder(server).iterdir()} >= {about["id"], f"{about['id']}.json"}


def test_a_page_that_pretends_to_be_a_picture_is_text_and_is_not_shown(server):
    about = send(server, b"<script>alert(1)</script>", name="a.png").json()
    assert (about["content_type"], about["width"]) == ("text/plain", None)
    back = httpx.get(f"{server.url}/uploads/{about['id']}")
    assert back.headers["content-disposition"].startswith("attachment")


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (picture()[:-30], "no picture"),
        (png(60_000, 60_000, zlib.compress(b"\0" * 100_000)), "at most 1000000"),
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n", "no picture"),
        (b"MZ\x90\x00\xff\xfe\x00binary", "no text in UTF-8"),
        (png(900, 900, b"not zlib"), "no picture"),
    ],
    ids=["cut off", "a bomb", "empty", "a header alone", "a program", "no pixels"],
)
def test_what_is_no_picture_or_too_large_is_refused_and_leaves_nothing(server, content, told):
    before = sorted(folder(server).iterdir()) if folder(server).is_dir() else []
    reply = send(server, content)
    assert (reply.status_code, reply.json()["error_type"]) == (400, "ImageError")
    assert told in reply.json()["error"]
    assert (sorted(folder(server).iterdir()) if folder(server).is_dir() else []) == before


def test_a_file_or_a_request_that_is_too_large_is_refused(server):
    for content in (b"x" * 300_001, b"x" * 3_000_000):
        reply = send(server, content)
        assert (reply.status_code, reply.json()["error_type"]) == (413, "RequestTooLarge")


async def test_a_decoder_that_takes_too_much_memory_or_time_is_ended(tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(picture(4000, 4000))
    assert (await Decoder(10**8, 30, 2**31).look(path))["width"] == 4000
    with pytest.raises(ImageError):
        await Decoder(10**8, 30, 60 * 2**20).look(path)
    with pytest.raises(ImageError, match="too much time"):
        await Decoder(10**8, 0.01, 2**31).look(path)


@pytest.mark.parametrize(
    "name", ["0" * 32, "..%2fruns.db", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "runs.db", "0" * 32 + ".json"]
)
def test_a_name_that_is_no_file_of_a_clients_finds_nothing(server, name):
    reply = httpx.get(f"{server.url}/uploads/{name}")
    assert reply.status_code == 404


def test_a_name_cannot_add_a_header(server):
    part = "Content-Disposition: form-data; name=\"file\"; filename*=utf-8''a%22%0D%0AX-Injected%3A%20yes.png"
    body = f"--x\r\n{part}\r\nContent-Type: image/png\r\n\r\n".encode() + picture() + b"\r\n--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    raw = httpx.post(server.url + "/uploads", content=body, headers=headers)
    for reply in (raw, send(server, picture(), name='a"\r\nX-Injected: yes\r\n.png')):
        if reply.status_code == 201:
            back = httpx.get(f"{server.url}/uploads/{reply.json()['id']}")
            assert back.status_code == 200
            assert "x-injected" not in back.headers


@pytest.fixture(scope="module")
def documents(serve_in_module, tmp_path_factory):
    from loopwright.retrieval.stores import open_store
    from loopwright.workflows.rag.config import RAGConfig, RAGSection
    from loopwright.workflows.rag.services import Services
    from loopwright.workflows.rag.workflow import RagWorkflow

    place = f"sqlite:{tmp_path_factory.mktemp('rag') / 'knowledge.db'}"
    with Services.of(RAGConfig(rag=RAGSection(store=place))) as services:
        settings = {"ingest_files": 3, "upload_bytes": 2_000_000}
        yield serve_in_module(workflows=[RagWorkflow(services)], settings=settings), place, open_store


def ingest(served, *files: tuple[str, bytes], **data: str) -> httpx.Response:
    sent = [("files", (name, content)) for name, content in files]
    return httpx.post(served.url + "/rag/ingest", files=sent, data=data, timeout=60)


def test_documents_are_read_in_and_asked(documents):
    served, place, open_store = documents
    text = b"# Mills\n\nThe mill of Aarle was built in 1612 by Griet Maas."
    reply = ingest(served, ("../../My Report!.md", text), tags="mills")
    assert reply.status_code == 200, reply.text
    assert (reply.json()["stored"], reply.json()["problems"]) == (1, [])
    with open_store(place) as store:
        (document,) = store.documents()
    assert document.id.endswith("/my-report.md")
    assert ".." not in document.id
    assert ingest(served, ("../../My Report!.md", text)).json()["skipped"] == 1
    changed = text.replace(b"1612", b"1613")
    assert ingest(served, ("My Report!.md", changed), tags="mills").json()["stored"] == 1
    with open_store(place) as store:
        assert [each.id for each in store.documents()] == [document.id], "the same name, so the same document"
    asked = {"question": "Who built the mill of Aarle?"}
    form = {"question": (None, asked["question"]), "where": (None, '{"tags": ["mills"]}'), "history": (None, "Hello.")}
    for given in ({"json": asked}, {"files": form}):
        answer = httpx.post(served.url + "/workflows/rag/run", **given, timeout=60)
        assert answer.status_code == 200, answer.text
        assert "Griet Maas" in answer.json()["outcome"]["answer"]
    form["where"] = (None, '{"tags": [NaN]}')
    assert httpx.post(served.url + "/workflows/rag/run", files=form, timeout=60).status_code == 400
    assert httpx.get(f"{served.url}/runs/{answer.json()['id']}").json()["workflow"] == "rag"


def test_documents_that_cannot_be_read_are_named_as_the_client_named_them(documents):
    served, _place, _open = documents
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("word/document.xml", b" " * 50_000_000)
        bomb = file.getvalue()
    reply = ingest(served, ("bomb.docx", bomb), ("broken.pdf", b"%PDF-1.7 no"), ("good.txt", b"Rye grows on sand."))
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert (told["stored"], told["failed"]) == (1, 2)
    assert {each["name"] for each in told["problems"]} == {"bomb.docx", "broken.pdf"}
    assert str(served.app.state.context.settings.data) not in reply.text


def test_too_many_too_large_and_unknown_documents_are_refused(documents):
    served, _place, _open = documents
    reply = ingest(served, *[(f"{number}.txt", b"x") for number in range(4)])
    assert (reply.status_code, reply.json()["error_type"]) == (413, "RequestTooLarge")
    reply = ingest(served, ("large.txt", b"x" * 2_000_001))
    assert (reply.status_code, reply.json()["error_type"]) == (413, "RequestTooLarge")
    reply = ingest(served, ("run.exe", b"MZ"))
    assert (reply.status_code, reply.json()["error_type"]) == (400, "DocumentError")
    assert "run.exe" in reply.json()["error"]
    reply = ingest(served, ("a.txt", b"x"), ("folder/a.txt", b"y"))
    assert (reply.status_code, reply.json()["error_type"]) == (400, "InputError")


@pytest.mark.parametrize(
    "name", ["x" * 300 + ".md", "日本" * 90 + ".md", "a\0b.md", "CON.md", "-.md", "_.MD", "e\u0301.md"]
)
def test_a_document_may_be_called_anything(documents, name):
    served, _place, _open = documents
    reply = ingest(served, (name, f"It is called {name!r}.".encode()))
    assert (reply.status_code, reply.json().get("stored")) == (200, 1), reply.text
    folder = served.app.state.context.settings.data / "documents"
    assert all(path.resolve().is_relative_to(folder.resolve()) for path in folder.rglob("*"))
    assert not list(folder.rglob("arriving"))


@pytest.fixture(scope="module")
def pictures(serve_in_module):
    from loopwright.workflows.iqa import IQAConfig, Services
    from loopwright.workflows.iqa.workflow import IQAWorkflow

    return serve_in_module(workflows=[IQAWorkflow(Services.of(IQAConfig()))])


async def ended(client: httpx.AsyncClient, run_id: str) -> dict[str, Any]:
    await read_all(client, "GET", f"/runs/{run_id}/events")
    return (await client.get(f"/runs/{run_id}")).json()


async def test_an_example_can_be_run_and_the_pictures_of_each_can_be_seen(pictures):
    async with httpx.AsyncClient(base_url=pictures.url, timeout=120) as client:
        (workflow,) = [each for each in (await client.get("/workflows")).json() if each["name"] == "iqa"]
        assert workflow["examples"]
        for example in workflow["examples"]:
            for key in {"image", "reference"} & example["input"].keys():
                shown = await client.get("/uploads/" + quote(example["input"][key], safe=""))
                assert (shown.status_code, shown.headers["content-type"].partition("/")[0]) == (200, "image")
                assert shown.headers["content-disposition"].startswith("inline")
        begun = await client.post("/runs", json={"workflow": "iqa", "input": workflow["examples"][0]["input"]})
        assert begun.status_code == 201, begun.text
        assert (await ended(client, begun.json()["id"]))["status"] == "finished"
        assert (await client.get("/uploads/sample%3Amoon")).status_code == 404
        assert (await client.get("/uploads/sample%3A..%2fharbour")).status_code == 404


def test_a_picture_is_assessed_in_one_piece_and_as_a_run(pictures):
    image, region = picture(96, 96).decode("latin-1"), ["1", "2", "30", "30"]
    # As a browser sends it: with an empty file where none was chosen.
    parts = [("query", "Noisy?"), ('image"; filename="p.png', image), ('reference"; filename="', "")]
    parts += [("region", side) for side in region]
    body = "".join(f'--x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{each}\r\n' for key, each in parts)
    headers, content = {"Content-Type": "Multipart/Form-Data; boundary=x"}, f"{body}--x--".encode("latin-1")
    whole = httpx.post(pictures.url + "/workflows/iqa/run", content=content, headers=headers, timeout=120)
    assert whole.status_code == 200, whole.text
    assert (whole.json()["input"]["region"], "reference" in whole.json()["input"]) == (region, False)
    assert whole.json()["outcome"]["answer"]
    record = httpx.get(f"{pictures.url}/runs/{whole.json()['id']}").json()
    assert record["workflow"] == "iqa"
    assert str(pictures.app.state.context.settings.data) not in str(record)


@pytest.mark.parametrize("image", ["/etc/passwd", "sample:../../harbour.png", "0" * 32, "", "http://10.0.0.1/a.png"])
def test_a_picture_is_an_upload_or_a_sample_and_nothing_else(pictures, image):
    asked = {"workflow": "iqa", "input": {"query": "Is it sharp?", "image": image}}
    reply = httpx.post(pictures.url + "/runs", json=asked, timeout=60)
    assert (reply.status_code, reply.json()["can_retry"]) == (400, False)
    assert "harbour" in reply.json()["error"]


async def test_a_run_on_an_uploaded_picture_can_be_forked_but_not_onto_another_file(pictures):
    async with httpx.AsyncClient(base_url=pictures.url, timeout=120) as client:
        about = (await client.post("/uploads", files={"file": ("a.png", picture(96, 96))})).json()
        asked = {"workflow": "iqa", "input": {"query": "Is it sharp?", "image": about["id"]}}
        run = (await client.post("/runs", json=asked)).json()
        assert (await ended(client, run["id"]))["status"] == "finished"
        first = (await client.get(f"/runs/{run['id']}/checkpoints")).json()[0]["checkpoint_id"]
        fork = {"checkpoint_id": first, "state": {"query": "Is it noisy?"}}
        forked = await client.post(f"/runs/{run['id']}/fork", json=fork)
        assert forked.status_code == 201, forked.text
        assert (await ended(client, forked.json()["id"]))["status"] == "finished"
        for key in ("image_path", "reference_path"):
            fork = {"checkpoint_id": first, "state": {key: "/etc/passwd"}}
            refused = await client.post(f"/runs/{run['id']}/fork", json=fork)
            assert (refused.status_code, refused.json()["error_type"]) == (400, "InputError")
            assert key in refused.json()["error"]
