"""What an approval is about, asking for it, and judging the answer."""
