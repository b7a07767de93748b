/* Computes, and again in a section that it leaves out; tells what took longer than a millisecond. */
#include <mpi.h>
#include <stdio.h>

static volatile double sum;

static void compute(long count)
{
    for (long i = 0; i < count; i++)
        sum = sum * 1.0000001 + 1e-9;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double begin = MPI_Wtime();
    compute(2000000);
    double computed = MPI_Wtime();
    MPI_Pcontrol(0);
    compute(20000000);
    MPI_Pcontrol(1);
    double end = MPI_Wtime();
    int took = computed - begin > 1e-3, rest = end - computed > computed - begin;
    printf("computation %s, what was left out %s\n", took ? "took time" : "took none",
           rest && took ? "took more" : "took less");
    MPI_Finalize();
    /* Time has begun at a small number: a double tells it to the nanosecond. */
    return begin < 0 || begin > 1e6;
}
