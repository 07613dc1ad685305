// SPDX-License-Identifier: MIT
/* Control flow: switches, nested loops, breaks, goto, data-dependent ends. */
#include "corpus.h"

KERNEL switch_dense(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], r;

	switch (x % 9) {
	case 0: r = x * 3; break;
	case 1: r = x - 17; break;
	case 2: r = x / 3; break;
	case 3: r = x ^ 0x55; break;
	case 4: r = ~x; break;
	case 5: r = x << 4; break;
	case 6: r = x >> 2; break;
	case 7: r = x * x; break;
	default: r = -x;
	}
	o[i] = r;
}
RUN(switch_dense, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL switch_sparse(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;

	switch (a[i]) {
	case 3: r = 1; break;
	case 100: r = 2;	/* falls on */
	case 200: r += 3; break;
	case 900: r = 4; break;
	default: r = a[i] > 500 ? 5 : 6;
	}
	o[i] = r;
}
RUN(switch_sparse, GRID(16, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

KERNEL switch_block(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	switch (blockIdx.x & 3) {
	case 0: o[i] = a[i]; break;
	case 1: o[i] = a[i] * 2; return;
	case 2: return;
	default: o[i] = a[i] + threadIdx.x;
	}
	o[i] += 1;
}
RUN(switch_block, GRID(10, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL collatz(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
	unsigned int x = a[i] + 1;

	while (x != 1) {
		x = x & 1 ? 3 * x + 1 : x / 2;
		n++;
	}
	o[i] = n;
}
RUN(collatz, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL gcd(int *o, const int *a, const int *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i] + 1, y = b[i * 2] + 1;

	while (y) {
		int t = x % y;

		x = y;
		y = t;
	}
	o[i] = x;
}
RUN(gcd, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, IN)

KERNEL binary_search(int *o, const int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lo = 0, hi = n, key = a[i];

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (mid * 5 < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	o[i] = lo;
}
RUN(binary_search, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 190)

KERNEL nested_breaks(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;

	for (int k = 0; k < 20; k++) {
		if (a[i + k] % 11 == 0)
			break;
		for (int j = 0; j < k; j++) {
			if (a[i + j] & 1)
				continue;
			s += a[i + j] * k;
			if (s > 5000)
				goto out;
		}
	}
out:
	o[i] = s;
}
RUN(nested_breaks, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL do_while(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i], d = 0;

	do {
		d = d * 10 + x % 10;
		x /= 10;
	} while (x);
	o[i] = d;
}
RUN(do_while, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL prime(int *o, const int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x;

	if (i >= n)
		return;
	x = a[i];
	if (x < 2) {
		o[i] = 0;
		return;
	}
	for (int d = 2; d * d <= x; d++)
		if (x % d == 0) {
			o[i] = d;
			return;
		}
	o[i] = 1;
}
RUN(prime, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 300)

KERNEL logic(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i];

	o[i] = (x > 100 && x < 300) || (x & 7) == 3 || !(x % 5 && x % 7);
}
RUN(logic, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL exit_deep(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < 10; k++) {
		o[i] = k;
		if (a[i + k] > 700)
			EXIT();
	}
	o[i] = 99;
}
RUN(exit_deep, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL loop_over_grid(int *o, const int *a)
{
	int s = 0;

	for (unsigned int k = 0; k < gridDim.x; k++)
		s += a[k * blockDim.x + threadIdx.x] * (k == blockIdx.x ? 100 : 1);
	o[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
RUN(loop_over_grid, GRID(6, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL uneven(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;

	for (int k = 0; k < (int)(blockIdx.x * 3 + threadIdx.x % 5); k++)
		s = s * 31 + a[(i + k) & 1023];
	o[i] = s;
}
RUN(uneven, GRID(12, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL state_machine(int *o, const int *a, int steps)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0, n = 0;

	for (int k = 0; k < steps; k++) {
		int c = a[(i + k) & 4095] & 3;

		if (s == 0)
			s = c == 1 ? 1 : c == 2 ? 2 : 0;
		else if (s == 1)
			s = c == 0 ? 3 : 1;
		else if (s == 2)
			s = c == 3 ? 0 : 3;
		else {
			n++;
			s = 0;
		}
	}
	o[i] = n * 4 + s;
}
RUN(state_machine, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 50)

KERNEL insertion_sort(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v[8];

	for (int k = 0; k < 8; k++) {
		int x = a[i * 8 + k], j = k;

		while (j > 0 && v[j - 1] > x) {
			v[j] = v[j - 1];
			j--;
		}
		v[j] = x;
	}
	for (int k = 0; k < 8; k++)
		o[i * 8 + k] = v[k];
}
RUN(insertion_sort, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL fibonacci(unsigned long long *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long x = 0, y = 1;

	for (int k = a[i] % 90; k > 0; k--) {
		unsigned long long t = x + y;

		x = y;
		y = t;
	}
	o[i] = x;
}
RUN(fibonacci, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, IN)

KERNEL power_mod(int *o, const int *a, int m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, e = a[i];
	long long b = a[i + 1], r = 1;

	for (; e; e >>= 1) {
		if (e & 1)
			r = r * b % m;
		b = b * b % m;
	}
	o[i] = (int)r;
}
RUN(power_mod, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 7919)

KERNEL integer_root(int *o, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i] * a[i + 3], r = 0;

	for (int b = 1 << 15; b; b >>= 1)
		if ((long long)(r | b) * (r | b) <= x)
			r |= b;
	o[i] = r;
}
RUN(integer_root, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)
