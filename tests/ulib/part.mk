# SPDX-License-Identifier: MIT
# The library and the daemon, end to end.
cflags-tests/ulib := -I. -Iulib/include
ulib-test = $(call program,tests/ulib/$(1),tests/ulib/$(1).c tests/ulib/world.c,$(O)/lib/libgpushare.a -lpthread,$(O)/ulib/gpushared/gpushared)
$(call program,tests/ulib/files,tests/ulib/files.c tests/ulib/hungfs.c tests/ulib/world.c,\
	$(O)/lib/libgpushare.a -lpthread,$(O)/ulib/gpushared/gpushared)
$(foreach t,library tenants users flood daemon hostile bell races groups rights state arbiters shares bench,$(call ulib-test,$(t)))
tests-y += $(addprefix $(O)/tests/ulib/,library hostile bell races groups rights state arbiters) tests/ulib/abi.sh
alone-y += $(addprefix $(O)/tests/ulib/,tenants users flood daemon shares files)
tests-y += tests/ulib/systemd.sh
full-y += tests/ulib/valgrind.sh tests/ulib/soak.sh
ifneq ($(wildcard Kbuild),)
alone-y += tests/ulib/module-vm.sh
full-y += tests/ulib/systemd-vm.sh
endif
bench-y += ulib:$(O)/tests/ulib/bench

# The fuzz targets, as tests of their own and for libFuzzer.
fuzz-message := tests/ulib/fuzz-message.c ulib/gpushared/message.c
fuzz-state := tests/ulib/fuzz-state.c ulib/gpushared/state-text.c
$(foreach t,message state,$(call program,tests/ulib/fuzz-$(t),\
	$(fuzz-$(t)) tests/ulib/fuzz-$(t)-examples.c tests/ulib/fuzz.c))
tests-y += $(addprefix $(O)/tests/ulib/fuzz-,message state)
$(call fuzzer,ulib-message,$(fuzz-message),-I.)
$(call fuzzer,ulib-state,$(fuzz-state),-I.)

# The daemon with calls that can be made to fail; fault-wrap.c has the same list.
faulty := malloc calloc realloc strdup open_memstream fopen fclose accept4 memfd_create ftruncate mmap \
	eventfd timerfd_create epoll_create1 epoll_wait epoll_ctl socket socketpair getsockopt recvmsg recv \
	sendmsg send read pread write fsync rename fstatat poll pthread_create open openat fcntl syscall
$(call program,tests/ulib/faulty-gpushared,$(wildcard ulib/gpushared/*.c) ulib/user-socket.c tests/ulib/fault-wrap.c,\
	$(core-lib) -lpthread $(addprefix -Wl$(comma)--wrap=,$(faulty)))
$(call program,tests/ulib/faults,tests/ulib/faults.c tests/ulib/world.c,$(O)/lib/libgpushare.a -lpthread,\
	$(O)/tests/ulib/faulty-gpushared)
alone-y += $(O)/tests/ulib/faults
