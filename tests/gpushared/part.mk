# SPDX-License-Identifier: MIT
# The daemon, end to end, by way of the library.
gpushared-test = $(call program,tests/gpushared/$(1),tests/gpushared/$(1).c tests/gpushared/world.c,$(O)/lib/libgpushare.a -lpthread,$(O)/gpushared/gpushared)
$(call program,tests/gpushared/files,tests/gpushared/files.c tests/gpushared/hungfs.c tests/gpushared/world.c,\
	$(O)/lib/libgpushare.a -lpthread,$(O)/gpushared/gpushared)
$(foreach t,tenants users flood daemon hostile bell groups rights state arbiters shares bench,$(call gpushared-test,$(t)))
tests-y += $(addprefix $(O)/tests/gpushared/,hostile bell groups rights state arbiters)
alone-y += $(addprefix $(O)/tests/gpushared/,tenants users flood daemon shares files)
tests-y += tests/gpushared/systemd.sh
full-y += tests/gpushared/valgrind.sh tests/gpushared/soak.sh
full-y += $(if $(wildcard Kbuild),tests/gpushared/systemd-vm.sh)
bench-y += ulib:$(O)/tests/gpushared/bench

# The contract's own tests, as they run over the module, over a private daemon.
kselftests := structs attach memory share device stats grant page life rights regroup tenants limits
cflags-tests/kselftest := -Itests/kselftest
$(foreach t,$(kselftests),$(call program,tests/gpushared/kselftest/$(t),tests/kselftest/$(t).c \
	tests/kselftest/lib.c tests/gpushared/kselftest.c,$(O)/lib/libgpushare.a -lpthread))
tests-y += tests/gpushared/kselftest.sh
checkdeps-y += $(addprefix $(O)/tests/gpushared/kselftest/,$(kselftests))

# The fuzz targets, as tests of their own and for libFuzzer.
fuzz-message := tests/gpushared/fuzz-message.c gpushared/message.c
fuzz-state := tests/gpushared/fuzz-state.c gpushared/state-text.c
$(foreach t,message state,$(call program,tests/gpushared/fuzz-$(t),\
	$(fuzz-$(t)) tests/gpushared/fuzz-$(t)-examples.c tests/gpushared/fuzz.c))
tests-y += $(addprefix $(O)/tests/gpushared/fuzz-,message state)
$(call fuzzer,ulib-message,$(fuzz-message),-I.)
$(call fuzzer,ulib-state,$(fuzz-state),-I.)

# The daemon with calls that can be made to fail; fault-wrap.c has the same list.
faulty := malloc calloc realloc strdup open_memstream fopen fclose accept4 memfd_create ftruncate mmap \
	eventfd epoll_create1 epoll_pwait2 epoll_ctl socket socketpair getsockopt recvmsg recv \
	sendmsg send read pread write fsync rename fstatat poll pthread_create open openat fcntl syscall
$(call program,tests/gpushared/faulty-gpushared,$(wildcard gpushared/*.c) ulib/user-socket.c tests/gpushared/fault-wrap.c,\
	$(contract-lib) $(core-lib) -lpthread $(addprefix -Wl$(comma)--wrap=,$(faulty)))
$(call program,tests/gpushared/faults,tests/gpushared/faults.c tests/gpushared/world.c,$(O)/lib/libgpushare.a -lpthread,\
	$(O)/tests/gpushared/faulty-gpushared)
alone-y += $(O)/tests/gpushared/faults
