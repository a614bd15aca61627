"""Text: tokenizers, the split, batches."""
