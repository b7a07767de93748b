/* Waits with a time limit take simulated time, in any thread. */

#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t free_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

/* The moment after half a second. */
static struct timespec *after(clockid_t clock) {
    static struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += 500000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return &time;
}

#define TAKES(wait, expected)                                                         \
    do {                                                                              \
        double begin = MPI_Wtime();                                                   \
        int found = (wait);                                                           \
        double took = MPI_Wtime() - begin;                                            \
        if (found != (expected) || took < 0.5 || took > 0.501) {                      \
            printf("%s: %d after %f s\n", #wait, found, took);                        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                             \
        }                                                                             \
    } while (0)

static void *wait_too(void *unused) {
    sem_wait(&semaphore);
    return unused;
}

static void *sleep_half(void *unused) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += 500000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    return unused;
}

static void *sleep_twice(void *unused) {
    usleep(200000);
    usleep(300000);
    return unused;
}

/* Threads sleep, and the main thread waits for them without a limit. */
static int join_sleepers(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, sleep_half, NULL);
    pthread_create(&threads[1], NULL, sleep_twice, NULL);
    pthread_create(&threads[2], NULL, sleep_half, NULL);
    for (int at = 0; at < 3; at++) {
        pthread_join(threads[at], NULL);
    }
    return 0;
}

static volatile int stops;

static void *compute(void *unused) {
    while (!stops) {
    }
    return unused;
}

/* The main thread sleeps while another one computes, which takes no time. */
static int sleep_beside_computation(void) {
    pthread_t thread;
    stops = 0;
    pthread_create(&thread, NULL, compute, NULL);
    double begin = MPI_Wtime();
    usleep(20000);
    double took = MPI_Wtime() - begin;
    stops = 1;
    pthread_join(thread, NULL);
    return took >= 0.02 && took < 0.021;
}

int main(int argc, char **argv) {
    int rank;
    pthread_t thread;
    struct timespec half = {0, 500000000};
    struct timeval interval = {0, 500000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sem_init(&semaphore, 0, 0);
    pthread_mutex_lock(&mutex);
    /* A thread that only waits makes no difference. */
    pthread_create(&thread, NULL, wait_too, NULL);
    TAKES(usleep(500000), 0);
    TAKES(nanosleep(&half, NULL), 0);
    TAKES(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, after(CLOCK_MONOTONIC), NULL), 0);
    TAKES(select(0, NULL, NULL, NULL, &interval), 0);
    TAKES(poll(NULL, 0, 500), 0);
    TAKES(sem_timedwait(&semaphore, after(CLOCK_REALTIME)), -1);
    TAKES(pthread_mutex_timedlock(&mutex, after(CLOCK_REALTIME)), ETIMEDOUT);
    TAKES(pthread_cond_timedwait(&condition, &mutex, after(CLOCK_REALTIME)), ETIMEDOUT);
    TAKES(join_sleepers(), 0);
    if (pthread_mutex_timedlock(&free_mutex, after(CLOCK_REALTIME)) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (!sleep_beside_computation()) {
        printf("a sleep beside a computation takes another time\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    clock_t begin = clock();
    while (clock() < begin + 100) {
    }
    sem_post(&semaphore);
    pthread_join(thread, NULL);
    /* One rank sleeps while the others wait for it. */
    double slept = MPI_Wtime();
    if (rank == 0) {
        sleep(1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (MPI_Wtime() - slept < 1) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) {
        printf("all waits are right\n");
    }
    MPI_Finalize();
    return 0;
}
