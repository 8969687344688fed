"""The notebooks run from top to bottom, and hold no output of somebody's last run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.needs import needs

FOLDER = Path(__file__).parents[2] / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))

needs_jupyter = needs(
    all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel")),
    "nbclient or ipykernel is missing: pip install 'gamelane[dev]'",
)


def test_there_are_three() -> None:
    assert [book.stem for book in BOOKS] == ["household", "sweep", "thin-stream"]


@needs_jupyter
@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs(book: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    content = nbformat.read(book, as_version=4)  # type: ignore[no-untyped-call]
    cells = [cell for cell in content.cells if cell.cell_type == "code"]
    assert cells
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    NotebookClient(
        content, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert any(cell.outputs for cell in cells)
