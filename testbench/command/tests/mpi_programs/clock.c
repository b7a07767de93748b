/* A rank that only reads the clock: others reach its memory and send to it meanwhile, and its time counts to the end. */

#include <mpi.h>
#include <stdio.h>

static void loop(double seconds) {
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        continue;
}

static double put(int value, MPI_Win window) {
    double begin = MPI_Wtime();
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_flush(1, window);
    return MPI_Wtime() - begin;
}

static double send(char *message, int bytes) {
    double begin = MPI_Wtime();
    MPI_Send(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

int main(int count, char **words) {
    static char message[1000];
    int rank, *memory;
    MPI_Win window;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double took[] = {put(1, window), send(message, sizeof message)};
        if (took[0] > 0.001 || took[1] > 0.001) {
            printf("put %f s, send %f s\n", took[0], took[1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    } else {
        loop(0.02);
        MPI_Recv(message, sizeof message, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    loop(0.05);
    if (rank == 0)
        printf("the clock is right\n");
    MPI_Finalize();
    return 0;
}
