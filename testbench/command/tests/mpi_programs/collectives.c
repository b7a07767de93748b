/* Barriers, barriers that are begun, and reductions of one number: their results, their order with messages, and what they take. */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TIMES 50
/* Ranks that come late, in turn. */
#define LATE 4

static int rank, size;

/* The time, which is the same everywhere. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void check(int right, const char *what) {
    if (!right) {
        printf("rank %d: wrong: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Nobody leaves a barrier before the last one has come, also if it is only begun. */
static void barriers(int begun) {
    double begin, came, last;
    MPI_Request request;
    for (int late = 0; late < size && late < LATE; late++) {
        if (rank == late) {
            for (begin = now(); now() < begin + 0.0005;) {
            }
        }
        came = now();
        if (begun) {
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        begin = now();
        MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        check(begin >= last, "left too early");
    }
}

/* Messages go on while barriers are under way. */
static void messages(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size, token = -1, done = 0;
    MPI_Comm half;
    MPI_Request request, begun[2];
    /* A synchronous send ends when its receiver has matched it, in a barrier too. */
    MPI_Irecv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
    MPI_Ssend(&rank, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(token == before, "message in a barrier");
    /* Rank 1 begins the first of two barriers when rank 0 has found it not to have ended. */
    if (rank == 0 && size > 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &begun[0]);
        MPI_Test(&begun[0], &done, MPI_STATUS_IGNORE);
        check(!done, "barrier without rank 1");
        MPI_Send(&token, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
        if (rank == 1) {
            MPI_Recv(&token, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Ibarrier(MPI_COMM_WORLD, &begun[0]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &begun[1]);
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 0, &token, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(token == before, "message beside barriers");
    MPI_Waitall(2, begun, MPI_STATUSES_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Barrier(half);
    MPI_Comm_free(&half);
}

static void reductions(void) {
    int32_t i = rank - 1, i_sum, i_least;
    MPI_Allreduce(&i, &i_sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&i, &i_least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    check(i_sum == size * (size - 3) / 2, "sum of int");
    check(i_least == -1, "least int");
    int64_t l = -((int64_t)rank << 40) - 1, l_most;
    MPI_Allreduce(&l, &l_most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    check(l_most == -1, "largest int64_t");
    unsigned u = rank ? 1u << 31 : 5, u_most, u_or;
    MPI_Allreduce(&u, &u_most, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&u, &u_or, 1, MPI_UNSIGNED, MPI_BOR, MPI_COMM_WORLD);
    check(u_most == (size > 1 ? 1u << 31 : 5), "largest unsigned");
    check(u_or == (size > 1 ? (1u << 31) + 5 : 5), "bits of unsigned");
    double d = 0.5 + rank;
    MPI_Allreduce(MPI_IN_PLACE, &d, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(d == size * size / 2.0, "sum of double, in place");
    /* Those of the library: two numbers, and a function and a type that boards do not have. */
    double two[2] = {rank, 1}, sums[2];
    MPI_Allreduce(two, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(sums[1] == size, "two sums");
    int truth = rank + 1;
    MPI_Allreduce(MPI_IN_PLACE, &truth, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    check(truth == 1, "logical and");
    float f = 1;
    MPI_Allreduce(MPI_IN_PLACE, &f, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(f == size, "sum of float");
}

int main(int argc, char **argv) {
    double begin, barrier, reduction, one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    barrier = (now() - begin) / TIMES;
    begin = now();
    for (int i = 0; i < TIMES; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    reduction = (now() - begin) / TIMES;
    check(sum == size, "sum of ones");
    barriers(0);
    barriers(1);
    messages();
    reductions();
    if (rank == 0) {
        printf("all is right: barrier %.2f us, reduction %.2f us\n", barrier * 1e6, reduction * 1e6);
    }
    MPI_Finalize();
    return 0;
}
