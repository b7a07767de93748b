/* Barriers of all ranks, and of some: each begins after the last one has come, and ends before any goes on. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMES 100

/* The time, which is the same everywhere. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    int rank, size, next, token = 0;
    double begin, came, last, took;
    MPI_Comm half;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    took = (now() - begin) / TIMES;
    /* Nobody leaves before the last one has come. */
    for (int late = 0; late < size; late++) {
        if (rank == late) {
            for (begin = now(); now() < begin + 0.0005;) {
            }
        }
        came = now();
        MPI_Barrier(MPI_COMM_WORLD);
        begin = now();
        MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (begin < last) {
            printf("rank %d has left %f us too early\n", rank, (last - begin) * 1e6);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    /* A synchronous send ends when its receiver has matched it, in a barrier too. */
    next = (rank + 1) % size;
    MPI_Irecv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
    MPI_Ssend(&rank, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(half);
    if (token != (rank + size - 1) % size) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) {
        printf("all barriers are right: %.2f us\n", took * 1e6);
    }
    MPI_Finalize();
    return 0;
}
