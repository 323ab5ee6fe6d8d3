import subprocess
from pathlib import Path

import pytest

from ricordo.coding_agents.projects import normalised_remote, project_of, relative_to_root
from ricordo.limits import MAX_REFERENCE_CHARS

pytestmark = pytest.mark.requirement("agents.capture")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=ana", "-c", "user.email=ana@example.org", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return done.stdout.strip()


def repository(folder: Path, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "a")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/acme/shop.git",
        "https://ana:gho_secret@github.com/acme/shop",
        "https://GitHub.com/Acme/shop/",
        "git@github.com:acme/shop.git",
        "github.com:acme/shop",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@ssh.github.com:443/acme/shop.git",
        "git://github.com:9418/acme/shop.git/",
        "git+ssh://git@github.com//acme/./shop.git",
    ],
)
def test_one_repository_has_one_name_however_it_is_reached(address: str) -> None:
    assert normalised_remote(address) == "github.com/acme/shop"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (
            "git@gitlab.example.org:team/deep/down/shop.git",
            "gitlab.example.org/team/deep/down/shop",
        ),
        ("git@ssh.dev.azure.com:v3/acme/web/shop", "dev.azure.com/acme/web/shop"),
        ("https://acme@dev.azure.com/acme/web/_git/shop", "dev.azure.com/acme/web/shop"),
        ("ssh://git@[::1]:2222/acme/shop.git", "::1/acme/shop"),
        ("https://example.org/r%C3%A9po.git", "example.org/répo"),
        ("/srv/git/shop.git", "/srv/git/shop"),
        ("file:///srv/git/my%20shop.git", "/srv/git/my shop"),
        ("https://example.org/", None),
        ("https://[broken/x", None),
        ("", None),
        (".git", None),
    ],
)
def test_names_of_other_addresses(address: str, name: str | None) -> None:
    assert normalised_remote(address) == name


def test_a_clone_a_folder_within_it_and_a_linked_worktree_are_one_project(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    (main / "packages" / "api").mkdir(parents=True)
    git(main, "worktree", "add", "-q", "-b", "try", "../try")
    commit = git(main, "rev-parse", "HEAD")
    within = project_of(main / "packages" / "api")
    linked = project_of(tmp_path / "try")
    assert within.id == linked.id == "github.com/acme/shop"
    assert (within.root, within.branch, within.commit) == (main, "main", commit)
    assert (linked.root, linked.branch, linked.commit) == (tmp_path / "try", "try", commit)


def test_without_a_remote_the_worktrees_share_the_path_of_the_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    git(main, "worktree", "add", "-q", "../try")
    assert project_of(tmp_path / "try").id == project_of(main).id == main.as_posix()


def test_worktrees_of_a_bare_repository_are_one_project(tmp_path: Path) -> None:
    repository(tmp_path / "shop")
    git(tmp_path, "clone", "-q", "--bare", "shop", "bare.git")
    git(tmp_path / "bare.git", "remote", "remove", "origin")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "../one")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "../two")
    names = {project_of(tmp_path / name).id for name in ("one", "two")}
    assert names == {(tmp_path / "bare.git").as_posix()}


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    repository(tmp_path / "lib", "git@github.com:acme/lib.git")
    main = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    git(
        main,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "-q",
        "add",
        str(tmp_path / "lib"),
        "lib",
    )
    git(main / "lib", "remote", "set-url", "origin", "https://github.com/acme/lib")
    assert project_of(main / "lib").id == "github.com/acme/lib"
    assert project_of(main).id == "github.com/acme/shop"


def test_packed_references_and_a_detached_head_are_read(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    commit = git(main, "rev-parse", "HEAD")
    git(main, "pack-refs", "--all")
    assert project_of(main).commit == commit
    git(main, "checkout", "-q", "--detach")
    assert (project_of(main).branch, project_of(main).commit) == (None, commit)


def test_a_repository_without_a_commit_has_a_branch_only(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    found = project_of(tmp_path)
    assert (found.branch, found.commit) == ("main", None)


def test_short_addresses_of_the_repository_are_written_out(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop", "gh:acme/shop")
    git(main, "config", "url.git@github.com:.insteadOf", "gh:")
    assert project_of(main).id == "github.com/acme/shop"


def test_origin_comes_before_other_remotes(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    git(main, "remote", "add", "upstream", "https://github.com/acme/shop")
    assert project_of(main).id == "github.com/acme/shop"
    git(main, "remote", "add", "origin", "https://github.com/ana/shop")
    assert project_of(main).id == "github.com/ana/shop"


def test_a_folder_outside_of_any_repository_is_its_own_project(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert project_of(folder).id == project_of(link).id == folder.as_posix()


@pytest.mark.parametrize("content", [b"", b"gitdir: nowhere", b"\xff\xfe\x00", b"gitdir: ../.."])
def test_a_broken_git_file_is_no_repository(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert project_of(tmp_path).id == tmp_path.as_posix()


def test_a_folder_that_is_gone_still_has_a_project(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    assert project_of(main / "gone" / "deeper").id == "github.com/acme/shop"


def test_long_paths_become_ids_that_differ(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d" * 60] * 8)
    one, two = project_of(deep / "one").id, project_of(deep / "two").id
    assert max(len(one), len(two)) <= MAX_REFERENCE_CHARS
    assert one != two
    assert one.endswith("/one")


def test_files_are_named_from_the_root(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop")
    project = project_of(main / "src")
    assert relative_to_root(project, str(main / "src" / "a.py")) == "src/a.py"
    assert relative_to_root(project, "src/a.py") == "src/a.py"
    assert relative_to_root(project, "/etc/hosts") == "/etc/hosts"
