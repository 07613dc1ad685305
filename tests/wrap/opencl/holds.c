// SPDX-License-Identifier: MIT
/* holds KEY: holds a device's grant, says so, and gives it back at the end of its input. */
#include <gpushare.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct gpushare *g;

	if (argc < 2 || gpushare_open(&g, argv[1], NULL) || gpushare_begin(g, GPUSHARE_FOREVER))
		return 1;
	puts("held");
	fflush(stdout);
	while (getchar() != EOF)
		;
	gpushare_end(g);
	gpushare_close(g);
	return 0;
}
