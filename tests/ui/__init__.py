"""The pages of the Prefect UI as a person sees them, in a headless browser."""
