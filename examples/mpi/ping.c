/* Half round trips between ranks 0 and 1, by length (docs/mpi-programs.md). */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words) {
    static char bytes[1 << 20];
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int length = 0; length <= 1 << 20; length = length ? 4 * length : 1) {
        double begin = MPI_Wtime();
        for (int round = 0; round < 10; round++) {
            if (rank == 0) {
                MPI_Send(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == 1) {
                MPI_Recv(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
        }
        if (rank == 0)
            printf("%8d bytes %10.2f us\n", length, (MPI_Wtime() - begin) * 1e6 / 20);
    }
    MPI_Finalize();
}
