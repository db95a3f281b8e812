"""The daemons, one module each, so that none pays for the imports of another."""
