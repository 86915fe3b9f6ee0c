"""Archives of results: all that somebody needs to repeat them, in one file with a digest of each part."""
