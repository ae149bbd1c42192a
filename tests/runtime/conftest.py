"""The exports of the tests of serving, which are asked here as well."""

from tests.serving.conftest import (  # noqa: F401
    copier_export,
    copier_model,
    copier_served,
    seeded_libraries,
    told,
)
