"""The TypeScript client, driven by Node against the real service."""

import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from scripts import typescript

import ricordo
from ricordo.memory import Memory
from ricordo.operations.operation import USER_OPERATIONS
from ricordo.testing import ModelServer
from ricordo.wiring import open_memory
from tests.docs.markdown import ROOT, blocks
from tests.support.node import SOURCE, node, program_folder, run_file
from tests.support.served import served
from tests.support.service import running

WORDS = {"RICORDO_EMBEDDING_PROVIDER": "none"}
QUIET = {"embedding_provider": "none"}
COMMENT = re.compile(r"(?:^|console\.log\(.*\); )// (.+)$", re.MULTILINE)


def read(archive: tarfile.TarFile, name: str) -> str:
    file = archive.extractfile(name)
    assert file is not None
    return file.read().decode()


@pytest.mark.requirement("clients.typescript")
@pytest.mark.smoke
def test_what_is_packed_works(
    installed: Path, sqlite_url: str, open_store: Callable[..., Memory]
) -> None:
    with running(open_store(sqlite_url, port=0)) as service:
        run_file(installed, "smoke.test.mjs", RICORDO_SERVICE=service.url)


@pytest.fixture(scope="session")
def methods() -> dict[str, typescript.Method]:
    """What a client of the present service can do. The document takes a second to make."""
    return {one.name: one for one in typescript.methods()}


@pytest.mark.requirement("clients.derived")
@pytest.mark.usefixtures("methods")
def test_what_is_generated_is_of_the_present_service() -> None:
    written = {name: typescript.content(name) for name in typescript.FRESH}
    stale = [name for name, is_fresh in typescript.FRESH.items() if not is_fresh(written[name])]
    assert stale == [], f"run {typescript.COMMAND}"


@pytest.mark.requirement("clients.derived")
def test_every_operation_of_a_user_is_a_method(methods: dict[str, typescript.Method]) -> None:
    routed = {name for name, one in USER_OPERATIONS.items() if one.routes}
    assert {typescript.camel(name) for name in routed} <= set(methods)
    own = {"listTools", "callTool", "loadCheckpoint", "saveCheckpoint", "deleteCheckpoint"}
    assert own <= set(methods)


@pytest.mark.requirement("clients.typescript")
@pytest.mark.slow
def test_it_does_what_a_user_can_do(installed: Path, backend_url: str) -> None:
    with open_memory(backend_url, run_jobs=False, upkeep=False, **QUIET) as memory:
        of_ana = memory.create_key("ana's", user="ana").secret
        of_all = memory.create_key("a service's").secret
    with served(backend_url, **WORDS, RICORDO_REQUIRE_KEYS="1") as service:
        run_file(
            installed,
            "service.test.mjs",
            RICORDO_SERVICE=service.url,
            RICORDO_KEY_OF_ANA=of_ana,
            RICORDO_KEY_OF_ALL=of_all,
        )


@pytest.mark.requirement("clients.typescript")
@pytest.mark.slow
def test_it_bears_what_goes_wrong_on_the_way(installed: Path) -> None:
    run_file(installed, "faults.test.mjs")


@pytest.mark.requirement("clients.npm")
@pytest.mark.slow
def test_the_tarball_has_what_it_needs_and_nothing_else(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        texts = {name: read(archive, f"package/{name}") for name in names}
    sources = {
        one.relative_to(SOURCE / "src").with_suffix("") for one in (SOURCE / "src").rglob("*.ts")
    }
    built = {f"dist/{one}{end}" for one in sources for end in (".js", ".d.ts")}
    assert names == {"LICENSE", "README.md", "package.json", *built}
    described = json.loads(texts["package.json"])
    assert described["version"] == ricordo.__version__
    assert "dependencies" not in described
    assert texts["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert [name for name, text in texts.items() if str(ROOT) in text] == []


@pytest.mark.requirement("clients.npm")
def test_the_lock_file_names_no_place() -> None:
    locked = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, one in locked["packages"].items() if "resolved" in one] == []
    assert all("integrity" in one for name, one in locked["packages"].items() if name)


@pytest.mark.requirement("clients.derived")
@pytest.mark.slow
def test_the_types_are_those_that_openapi_typescript_makes() -> None:
    assert typescript.content("types.ts") == typescript.types_file()


@pytest.mark.requirement("clients.npm")
@pytest.mark.slow
def test_mistakes_are_seen_when_a_program_is_compiled(installed: Path, tmp_path: Path) -> None:
    """The package's own declarations are checked, too, as strictly as there is."""
    folder = program_folder(
        installed, tmp_path, skipLibCheck=False, exactOptionalPropertyTypes=True
    )
    shutil.copy(SOURCE / "tests" / "types.ts", folder)
    node("node", "node_modules/typescript/bin/tsc", "-p", ".", "--noEmit", cwd=folder)


@pytest.mark.requirement("clients.ai-sdk")
@pytest.mark.slow
def test_models_of_the_ai_sdk_have_memory(installed: Path, backend_url: str) -> None:
    with ModelServer() as model, served(backend_url, **WORDS) as service:
        model.answer_calling("memory_search", {"query": "drinks"})
        model.answer("Green tea, as always.")
        run_file(
            installed,
            "ai.test.mjs",
            RICORDO_SERVICE=service.url,
            RICORDO_MODEL=model.base_url,
        )
    shown, found = (request.body["messages"] for request in model.requests)
    assert "The user drinks green tea" in shown[0]["content"]
    assert "The user drinks green tea" in found[-1]["content"]


@pytest.mark.requirement("clients.npm")
@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/howto/typescript.md", "clients/typescript/README.md"])
def test_the_programs_of_the_page_run(
    page: str, installed: Path, sqlite_url: str, tmp_path: Path
) -> None:
    """They compile strictly, and print what their comments say."""
    shown = [block.text for block in blocks(ROOT / page) if block.language == "ts"]
    with ModelServer() as model:
        answers = [re.findall(r"// (Tea, .+)", text) for text in shown]
        for answer in (one for found in answers for one in found[:1]):
            model.answer(answer)
        with served(sqlite_url, **WORDS, RICORDO_UPSTREAM_URL=model.base_url) as service:
            folder = program_folder(installed, tmp_path)
            for at, text in enumerate(shown):
                program = text.replace("http://127.0.0.1:8377", service.url)
                program = program.replace("http://127.0.0.1:8080/v1", model.base_url)
                (folder / f"block{at}.ts").write_text(program, encoding="utf-8")
            node("node", "node_modules/typescript/bin/tsc", "-p", ".", cwd=folder)
            for at, text in enumerate(shown):
                printed = node("node", f"block{at}.js", cwd=folder).splitlines()
                assert printed == COMMENT.findall(text)
