"""One module for each way of access: how an array is declared and reached there."""
