"""The box: where code of strangers and programs of models run, and nowhere else."""
