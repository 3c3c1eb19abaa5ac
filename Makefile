PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-fast lint mutants fuzz bench agreement knowledge docs clean

demo: $(VENV)/demo.done
	$(BIN)/q2 score examples/dialogues.jsonl --metrics groundedness,q2,scale,knowledge_f1 --out demo.jsonl
	$(BIN)/q2 explain \
	  --knowledge "Ross hosted The Joy of Painting, which aired from 1983 to 1994 on PBS." \
	  --response "i love that show ! it aired on pbs from 1983 to 1991 ."
	@echo
	@echo "The scores of the twenty responses, each with its reasons, are in $(CURDIR)/demo.jsonl."
	@echo "To see why, for all of them and for one:"
	@echo "  $(BIN)/q2 report demo.jsonl --out demo.html"
	@echo "  $(BIN)/q2 explain --response \"it opened in 1901 .\" --knowledge \"It opened in 1889.\""

# A process for each processor, from two to four; each needs up to 3 GB of memory. A test file stays
# in one process. The files stay in their order: otherwise those with few, slow tests come last.
WORKERS ?= $(shell $(BIN)/python -c \
  "from q2_metric.processors import processors; print(max(2, min(4, processors())))")
# Some containers forbid Python to store compiled files. Each process of the tests would then compile
# the package anew.
unexport PYTHONDONTWRITEBYTECODE
test: $(VENV)/test.done
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# What needs no torch, Ray, framework or browser: under a minute.
test-fast: $(VENV)/test.done
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  -m "not slow and not browser and not plugins"

lint: $(VENV)/test.done
	$(BIN)/ruff check .
	$(BIN)/mypy

# Changes of the code that the fast tests should catch (docs/results/reliability.md); SAMPLE= for
# all of them takes hours, SEED= for another sample.
SAMPLE ?= 200
mutants: export PATH := $(CURDIR)/$(BIN):$(PATH)
mutants: $(VENV)/test.done
	$(BIN)/python -m pip install -q "mutmut>=3.8"
	$(BIN)/python -m tools.benchmarks mutants $(if $(SAMPLE),--sample $(SAMPLE)) --seed $(or $(SEED),0)

# Readers, calibrations, parts and the cache on damaged files, for ten minutes.
fuzz: $(VENV)/test.done
	$(BIN)/python tests/fuzz/run.py --seconds 600

# docs/results/speed.md, half an hour on two quiet cores. SCALE is compared with the authors'
# package, which is installed for this alone.
bench: export PYTHONPATH = $(CURDIR)
bench: $(VENV)/test.done
	$(BIN)/python -m pip install -q --no-deps scale-score==0.1.0
	$(BIN)/python -m tools.benchmarks bundled
	$(BIN)/python -m tools.benchmarks bundled --dtype int8
	$(BIN)/python -m tools.benchmarks bundled --preset bundled-small
	$(BIN)/python -m tools.benchmarks bundled --preset bundled-small --dtype int8
	$(BIN)/python -m tools.benchmarks cpu --agreement \
	  ais_wow:300,finedialfact_hybridial,entfa_xsum:200,refchecker_dolly:200,wikibio_gpt3:150
	$(BIN)/python -m tools.benchmarks q2
	$(BIN)/python -m tools.benchmarks scale --dtype bfloat16
	$(BIN)/python -m tools.benchmarks long_knowledge \
	  --agreement entfa_xsum,wikibio_gpt3:200,refchecker_dolly:200,qags_cnndm
	$(BIN)/python -m tools.benchmarks speed_page
	$(BIN)/python -m tools.benchmarks quoted

# The pages of docs/results on agreement with people (hours on a CPU). With BERTScore:
# make agreement METRICS=q2,scale,knowledge_f1,bertscore MODELS="-s bertscore_model=./encoder"
METRICS ?= q2,scale,groundedness,knowledge_f1,word_share,knowledge_bleu,nli
agreement: $(VENV)/test.done
	$(BIN)/q2 reproduce --all $(MODELS) \
	  --out docs/results/reproduce.json --out docs/results/reproduce.md --overwrite
	$(BIN)/q2 meta-eval true q2 dialfact_a qags_cnndm summeval --metrics $(METRICS) $(MODELS) \
	  --out docs/results/true.json --out docs/results/true.md --overwrite
	$(BIN)/q2 meta-eval dev --metrics q2,scale,groundedness,knowledge_f1,word_share \
	  --out docs/results/dev.json --out docs/results/dev.md --overwrite
	$(BIN)/python -m tools.benchmarks quoted

# Knowledge selection on DSTC10 (q2 data download dstc10): a minute or two.
knowledge: $(VENV)/test.done
	$(BIN)/q2 select evaluate --note docs/results/knowledge.note.md \
	  --out docs/results/knowledge.md --out docs/results/knowledge.json --overwrite
	$(BIN)/python -m tools.benchmarks quoted

# The site of the pages, in site/; broken links end the build.
docs: $(VENV)/docs.done
	$(BIN)/mkdocs build --strict

$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/demo.done: $(BIN)/python setup.cfg
	$(BIN)/python -m pip install -q -e .
	touch $@

$(VENV)/test.done: $(BIN)/python setup.cfg
	$(BIN)/python -m pip install -q -e ".[dev]"
	$(BIN)/python -m pip install -q --no-deps parlai==1.7.2
	touch $@

$(VENV)/docs.done: $(BIN)/python setup.cfg
	$(BIN)/python -m pip install -q -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) build site *.egg-info demo.jsonl* demo.html
