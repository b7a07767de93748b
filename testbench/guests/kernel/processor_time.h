/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Simulated time of the processor for which this kernel stands; see processor_time.c. */
#ifndef _LINUX_PROCESSOR_TIME_H
#define _LINUX_PROCESSOR_TIME_H

/* What takes time, in the order of the option `processor`. */
enum processor_work {
	PROCESSOR_INTERRUPT,	/* a device's handler, from its call to its return */
	PROCESSOR_CALL,		/* a system call */
	PROCESSOR_SWITCH,	/* another process gets the processor */
	PROCESSOR_SEND,		/* a frame, from the socket to the driver */
	PROCESSOR_RECEIVE,	/* a frame, from the driver to the socket */
	PROCESSOR_COPY,		/* a byte between kernel and process */
	PROCESSOR_SUM,		/* a byte of a checksum */
	PROCESSOR_WORKS
};

/* Notes work: so many interrupts, frames, bytes. */
void processor_works(enum processor_work work, unsigned long count);
/* Lets the time of what was noted pass. */
void processor_catches_up(void);

#endif
