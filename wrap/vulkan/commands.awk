# SPDX-License-Identifier: MIT
# Makes, of Vulkan's header, a function for each command that isn't ours: it marks the
# command buffer, which is gated whole from then on, and hands the command on.
# Use: awk -v ours="vkCmdDispatch ..." -f commands.awk vulkan_core.h
BEGIN {
	n = split(ours, list, " ")
	for (i = 1; i <= n; i++)
		own[list[i]] = 1
	print "/* Made by wrap/vulkan/commands.awk. */"
}
match($0, /^typedef (void|VkResult) \(VKAPI_PTR \*PFN_vkCmd[A-Za-z0-9]+\)\(VkCommandBuffer /) {
	type = $2
	name = $0
	sub(/^.*\*PFN_/, "", name)
	sub(/\).*$/, "", name)
	if (name in own)
		next
	list_of_arguments = $0
	sub(/^[^)]*\)\(/, "", list_of_arguments)
	sub(/\);.*$/, "", list_of_arguments)
	n = split(list_of_arguments, args, ",")
	call = ""
	for (i = 1; i <= n; i++) {
		arg = args[i]
		sub(/\[[0-9]*\]$/, "", arg)
		sub(/^.*[ *]/, "", arg)
		call = call (i > 1 ? ", " : "") arg
	}
	printf "static VKAPI_ATTR %s VKAPI_CALL %s_whole(%s)\n{\n", type, name, list_of_arguments
	printf "\tPFN_%s next = (PFN_%s)gsv_whole(commandBuffer, %d, \"%s\");\n\n", name, name, count, name
	printf "\t%snext(%s);\n}\n\n", type == "void" ? "" : "return ", call
	names[count++] = name
}
END {
	print "const struct gsv_hook gsv_others[] = {"
	for (i = 0; i < count; i++)
		printf "\t{ \"%s\", (PFN_vkVoidFunction)%s_whole },\n", names[i], names[i]
	print "};"
	printf "const unsigned int gsv_n_others = %d;\n", count
}
