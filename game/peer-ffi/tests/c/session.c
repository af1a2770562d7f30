/*
 * One player of a game in C: a counter that everybody adds to. Its host holds it, and whoever is host next goes on from it.
 *
 *     session found            founds a session and prints where it is
 *     session join ID ADDRESS  joins it
 *
 * What happens is a line on standard output; the number a line begins with is the counter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mainstay_peer.h"

static void must(MainstayStatus status, const char *what) {
    if (status != MAINSTAY_STATUS_OK) {
        fprintf(stderr, "%s: status %d\n", what, (int)status);
        exit(1);
    }
}

static void print_id(const MainstayId *id) {
    for (size_t i = 0; i < sizeof id->bytes; i++) printf("%02x", id->bytes[i]);
}

/* Waits for a second call in every stage, to show that its state is kept. */
static uint32_t listen(void *user, const MainstayId *session, MainstayStage stage, uint32_t *state,
                       const MainstayMigrating *migrating) {
    unsigned *called = user;
    (void)session;
    *called += 1;
    *state += 1;
    /* Listed twice, in both calls of the stage: it is discarded once. */
    const uint64_t old_crane = 4711;
    if (stage == MAINSTAY_STAGE_DEMOTE_TO_CLIENT)
        must(mainstay_no_longer_needed(migrating, &old_crane, 1), "no longer needed");
    return *state < 2 ? MAINSTAY_ANSWER_WAIT : MAINSTAY_ANSWER_DONE;
}

struct game {
    MainstaySeat *seat;
    uint64_t tick;
    uint64_t counter;
    int acts;
    int is_host;
};

/* As host: the next tick, which holds whatever was applied before it. */
static void step(struct game *game) {
    game->tick += 1;
    must(mainstay_seat_hold(game->seat, game->tick, MAINSTAY_KIND_SNAPSHOT, (const uint8_t *)&game->counter,
                            sizeof game->counter),
         "hold");
    must(mainstay_seat_say(game->seat, MAINSTAY_TO_MEMBERS, NULL, MAINSTAY_WAY_DATAGRAM, (const uint8_t *)&game->counter,
                           sizeof game->counter),
         "say");
}

static void hear(struct game *game, const MainstayEvent *event) {
    switch (event->kind) {
    case MAINSTAY_EVENT_KIND_ENTERED:
        must(mainstay_seat_can_be_host(game->seat, true), "can be host");
        break;
    case MAINSTAY_EVENT_KIND_LEAD:
        game->is_host = 1;
        if (event->parts_length > 0) {
            const MainstayPart *last = &event->parts[event->parts_length - 1];
            if (last->length == sizeof game->counter) memcpy(&game->counter, last->bytes, last->length);
            game->tick = last->tick;
        }
        printf("%llu leads epoch %u\n", (unsigned long long)game->counter, event->epoch);
        break;
    case MAINSTAY_EVENT_KIND_FOLLOW:
        game->is_host = 0;
        printf("%llu follows ", (unsigned long long)game->counter);
        print_id(&event->peer);
        printf(" epoch %u\n", event->epoch);
        break;
    case MAINSTAY_EVENT_KIND_ACT:
        game->acts = event->acts;
        break;
    case MAINSTAY_EVENT_KIND_CONNECTED:
        if (event->acts) {
            printf("%llu again %llu\n", (unsigned long long)game->counter, (unsigned long long)event->number);
        } else {
            must(mainstay_seat_bind_actor(game->seat, &event->peer, event->peer.bytes[0] + 1000), "bind actor");
        }
        break;
    case MAINSTAY_EVENT_KIND_DISCARD:
        printf("%llu discards %zu %llu\n", (unsigned long long)game->counter, event->entities_length,
               (unsigned long long)event->entities[0]);
        break;
    case MAINSTAY_EVENT_KIND_APPLY:
        if (event->length == 1) game->counter += event->bytes[0];
        break;
    case MAINSTAY_EVENT_KIND_DURABLE:
        break;
    case MAINSTAY_EVENT_KIND_FROM_HOST:
        if (event->length == sizeof game->counter) memcpy(&game->counter, event->bytes, event->length);
        break;
    case MAINSTAY_EVENT_KIND_MIGRATED:
        printf("%llu migrated cause %d epoch %u\n", (unsigned long long)game->counter, (int)event->cause, event->epoch);
        break;
    case MAINSTAY_EVENT_KIND_OVER:
        printf("%llu over %.*s\n", (unsigned long long)game->counter, (int)event->length, (const char *)event->bytes);
        exit(1);
    default:
        break;
    }
}

static void read_id(const char *text, MainstayId *id) {
    for (size_t i = 0; i < sizeof id->bytes; i++) {
        unsigned byte = 0;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) exit(2);
        id->bytes[i] = (uint8_t)byte;
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    MainstayPeer *peer = NULL;
    must(mainstay_peer_start("127.0.0.1:0", &peer), "start");
    MainstayId me, session;
    must(mainstay_peer_id(peer, &me), "id");
    char address[64];
    must(mainstay_peer_address(peer, address, sizeof address), "address");
    unsigned called = 0;
    MainstayOptions options = {.migratable = true, .listener = listen, .user = &called};
    struct game game = {0};
    if (argc == 2 && strcmp(argv[1], "found") == 0) {
        session = me;
        session.bytes[0] ^= 0xff;
        must(mainstay_peer_found(peer, &session, &options, &game.seat), "found");
        must(mainstay_seat_can_be_host(game.seat, true), "can be host");
    } else if (argc == 4 && strcmp(argv[1], "join") == 0) {
        const char *doors[] = {argv[3]};
        read_id(argv[2], &session);
        must(mainstay_peer_join(peer, &session, &options, doors, 1, &game.seat), "join");
    } else {
        fprintf(stderr, "usage: session found | session join ID ADDRESS\n");
        return 2;
    }
    /* What the header promises of wrong arguments. */
    if (mainstay_peer_free(peer) != MAINSTAY_STATUS_SEATS_LEFT) return 3;
    if (mainstay_seat_hold(game.seat, 1, 9, NULL, 0) != MAINSTAY_STATUS_NOT_A_CHOICE) return 3;
    if (mainstay_seat_next(NULL, 0, NULL) != MAINSTAY_STATUS_NULL_POINTER) return 3;

    printf("0 started ");
    print_id(&me);
    printf(" session ");
    print_id(&session);
    printf(" address %s\n", address);
    for (unsigned long round = 0;; round++) {
        MainstayEvent event;
        MainstayStatus status = mainstay_seat_next(game.seat, 50, &event);
        if (status == MAINSTAY_STATUS_OK) {
            hear(&game, &event);
            continue;
        }
        if (status != MAINSTAY_STATUS_NOTHING) must(status, "next");
        if (game.is_host && game.acts) step(&game);
        MainstayShown shown;
        if (mainstay_seat_shown(game.seat, &shown) != MAINSTAY_STATUS_OK) continue;
        if (round % 4 == 0) {
            const uint8_t one = 1;
            must(mainstay_seat_play(game.seat, &one, 1), "play");
        }
        printf("%llu stands host ", (unsigned long long)game.counter);
        print_id(&shown.host);
        printf(" epoch %u members %zu linked %zu next %d called %u\n", shown.epoch, shown.members, shown.linked,
               (int)shown.has_anticipated, called);
    }
}
