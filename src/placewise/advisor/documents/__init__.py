"""Results as JSON-able data: what ``to_dict()`` and ``--json`` give."""
