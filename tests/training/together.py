"""A small training, as each of torchrun's processes runs it: dataset, model folder, encoder's folder."""

import sys
from pathlib import Path

from revelio.catalog import load_catalog
from revelio.training.arguments import TrainArguments
from revelio.training.train import train

dataset, out, encoder, catalog = map(Path, sys.argv[1:])
train(TrainArguments(dataset, out, load_catalog(catalog), device="cpu", epochs=4, folds=2, encoder=encoder))
