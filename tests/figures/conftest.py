import pytest


@pytest.fixture
def drawn(monkeypatch):
    """All figures that are drawn."""
    from matplotlib.figure import Figure

    from tfcopy.figures import word_grid

    recorded = []

    class Recorded(Figure):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            recorded.append(self)

    monkeypatch.setattr(word_grid, "Figure", Recorded)
    return recorded
