"""Training: encoders fine-tuned on labelled pairs, and models trained from nothing.

`recipes` says how a model is trained, `data` on what, `trainer` does it by sentence-transformers'
trainer, `folder` is what comes out: a checkpoint that ``checkpoint:FOLDER`` names. `models` has the
models that have no pretrained weights.
"""
