// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * User-Mode Linux computes in no simulated time. This lets time pass for what a processor does for the network, as long as the emulator's
 * profile of the host says: `processor=` has the picoseconds of each kind of work. Without the option nothing takes time.
 *
 * Work is noted where it is done. Its time passes before the next frame goes to the driver or to a socket and at copies to and from
 * processes, in steps of a microsecond or more, since each step is an exchange with the emulator.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/processor_time.h>
#include <asm/delay.h>

#define LEAST_PS 1000000UL

/* As get_options() fills it: the count first. */
static int processor_ps[1 + PROCESSOR_WORKS];
static unsigned long processor_due_ps;

static int __init set_processor(char *text)
{
	get_options(text, ARRAY_SIZE(processor_ps), processor_ps);
	return 1;
}
__setup("processor=", set_processor);

void processor_works(enum processor_work work, unsigned long count)
{
	processor_due_ps += processor_ps[1 + work] * count;
}

void processor_catches_up(void)
{
	unsigned long ns = processor_due_ps / 1000;

	if (processor_due_ps < LEAST_PS)
		return;
	/* Interrupts note more meanwhile. */
	processor_due_ps -= ns * 1000;
	time_travel_ndelay(ns);
}
