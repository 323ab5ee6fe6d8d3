"""What is public, how fast it loads, and that every error is accounted for."""

import ast
import inspect
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import ricordo
from ricordo import errors, limits
from ricordo.settings import Settings

SOURCE = Path(ricordo.__file__).parent
EXPORTED = """
AccessDenied Action ActivityEvent Added AlreadyDecided ApiKey AsyncMemory AsyncTools AsyncUserMemory
AuditReport BackupReport BadAnswer BadEmbedding BlockedSender BudgetExhausted Bullet
CategoryNotAllowed Change Changed Changes Checkpoint CheckpointInfo CheckpointNotFound
CompactionReport Conflict ConsolidationReport Context ContextMode ContextPolicy Counters CreatedKey
DatabaseKeyMismatch DatabaseTooNew DatabaseTooOld DayActivity DayEntry DayLog Decision
EmbedderRefused EmbedderUnavailable EmbeddingChange EmbeddingError EmbeddingState EmbeddingStatus
ErasureReceipt Event EventStatus Feedback FieldOutcome FieldUpdate FilesUnavailable FormationReport
FormedTurn Grant GrantNotFound Group GroupMember GroupNotFound GroupRole IllegalTransition
ImportFailed ImportReport InvalidBackup InvalidCursor InvalidInput InvalidPolicy InvalidSignature
InvalidValue Item ItemFilter Job JobNotFound JobState JobStats KeyKind KeyNotFound Lane
LanguageModelError Lineage Link LinkState Membership Memory MemoryHit MemoryNotFound MemoryType
MirrorEntry MirrorReport MirrorStatus ModelRefused ModelUnavailable NamedEntity NewMemory NewTurn
NotAuthenticated NotFound NotOwner NothingToUndo Observed Occupied OfferRefused OtherProject
Ownership Page PairAction PairDecision Permission PermissionMissing Profile ProfileField
ProfileUpdate Project Proposal ProposalKind ProposalNotFound ProposalState Proposed QueryAnswer
Rating RecalledMemory RecalledTurn Related RelationEdge RelationGraph RestoreReport Returns
RicordoError RoleNotConfined RoundReport Scope ScopeWidened SearchResults Settings Signals Source
Status StorageBusy StorageClosed StorageCorrupt StorageError StorageFull StorageReadOnly
StorageUnavailable StoreNotEmpty Summary SupersededStatement TargetRefused Theme ThemeNotFound
Thread ThreadNotFound TokenSplit ToolResult Tools Turn TurnHit TurnPart Undoable UnknownField
UserMemory UserNotFound Verdict Webhook WebhookDelivery WebhookNotFound WebhookSecret WebhookState
Window __version__ check_backup open open_async restore_backup verify_webhook
"""


@pytest.mark.requirement("surfaces.python")
def test_exactly_these_names_are_public() -> None:
    names = EXPORTED.split()
    assert sorted(ricordo.__all__) == names
    assert all(getattr(ricordo, name) is not None for name in names)
    assert set(dir(ricordo)) >= set(names)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ricordo.nothing  # noqa: B018


@pytest.mark.requirement("errors.tree")
def test_every_error_is_public_and_drawn_in_the_tree() -> None:
    classes = [
        found
        for _, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, Exception)
    ]
    assert errors.__doc__ is not None
    for found in classes:
        assert issubclass(found, errors.RicordoError)
        assert found.__name__ in ricordo.__all__
        assert f" {found.__name__} " in errors.__doc__.replace("\n", " \n ") + " "
        assert found.__doc__


@pytest.mark.requirement("performance.import")
@pytest.mark.parametrize("statement", ["import ricordo", "import ricordo.cli.main"])
def test_importing_loads_nothing_heavy(statement: str) -> None:
    heavy = ("sqlalchemy", "alembic", "pydantic", "psycopg", "numpy", "onnxruntime", "httpx2")
    code = f"{statement}; import sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("limits.one-place")
def test_every_maximum_is_used_and_named() -> None:
    names = {name for name in vars(limits) if name.isupper()}
    used = "".join(
        path.read_text(encoding="utf-8")
        for path in SOURCE.rglob("*.py")
        if path.name != "limits.py"
    )
    assert {name for name in names if name not in used} == set()


def test_no_module_outgrows_its_job() -> None:
    too_long = [
        (path.relative_to(SOURCE), count)
        for path in SOURCE.rglob("*.py")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 800
    ]
    assert too_long == []


@pytest.mark.slow
def test_functions_fit_on_a_screen() -> None:
    long = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = (node.end_lineno or 0) - node.body[0].lineno
                if body > 60 and "versions" not in path.parts:
                    long.append((path.name, node.name, body))
    assert long == []


@pytest.mark.requirement("settings.checked")
def test_every_setting_says_what_it_is() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name


def test_every_mutant_still_breaks_something() -> None:
    folder = Path(__file__).parents[2] / "scripts"
    found = runpy.run_path(str(folder / "mutants.py"))
    for mutant in found["MUTANTS"]:
        text = (found["SOURCE"] / mutant.file).read_text(encoding="utf-8")
        assert text.count(mutant.old) == 1, (mutant.rule, mutant.file)
