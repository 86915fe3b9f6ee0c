"""Studies: experiments that a definition names, designs draw or searches propose; run, kept, judged and reported."""
