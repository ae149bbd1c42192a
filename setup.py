"""Installation; pyproject.toml holds the settings of ruff and pytest only."""

import pathlib
import re

from setuptools import find_packages, setup

ROOT = pathlib.Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$',
    (ROOT / "tfcopy" / "__init__.py").read_text(encoding="utf-8"),
    re.MULTILINE,
)[1]

# All that there are wheels for; it has no source distribution.
ALIGN = [
    "systran-align>=3.5; "
    "python_version < '3.12' and platform_machine == 'x86_64'"
]
CATALOGS = ["polib>=1.2"]
CLIENT = ["grpcio>=1.64,<2", "tensorflow-serving-api>=2.21,<3"]
DEMO = ["gradio>=6.31,<7"]
FIGURES = ["matplotlib>=3.9"]
JIEBA = ["jieba>=0.42.1"]
PROJECTION = ["scikit-learn>=1.5"]
SUBWORDS = ["sentencepiece>=0.2.1"]

setup(
    name="tfcopy",
    version=VERSION,
    description="Sequence models that copy, point, plan and read definitions",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.11",
    packages=find_packages(include=["tfcopy", "tfcopy.*"]),
    package_data={"tfcopy.data.generated": ["tables/*.txt"]},
    install_requires=[
        "tensorflow>=2.21,<2.22",
        "keras>=3.15,<4",
        # 2.21.0 fails at import.
        "tensorflow-text>=2.21.1,<2.22",
        "tensorflow-datasets>=4.9.10,<5",
        # TensorFlow Datasets imports it without asking for it.
        "importlib_resources>=6",
        # Brings keras-hub, under which name it is imported.
        "keras-nlp>=0.32,<0.33",
        # TensorFlow 2.21 no longer brings it.
        "tensorboard>=2.21,<3",
        "sacrebleu>=2.6,<3",
        "rouge-score>=0.1.2",
        "jsonargparse[signatures]>=4.40,<5",
        "tqdm>=4.66",
        "wrapt>=1.14",
        "numpy",
    ],
    extras_require={
        "gpu": ["tensorflow[and-cuda]>=2.21,<2.22"],
        "align": ALIGN,
        "catalogs": CATALOGS,
        "client": CLIENT,
        "demo": DEMO,
        "figures": FIGURES,
        "jieba": JIEBA,
        "projection": PROJECTION,
        "subwords": SUBWORDS,
        "dev": [
            *ALIGN,
            *CATALOGS,
            *CLIENT,
            *DEMO,
            *FIGURES,
            *JIEBA,
            *PROJECTION,
            *SUBWORDS,
            "hypothesis>=6.100",
            "jax>=0.7",
            "pytest>=8",
            "pytest-xdist>=3.7",
            "ruff>=0.8",
            "sacremoses>=0.1.1",
            # Drives the browser of the tests of pages.
            "selenium>=4.50",
        ],
    },
)
