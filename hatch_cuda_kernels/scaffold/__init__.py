"""``init``: sets a project up, new or existing."""
