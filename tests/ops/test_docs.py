"""docs/ops.md says what the contracts say."""

from tools.ops_docs import PAGE, page


def test_the_page_is_current():
    assert PAGE.read_text() == page(), "run python3 -m tools.ops_docs"
