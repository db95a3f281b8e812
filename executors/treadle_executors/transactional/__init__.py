"""The transactional executor: the database is the queue, and workers take attempts from it without a broker."""
