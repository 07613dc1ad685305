# SPDX-License-Identifier: MIT
cflags-tests/cpucuda := -frounding-math
corpus-whole := -Wl,--whole-archive $(O)/tests/corpus/cuda.a -Wl,--no-whole-archive
$(call program,tests/cpucuda/exec-test,tests/cpucuda/exec-test.c tests/cpucuda/corpus.c,\
	$(O)/cpucuda/exec.a $(O)/libptx.a $(corpus-whole) -lm,$(O)/tests/corpus/cuda.a)
tests-y += $(O)/tests/cpucuda/exec-test

$(call program,tests/cpucuda/cut-test,tests/cpucuda/cut-test.c tests/cpucuda/cut.c \
	tests/cpucuda/corpus.c,$(O)/cpucuda/exec.a $(O)/libgsxform.a $(corpus-whole) -lm,\
	$(O)/tests/corpus/cuda.a)
tests-y += $(O)/tests/cpucuda/cut-test

$(call program,tests/cpucuda/maps-test,$(addprefix tests/cpucuda/,maps-test.c oracle.c cut.c \
	corpus.c),$(O)/cpucuda/exec.a $(O)/libgsxform.a $(corpus-whole) -lm,\
	$(O)/tests/corpus/cuda.a)
tests-y += $(O)/tests/cpucuda/maps-test

$(call program,tests/cpucuda/maps-random-test,$(addprefix tests/cpucuda/,maps-random-test.c \
	oracle.c cut.c),$(O)/cpucuda/exec.a $(O)/libgsxform.a -lm)
tests-y += $(O)/tests/cpucuda/maps-random-test

# The instructions one by one.
cpucuda-unit = $(call program,tests/cpucuda/$(1),$(addprefix tests/cpucuda/,$(1).c unit.c),\
	$(O)/cpucuda/exec.a $(O)/libptx.a -lm)
$(foreach t,units-test edges-test,$(call cpucuda-unit,$(t)))
tests-y += $(addprefix $(O)/tests/cpucuda/,units-test edges-test)

$(call program,tests/cpucuda/coverage-test,tests/cpucuda/coverage-test.c tests/cpucuda/corpus.c,\
	$(O)/cpucuda/exec.a $(O)/libptx.a $(corpus-whole) -lm,$(O)/tests/corpus/cuda.a)
tests-y += $(O)/tests/cpucuda/coverage-test

# The driver itself, and what else has its name by loading.
cpucuda-link := -L$(O)/cpucuda -lcuda -Wl$(comma)-rpath$(comma)'$$$$ORIGIN/../../cpucuda'
$(call program,tests/cpucuda/driver-test,tests/cpucuda/driver-test.c tests/cpucuda/corpus.c,\
	$(cpucuda-link) $(corpus-whole) -lm -ldl \
	-lpthread,$(O)/cpucuda/libcuda.so.1 $(O)/tests/corpus/cuda.a)
tests-y += $(O)/tests/cpucuda/driver-test

$(call program,tests/cpucuda/objects-test,tests/cpucuda/objects-test.c,\
	$(cpucuda-link) -lpthread,$(O)/cpucuda/libcuda.so.1)
tests-y += $(O)/tests/cpucuda/objects-test

tests-y += tests/cpucuda/toolkit.sh
checkdeps-y += $(O)/cpucuda/libcudart.so.13 $(O)/cpucuda/libcuda.so.1 $(O)/gsxform

$(call program,tests/cpucuda/random-test,$(addprefix tests/cpucuda/,random-test.c generate.c cut.c),\
	$(O)/cpucuda/exec.a $(O)/libgsxform.a -lm)
tests-y += $(O)/tests/cpucuda/random-test
