"""The duties of a beat, one file each: one transaction, returns what it did and when to look again."""
