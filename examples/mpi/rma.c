/* Latency of MPI_Put, MPI_Get and MPI_Fetch_and_op with a flush each, and bandwidth of many puts with one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 20, LONGEST = 1 << 20 };

int main(int count, char **words) {
    MPI_Init(&count, &words);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *memory, *own = calloc(1, LONGEST);
    MPI_Win window;
    MPI_Win_allocate(LONGEST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int bytes = 8; rank == 0 && bytes <= LONGEST; bytes *= 8) {
        double begin = MPI_Wtime();
        for (int i = 0; i < TIMES; i++) {
            MPI_Put(own, bytes, MPI_BYTE, ranks - 1, 0, bytes, MPI_BYTE, window);
            MPI_Win_flush(ranks - 1, window);
        }
        double put = MPI_Wtime();
        for (int i = 0; i < TIMES; i++) {
            MPI_Get(own, bytes, MPI_BYTE, ranks - 1, 0, bytes, MPI_BYTE, window);
            MPI_Win_flush(ranks - 1, window);
        }
        double get = MPI_Wtime();
        for (int i = 0; i < TIMES; i++)
            MPI_Put(own, bytes, MPI_BYTE, ranks - 1, 0, bytes, MPI_BYTE, window);
        MPI_Win_flush(ranks - 1, window);
        double end = MPI_Wtime();
        printf("%8d bytes  put %9.2f us  get %9.2f us  puts %7.2f MB/s\n", bytes, (put - begin) / TIMES * 1e6,
               (get - put) / TIMES * 1e6, (double)bytes * TIMES / (end - get) / 1e6);
    }
    long one = 1, old, sum = 0;
    double begin = MPI_Wtime();
    for (int i = 0; i < TIMES; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
    }
    double each = (MPI_Wtime() - begin) / TIMES * 1e6;
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1)
        printf("fetch and add  %9.2f us, with all ranks at once\n", each);
    if (rank == 0) {
        sum = *(long *)memory;
        printf("sum %ld of %d\n", sum, TIMES * ranks);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return rank == 0 && sum != (long)TIMES * ranks;
}
