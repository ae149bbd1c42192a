"""Dictionaries of definitions, and batches of texts that are read with them."""

from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.features import (
    DefinitionFeatures,
    count_characters,
    flat_inputs,
    spellings,
)
from tfcopy.data.definitions.lookup import NUM_ENTRIES, DefinitionLookup
from tfcopy.data.definitions.packing import DefinitionPacker
from tfcopy.data.definitions.text_batches import TextBatches
