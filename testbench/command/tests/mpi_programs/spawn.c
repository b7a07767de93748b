/* Processes that the program starts: all together, each rank alone, one group after the other; messages to their parents and among all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 10000, TIMES = 2 };

/* Both sides sum their numbers among all, and the first of each side exchange a long message. */
static void meet(MPI_Comm others, int is_child) {
    MPI_Comm all;
    int rank, size, sum, own, peers;
    static int words[WORDS];
    MPI_Comm_rank(others, &rank);
    MPI_Comm_size(others, &own);
    MPI_Comm_remote_size(others, &peers);
    if (rank == 0 && is_child) {
        for (int at = 0; at < WORDS; at++)
            words[at] = 3 * at;
        MPI_Send(words, WORDS, MPI_INT, 0, 5, others);
    } else if (rank == 0) {
        MPI_Recv(words, WORDS, MPI_INT, 0, 5, others, MPI_STATUS_IGNORE);
        for (int at = 0; at < WORDS; at++)
            if (words[at] != 3 * at)
                MPI_Abort(MPI_COMM_WORLD, 2);
        memset(words, 0, sizeof words);
    }
    MPI_Intercomm_merge(others, is_child, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    if (size != own + peers || sum != size * (size - 1) / 2)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&others);
}

int main(int count, char **words) {
    MPI_Comm parent, children;
    int rank, size, errors[2];
    char *arguments[] = {"child", NULL};
    MPI_Init(&count, &words);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        meet(parent, 1);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int time = 0; time < TIMES; time++) {
        MPI_Comm_spawn(words[0], arguments, 2, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &children, errors);
        meet(children, 0);
    }
    /* Which rank comes first is a matter of simulated time. */
    MPI_Comm_spawn(words[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, errors);
    meet(children, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("all processes were right on %d ranks\n", size);
    MPI_Finalize();
    return 0;
}
