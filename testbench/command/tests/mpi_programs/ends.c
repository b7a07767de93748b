/* Ends that are no ends of MPI, by the first argument. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    int rank, value = 0;
    if (!strcmp(how, "without"))
        return 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "exit") && rank == 1)
        _exit(7);
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (!strcmp(how, "kill") && rank == 1)
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "fork") && fork() == 0) {
        /* The child has the real time. */
        _exit(time(NULL) > 1600000000 ? 0 : 1);
    }
    if (!strcmp(how, "finalize") && rank == 0) {
        /* The other one waits for a message of this one. */
    } else if (!strcmp(how, "fork")) {
        wait(&value);
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    } else if (!strcmp(how, "sleep")) {
        /* The others wait for what this one sends after it has slept outside. */
        if (rank == 1)
            sleep(1);
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return value ? 3 : 0;
}
