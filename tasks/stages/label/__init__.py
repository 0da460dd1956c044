"""People's labels: samples that are drawn, sheets, and what they say."""
