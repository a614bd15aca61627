"""Nothing passes because nothing ran."""

from tools import testrun
from tools.testrun import webgpu_count


def test_no_note_of_runs_on_webgpu_counts_as_none(tmp_path, monkeypatch):
    monkeypatch.setattr(testrun, "WEBGPU_RAN", tmp_path / "webgpu-ran.json")
    assert webgpu_count() == 0


def test_noted_runs_are_counted(tmp_path, monkeypatch):
    note = tmp_path / "webgpu-ran.json"
    note.write_text('{"ran": 3, "runs": []}')
    monkeypatch.setattr(testrun, "WEBGPU_RAN", note)
    assert webgpu_count() == 3
