// SPDX-License-Identifier: MIT
/* gpushare-sim: run a scenario in virtual time. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics.h"

static const char usage[] =
"usage: gpushare-sim [OPTIONS] SCENARIO\n"
"\n"
"Runs a scenario of tenants on devices in virtual time, under the very code that\n"
"arbitrates in the kernel, and prints how they fared. Exits with 1 if one of the\n"
"scenario's expectations does not hold, with 2 if it can't be run.\n"
"\n"
"  -j, --json            the figures as JSON\n"
"  -n, --native          nobody arbitrates: the hardware's own queue\n"
"  -c, --check           only the expectations, as TAP\n"
"  -s, --svg FILE        draw who ran when\n"
"  -t, --trace FILE      write the same for Perfetto or chrome://tracing (JSON)\n"
"  -h, --help\n"
"      --version\n"
"\n"
"The format of scenarios is in Documentation/simulator.md.\n";

enum { OPT_VERSION = 256 };

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "native", no_argument, NULL, 'n' },
	{ "check", no_argument, NULL, 'c' },
	{ "svg", required_argument, NULL, 's' },
	{ "trace", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

struct arguments {
	bool json, native, check;
	const char *svg, *trace, *scenario;
};

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
	int c;

	while ((c = getopt_long(argc, argv, "jncs:t:h", options, NULL)) >= 0) {
		switch (c) {
		case 'j':
			a->json = true;
			break;
		case 'n':
			a->native = true;
			break;
		case 'c':
			a->check = true;
			break;
		case 's':
			a->svg = optarg;
			break;
		case 't':
			a->trace = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case OPT_VERSION:
			puts("gpushare-sim " GPUSHARE_RELEASE);
			exit(0);
		default:
			fputs("Try 'gpushare-sim --help'.\n", stderr);
			exit(2);
		}
	}
	if (optind + 1 != argc) {
		fputs(usage, stderr);
		exit(2);
	}
	a->scenario = argv[optind];
}

static int write_file(const char *path, const struct run *run,
		      int (*write)(FILE *out, const struct run *run))
{
	FILE *out = fopen(path, "we");
	int ret;

	if (!out) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	ret = write(out, run);
	if (!ret && ferror(out))
		ret = -EIO;
	if (fclose(out) && !ret)
		ret = -errno;
	if (ret)
		fprintf(stderr, "%s: can't be written: %s\n", path, strerror(-ret));
	return ret;
}

int main(int argc, char **argv)
{
	struct arguments a = { .json = false };
	struct sim_scenario s;
	struct metrics ms;
	char error[512];
	struct run run;
	int ret, failed;

	parse_arguments(argc, argv, &a);
	if (sim_load(&s, a.scenario, error, sizeof(error))) {
		fprintf(stderr, "%s\n", error);
		return 2;
	}
	s.native |= a.native;
	ret = sim_measure(&ms, &s, &run);
	if (ret) {
		fprintf(stderr, "%s: can't be run: %s\n", s.file, strerror(-ret));
		return 2;
	}
	if (a.json)
		sim_report_json(stdout, &ms);
	else if (!a.check)
		sim_report_text(stdout, &ms);
	failed = sim_report_expectations(a.check ? stdout : stderr, &ms, a.check);
	if (a.svg && write_file(a.svg, &run, sim_write_svg))
		failed = -1;
	if (a.trace && write_file(a.trace, &run, sim_write_perfetto))
		failed = -1;
	sim_run_free(&run);
	sim_metrics_free(&ms);
	sim_scenario_free(&s);
	return failed < 0 ? 2 : failed ? 1 : 0;
}
