/* Calls of MPI of many kinds, each with a check of what comes. Prints "all right" or what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, next, before, bad;

static void check(int holds, const char *what) {
    if (!holds) {
        printf("rank %d: %s is wrong\n", rank, what);
        bad = 1;
    }
}

static void ring(void) {
    static const int lengths[] = {0, 1, 100, 4096, 16384, 16385, 70000, 262144, 300000, 3000000};
    for (int k = 0; k < 10; k++) {
        int length = lengths[k], got, same = 1;
        char *out = malloc(length + 1), *in = calloc(length + 1, 1);
        MPI_Status status;
        for (int i = 0; i < length; i++)
            out[i] = (char)(i * 7 + rank + k);
        MPI_Sendrecv(out, length, MPI_BYTE, next, k, in, length, MPI_BYTE, before, k, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &got);
        for (int i = 0; i < length; i++)
            same &= in[i] == (char)(i * 7 + before + k);
        check(got == length && same, "the ring");
        free(out);
        free(in);
    }
}

static void collectives(void) {
    int value = rank == 0 ? 42 : 0, prefix, one = 1, members, sum, right = 1;
    double own = rank + 1, all;
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    check(value == 42, "the broadcast");
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(all == ranks * (ranks + 1) / 2.0, "the reduction");
    int *out = malloc(ranks * 1000 * sizeof(int)), *in = malloc(ranks * 1000 * sizeof(int));
    for (int i = 0; i < ranks * 1000; i++)
        out[i] = rank * 1000000 + i;
    MPI_Alltoall(out, 1000, MPI_INT, in, 1000, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; from++)
        for (int i = 0; i < 1000; i++)
            right &= in[from * 1000 + i] == from * 1000000 + rank * 1000 + i;
    check(right, "all to all");
    free(out);
    free(in);
    MPI_Scan(&rank, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(prefix == rank * (rank + 1) / 2, "the prefix");
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_size(half, &members);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
    check(sum == members, "the half");
    MPI_Comm_free(&half);
}

static void probes(void) {
    MPI_Status status;
    int value = 6;
    if (rank == 0) {
        for (int i = 1; i < ranks; i++) {
            int length, right = 1;
            MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &length);
            int *in = malloc(length * sizeof(int));
            MPI_Recv(in, length, MPI_INT, status.MPI_SOURCE, 5, MPI_COMM_WORLD, &status);
            for (int j = 0; j < length; j++)
                right &= in[j] == j;
            check(length == status.MPI_SOURCE && right, "what a probe found");
            free(in);
        }
    } else {
        int *out = malloc(rank * sizeof(int));
        for (int j = 0; j < rank; j++)
            out[j] = j;
        MPI_Send(out, rank, MPI_INT, 0, 5, MPI_COMM_WORLD);
        free(out);
    }
    if (rank == ranks - 1 && rank > 0)
        MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    if (rank == 0 && ranks > 1) {
        int flag = 0, in = 0;
        while (!flag)
            MPI_Iprobe(ranks - 1, 6, MPI_COMM_WORLD, &flag, &status);
        MPI_Recv(&in, 1, MPI_INT, ranks - 1, 6, MPI_COMM_WORLD, &status);
        check(in == 6, "what a loop of probes found");
    }
}

static void requests(void) {
    MPI_Request all[80], one;
    MPI_Status status;
    int in[40], out[40], value, cancelled, right = 1;
    for (int i = 0; i < 40; i++) {
        out[i] = rank * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, before, 100 + i, MPI_COMM_WORLD, &all[i]);
    }
    for (int i = 39; i >= 0; i--)
        MPI_Isend(&out[i], 1, MPI_INT, next, 100 + i, MPI_COMM_WORLD, &all[40 + i]);
    MPI_Waitall(80, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 40; i++)
        right &= in[i] == before * 100 + i;
    check(right, "40 messages in another order");
    MPI_Issend(&rank, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &one);
    MPI_Recv(&value, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &status);
    MPI_Wait(&one, &status);
    check(value == before, "the synchronous send");
    MPI_Irecv(&value, 1, MPI_INT, before, 999, MPI_COMM_WORLD, &one);
    MPI_Cancel(&one);
    MPI_Wait(&one, &status);
    MPI_Test_cancelled(&status, &cancelled);
    check(cancelled, "the cancelled receive");
}

static void datatypes(void) {
    MPI_Datatype every_third;
    MPI_Status status;
    int out[300], in[300], right = 1;
    MPI_Type_vector(100, 1, 3, MPI_INT, &every_third);
    MPI_Type_commit(&every_third);
    for (int i = 0; i < 300; i++) {
        out[i] = rank * 1000 + i;
        in[i] = -1;
    }
    MPI_Sendrecv(out, 1, every_third, next, 8, in, 1, every_third, before, 8, MPI_COMM_WORLD, &status);
    for (int i = 0; i < 300; i++)
        right &= in[i] == (i % 3 == 0 ? before * 1000 + i : -1);
    check(right, "the vector");
    MPI_Type_free(&every_third);
}

static void one_sided(void) {
    MPI_Win window;
    int *own, old, one = 1, right = 1;
    MPI_Win_allocate(ranks * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
    MPI_Win_fence(0, window);
    for (int to = 0; to < ranks; to++)
        MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < ranks; i++)
        right &= own[i] == i;
    check(right, "what was put");
    MPI_Win_fence(0, window);
    if (rank == 0)
        own[0] = 0;
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    check(rank > 0 || own[0] == ranks, "the atomic sum");
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
}

int main(int count, char **words) {
    int any, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    before = (rank + ranks - 1) % ranks;
    ring();
    collectives();
    probes();
    requests();
    datatypes();
    one_sided();
    MPI_Get_processor_name(name, &length);
    check(strlen(name) == length, "the length of the name");
    MPI_Bcast(name, sizeof name, MPI_CHAR, ranks - 1, MPI_COMM_WORLD);
    MPI_Reduce(&bad, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && !any)
        printf("all right on %d ranks, the last one on %s\n", ranks, name);
    MPI_Finalize();
    return bad;
}
