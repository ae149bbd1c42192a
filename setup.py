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


def long_description():
    """README for PyPI, which has none of the files that it links to."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"!\[[^]]*\]\((?!https:)[^)]*\)\n+", "", text)
    return re.sub(r"\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", text)


# It asks for protobuf below 7 and pyarrow below 26.
BEAM = ["apache-beam>=2.77,<3"]
CATALOGS = ["rapidfuzz>=3"]
DOCS = ["mkdocs-material>=9.6,<10", "mkdocstrings[python]>=0.29"]
DEMO = ["uvicorn>=0.34"]
FIGURES = ["matplotlib>=3.9"]
JIEBA = ["jieba>=0.42.1"]
SERVE = [
    "fastapi>=0.115",
    "fastapi-offline>=1.7.4",
    "limits>=4",
    "prometheus-client>=0.21",
    "py3langid>=0.4",
    "python-multipart>=0.0.20",
    # `re` of Python 3.11.2 reads possessive groups otherwise.
    "regex>=2024.9",
    "uvicorn>=0.34",
]
PROJECTION = ["scikit-learn>=1.5"]
# All but answering. There is no TensorFlow 2.21 for Python 3.14.
TRAIN = [
    "tensorflow>=2.21,<2.22",
    "keras>=3.15,<4",
    # 2.21.0 fails at import.
    "tensorflow-text>=2.21.1,<2.22",
    "tensorflow-datasets>=4.9.10,<5",
    # TensorFlow Datasets imports it without asking for it.
    "importlib_resources>=6",
    "huggingface-hub>=0.34,<3",
    # Once named keras-nlp.
    "keras-hub>=0.32,<0.33",
    # TensorFlow 2.21 no longer brings it.
    "tensorboard>=2.21,<3",
    "sacrebleu>=2.6,<3",
    "rouge-score>=0.1.2",
    "pyyaml>=6",
    "safetensors>=0.5,<1",
]

setup(
    name="tfcopy",
    version=VERSION,
    description="Sequence models that copy, point, plan and read definitions",
    long_description=long_description(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Linguistic",
    ],
    keywords="tensorflow keras copying pointer-generator copynet translation",
    python_requires=">=3.11",
    entry_points={"console_scripts": ["tfcopy=tfcopy.__main__:main"]},
    packages=find_packages(include=["tfcopy", "tfcopy.*"]),
    package_data={
        "tfcopy": ["py.typed"],
        "tfcopy.data.generated": ["tables/*.txt"],
        "tfcopy.serving.catalogs": ["*.html"],
        "tfcopy.serving.web": ["package-lock.json", "page/*"],
        "tfcopy.runtime": ["*.txt"],
        "tfcopy.serving.servables": ["*.txt"],
        "tfcopy.serving": [
            "*.json",
            "server_files/*.*",
            "server_files/Dockerfile",
            "server_files/c/*.[ch]",
            "server_files/c/Makefile",
        ],
    },
    install_requires=[
        "ai-edge-litert>=2.3,<3",
        "babel>=2.16",
        "docutils>=0.20",
        "google-re2>=1.1",
        "numpy",
        "sentencepiece>=0.2.1",
        "tqdm>=4.66",
    ],
    extras_require={
        "gpu": [*TRAIN, "tensorflow[and-cuda]>=2.21,<2.22"],
        "beam": BEAM,
        "catalogs": CATALOGS,
        "demo": DEMO,
        "docs": DOCS,
        "figures": FIGURES,
        "jieba": JIEBA,
        "projection": PROJECTION,
        "serve": SERVE,
        "train": TRAIN,
        "dev": [
            *BEAM,
            *CATALOGS,
            *DEMO,
            *DOCS,
            *FIGURES,
            *JIEBA,
            *PROJECTION,
            *SERVE,
            *TRAIN,
            # Its protocol buffers describe what a server is given.
            "tensorflow-serving-api>=2.21,<3",
            # Asks the server as others do.
            "libretranslatepy>=2.1.4",
            # With setuptools and wheel, what `.ci/run` builds and checks.
            "build>=1.2",
            "setuptools>=77",
            "twine>=6",
            "wheel",
            "hypothesis>=6.100",
            # Reads HTML as browsers do.
            "html5lib>=1.1",
            # Reads and writes catalogues as others do.
            "polib>=1.2",
            # Runs the notebook.
            "ipykernel>=6",
            "jax>=0.7",
            "nbclient>=0.10",
            "pytest>=8",
            "pytest-timeout>=2.4",
            "pytest-xdist>=3.7",
            "ruff>=0.8",
            "sacremoses>=0.1.1",
            # Drives the browser of the tests of pages.
            "selenium>=4.50",
        ],
    },
)
