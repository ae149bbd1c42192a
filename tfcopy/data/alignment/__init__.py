"""Word alignments: links between the words of sentence pairs."""
