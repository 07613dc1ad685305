#!/bin/bash
# SPDX-License-Identifier: MIT
# Time limit: 900 s
# The Vulkan layer over Mesa's driver for the CPU: results, memory, weights, kills.
cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=tests/wrap/opencl/lib.sh
. tests/wrap/opencl/lib.sh
compute=$O/tests/wrap/vulkan/compute
icd=$(find /usr/share/vulkan/icd.d -name 'lvp_icd.*.json' 2>/dev/null | head -n 1)
if [ ! -e "$O/lib/gpushare/vulkan/libgpushare-vulkan.so" ] || [ -z "$icd" ]; then
	echo "1..0 # SKIP no Vulkan here"
	exit 4
fi
export VK_ICD_FILENAMES=$icd XDG_RUNTIME_DIR=$dir
unset VK_INSTANCE_LAYERS VK_LAYER_PATH VK_ADD_LAYER_PATH GPUSHARE_CUT
seed=${GS_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$seed
echo "# seed $seed"
plan 15

start_daemon
export GPUSHARE_ARBITER=$socket
"$ctl" device add cpu:0 slice=4ms grace=2s linger=50ms >/dev/null 2>&1 ||
	"$ctl" device set cpu:0 slice=4ms grace=2s linger=50ms

timeout 60 "$compute" check >"$dir/out" 2>&1
verdict $? "the driver alone computes what it should" "$dir/out"
"$ctl" run --name=auto --report -- "$compute" busy 2 >"$dir/out" 2>&1
verdict $? "the same behind the gate" "$dir/out"
grep -q 'cpu:0' "$dir/out"
verdict $? "and the arbiter knows of it" "$dir/out"
bad=0
for _ in $(seq 6); do
	cut=slice,random=$RANDOM
	GPUSHARE_CUT=$cut timeout 120 "$ctl" run -- "$compute" check >"$dir/out" 2>&1 ||
		{ echo "# $cut"; bad=1; }
done
verdict $bad "cut at random places, each cell and sum is the same" "$dir/out"
GPUSHARE_CUT=off timeout 60 "$ctl" run -- "$compute" check >"$dir/out" 2>&1
verdict $? "and so it is uncut" "$dir/out"
timeout 60 "$ctl" run -- "$compute" timeline >"$dir/out" 2>&1
verdict $? "what waits for its own submitter doesn't hang" "$dir/out"
timeout 60 "$ctl" run --mem=70M -- "$compute" memory 16 >"$dir/out" 2>&1 &&
	grep -q '^4 blocks, then -2' "$dir/out"
verdict $? "of 70 MiB it gets four times 16, then VK_ERROR_OUT_OF_DEVICE_MEMORY" "$dir/out"
timeout 60 "$ctl" run -- vulkaninfo --summary >"$dir/out" 2>&1 && grep -q llvmpipe "$dir/out"
verdict $? "vulkaninfo works" "$dir/out"

"$ctl" doctor >"$dir/out" 2>&1
grep -q 'vulkan.*libgpushare-vulkan.so: gpusharectl run' "$dir/out"
verdict $? "gpusharectl doctor finds the layer" "$dir/out"

# Its messages go to stdout; the program's own line is the only other one.
for cut in auto slice,random=$RANDOM; do
	VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation GPUSHARE_CUT=$cut \
		timeout 120 "$ctl" run -- "$compute" check >"$dir/out" 2>&1 &&
		! grep -q 'VUID\|Validation' "$dir/out"
	verdict $? "the validation layer has nothing to say ($cut)" "$dir/out"
done

# Killed at random moments.
clients() { "$ctl" -j status | jq '.clients | length'; }
none_left() { [ "$(clients)" = 0 ]; }
left=0
for _ in $(seq 8); do
	GPUSHARE_CUT=slice,random=$RANDOM "$ctl" run -- "$compute" busy 60 >/dev/null 2>&1 &
	sleep "0.$((RANDOM % 800 + 100))"
	pkill -KILL -P $! 2>/dev/null
	wait $!
	eventually none_left || left=$((left + 1))
done
verdict $left "after each of 8 kills nothing is left at the arbiter"

# Beside OpenCL: 1, 2 and 4 parts of seven.
"$ctl" run -- "$O/tests/wrap/opencl/look" busy 3 >/dev/null 2>&1
begin one --weight=100 -- "$compute" busy 600
begin two --weight=200 -- "$O/tests/wrap/opencl/look" busy 600
begin four --weight=400 -- "$compute" busy 600
for name in one two four; do eventually has $name grants 10; done
for _ in $(seq 10); do
	read -r one two four < <(held 5 one two four)
	[ "$two" -gt "$((one * 13 / 10))" ] && [ "$four" -gt "$((two * 13 / 10))" ] &&
		[ "$four" -lt "$((one * 6))" ] && break
done
[ "$two" -gt "$((one * 13 / 10))" ] && [ "$four" -gt "$((two * 13 / 10))" ] &&
	[ "$four" -lt "$((one * 6))" ]
verdict $? "weights 1:2:4, the second OpenCL's, hold $one, $two and $four %"
for name in one four; do
	end $name
	verdict $? "$name: $(cat "$dir/$name"), each result right" "$dir/$name.err"
done
end two
finish
