"""Training: encoders fine-tuned on labelled pairs, and models trained from nothing.

`data` reads and splits the pairs, `recipes` has the papers' hyper-parameters, jobs and their
histories, `trainer` trains by sentence-transformers' trainer, `models` has the models without
pretrained weights, and `encoder` reads the trained folder, which ``checkpoint:FOLDER`` names.
"""
