"""People's labels: samples, sheets, and results."""
