"""Stamps: a step is done again only when its key or its outputs changed."""

from tools.stamps import hash_of_files, is_done, mark_done


def test_a_step_is_done_for_its_key_and_while_its_outputs_are_there(tmp_path):
    stamp, output = tmp_path / "stamp", tmp_path / "output"
    output.write_text("x")
    assert not is_done(stamp, "key", output)
    mark_done(stamp, "key")
    assert is_done(stamp, "key", output)
    assert not is_done(stamp, "other", output)
    output.unlink()
    assert not is_done(stamp, "key", output)


def test_a_hash_of_files_changes_with_content_and_with_name(tmp_path):
    one = tmp_path / "one"
    one.write_text("x")
    first = hash_of_files([one], tmp_path)
    one.write_text("y")
    assert hash_of_files([one], tmp_path) != first
    one.write_text("x")
    assert hash_of_files([one], tmp_path) == first
    assert hash_of_files([one.rename(tmp_path / "two")], tmp_path) != first
