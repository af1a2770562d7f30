/*
 * One player of a game in C: a counter that everybody adds to. Its host holds it, and whoever is host next goes on from it.
 *
 *     session found                       founds a session and prints where it is
 *     session join ID ADDRESS             joins it
 *     session announce NAME               founds one that this LAN can find
 *     session find NAME                   joins that
 *     session open URL [CA TOKEN]         founds one in a lobby, as the player whose token is in a file, vouched for by that authority
 *     session enter ID URL [CA TOKEN]     joins that
 *     session sit ID URL CA SEAT          joins that of a match, as the player whose seat's token is in a file
 *     session offer MODE URL [CA TOKEN]   founds one in a lobby that is found by its mode
 *     session seek MODE URL [CA TOKEN]    joins whichever is found so
 *
 * With GATHERS its players gather at first, with NAT it reports that NAT type, with PREFERS_LATE its hosts are chosen by who came last.
 *
 * What happens is a line on standard output; the number a line begins with is the counter.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mainstay_peer.h"

static void must(MainstayStatus status, const char *what) {
    if (status != MAINSTAY_STATUS_OK) {
        MainstayError error;
        if (mainstay_last_error(&error) != MAINSTAY_STATUS_OK || error.status != status) exit(3);
        fprintf(stderr, "%s: status %d code [%s] %s\n", what, (int)status, error.code, error.why);
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
    MainstayMigration of;
    must(mainstay_migration_of(migrating, &of), "migration of");
    const int is_elected = stage != MAINSTAY_STAGE_INITIATE && stage != MAINSTAY_STAGE_DISCONNECT_CLIENT &&
                           stage != MAINSTAY_STAGE_TERMINATE && stage != MAINSTAY_STAGE_RESET;
    if (is_elected && (!of.is_known || memcmp(&of.from, &of.to, sizeof of.to) == 0)) exit(5);
    /* Listed twice, in both calls of the stage: it is discarded once. */
    const uint64_t old_crane = 4711;
    const MainstayStatus listed = mainstay_no_longer_needed(migrating, &old_crane, 1);
    if (stage == MAINSTAY_STAGE_DEMOTE_TO_CLIENT) must(listed, "no longer needed");
    /* Where nothing would come of it the game is told so. */
    const int is_void = !is_elected || stage == MAINSTAY_STAGE_PROMOTE_TO_SERVER;
    if (is_void && listed != MAINSTAY_STATUS_NOT_DEMOTED) exit(6);
    return *state < 2 ? MAINSTAY_ANSWER_WAIT : MAINSTAY_ANSWER_DONE;
}

/* Called once, and never again: it unregisters itself in the middle of its stage, and nobody waits for it. */
static uint32_t listen_once(void *user, const MainstayId *session, MainstayStage stage, uint32_t *state,
                            const MainstayMigrating *migrating) {
    unsigned *called = user;
    (void)session, (void)stage, (void)state;
    *called += 1;
    must(mainstay_unregister(migrating), "unregister");
    return MAINSTAY_ANSWER_WAIT;
}

/* Whoever came last would be the better host. */
static int32_t prefers_late(const MainstayHint *one, const MainstayHint *other) {
    if (one->channel.number == other->channel.number) return 0;
    return one->channel.number > other->channel.number ? -1 : 1;
}

struct game {
    MainstaySeat *seat;
    uint64_t tick;
    uint64_t counter;
    int acts;
    int is_in;
    int is_host;
    int has_asked;
    int is_answered;
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
        game->is_in = 1;
        must(mainstay_seat_can_be_host(game->seat, true), "can be host");
        must(mainstay_seat_set_upstream(game->seat, 5000000), "set upstream");
        break;
    case MAINSTAY_EVENT_KIND_LEAD:
        game->is_host = 1;
        if (event->parts_length > 0) {
            const MainstayPart *last = &event->parts[event->parts_length - 1];
            if (last->length == sizeof game->counter) memcpy(&game->counter, last->bytes, last->length);
            game->tick = last->tick;
        }
        printf("%llu leads epoch %u\n", (unsigned long long)game->counter, event->epoch);
        /* What changed is of no use before a snapshot, and the second time not after it was refused either. */
        for (int twice = 0; event->parts_length == 0 && twice < 2; twice++)
            must(mainstay_seat_hold(game->seat, 1, MAINSTAY_KIND_DELTA, NULL, 0), "hold");
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
        {
            uint64_t actor = 0;
            MainstayStatus status = mainstay_seat_actor_for_channel(game->seat, &event->channel, &actor);
            if (event->acts && (status != MAINSTAY_STATUS_OK || actor != event->number)) exit(3);
        }
        if (event->acts) {
            printf("%llu again %llu\n", (unsigned long long)game->counter, (unsigned long long)event->number);
        } else {
            must(mainstay_seat_bind_actor(game->seat, &event->peer, event->peer.bytes[0] + 1000), "bind actor");
        }
        break;
    case MAINSTAY_EVENT_KIND_NOT_TAKEN:
        printf("%llu refused %d\n", (unsigned long long)game->counter, (int)event->not_taken);
        break;
    case MAINSTAY_EVENT_KIND_BEHIND:
        /* A word came while it was about to give its state: it asks again, and its next tick holds the word. */
        if (!game->is_answered) game->has_asked = 0;
        break;
    case MAINSTAY_EVENT_KIND_NOBODY_BETTER:
        game->is_answered = 1;
        printf("%llu nobody-better\n", (unsigned long long)game->counter);
        break;
    case MAINSTAY_EVENT_KIND_PROGRESS: {
        /* The first of those it waits for. */
        const uint8_t *end = event->length == 0 ? NULL : memchr(event->bytes, '\n', event->length);
        int first = (int)(end == NULL ? event->length : (size_t)(end - event->bytes));
        printf("%llu progress stage %d runs %d left %llu waits %.*s\n", (unsigned long long)game->counter, (int)event->stage,
               (int)event->acts, (unsigned long long)event->tick, first, first == 0 ? "" : (const char *)event->bytes);
        break;
    }
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

/* A whole file as a text. */
static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 65536);
    if (file == NULL || text == NULL || fread(text, 1, 65535, file) == 0) exit(2);
    fclose(file);
    return text;
}

/* URL [CA TOKEN] */
static MainstayOnline online_of(int count, char **words) {
    MainstayOnline online = {.url = words[0]};
    if (count == 3) {
        online.authorities = read_file(words[1]);
        online.entity_token = read_file(words[2]);
    }
    return online;
}

/* Looks around until a session of that name stands. */
static void find(MainstayPeer *peer, const char *name, const MainstayOptions *options, MainstaySeat **seat) {
    MainstaySearch *search = NULL;
    must(mainstay_search_start(&search), "search");
    for (int looks = 0; *seat == NULL && looks < 100; looks++) {
        MainstayFound found[4];
        size_t length = 0;
        must(mainstay_search_list(search, 200, found, 4, &length), "list");
        for (size_t i = 0; i < length && i < 4 && *seat == NULL; i++) {
            if (strcmp(found[i].name, name) != 0 || !found[i].migratable) continue;
            MainstayStatus status = mainstay_peer_join_lan(peer, search, &found[i].session, options, seat);
            if (status != MAINSTAY_STATUS_NOTHING) must(status, "join on the LAN");
        }
    }
    must(mainstay_search_free(search), "end of the search");
}

/* The first session of a mode that a lobby lists; asks again until there is one. */
static void seek(const MainstayOnline *online, const char *mode, MainstayId *session) {
    const MainstayAttribute attributes[] = {{.name = "mode", .value = mode}};
    const MainstayWanted wanted = {.free = 1, .attributes = attributes, .attributes_length = 1};
    for (;;) {
        MainstayListing *listing = NULL;
        must(mainstay_listing_start(online, &wanted, &listing), "listing");
        MainstayListed listed;
        MainstayStatus status = mainstay_listing_next(listing, &listed);
        if (status == MAINSTAY_STATUS_OK) {
            *session = listed.session;
            char value[MAINSTAY_ATTRIBUTE_LENGTH];
            must(mainstay_listing_attribute(listing, "map", value, sizeof value), "attribute");
            printf("0 lists %s members %u size %u free %u epoch %u open %d migratable %d map %s none %d short %d\n", listed.name,
                   listed.members, listed.size, listed.free, listed.epoch, listed.open, listed.migratable, value,
                   mainstay_listing_attribute(listing, "none", value, sizeof value),
                   mainstay_listing_attribute(listing, "map", value, strlen(value)));
        } else if (status != MAINSTAY_STATUS_NOTHING) {
            must(status, "next of the listing");
        }
        must(mainstay_listing_free(listing), "end of the listing");
        if (status == MAINSTAY_STATUS_OK) return;
        /* A lobby takes 60 searches a minute. */
        const struct timespec second = {.tv_sec = 1};
        nanosleep(&second, NULL);
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    MainstayPeer *peer = NULL;
    const char *bind = getenv("BIND");
    must(mainstay_peer_start(bind == NULL ? "127.0.0.1:0" : bind, &peer), "start");
    MainstayId me, session;
    must(mainstay_peer_id(peer, &me), "id");
    char address[MAINSTAY_ADDRESS_LENGTH];
    must(mainstay_peer_address(peer, address, sizeof address), "address");
    unsigned called = 0;
    MainstayOptions options = {.migratable = true, .listener = listen, .user = &called};
    struct game game = {0};
    if (getenv("PREFERS_LATE") != NULL) {
        options.order = MAINSTAY_ORDER_GAME;
        if (mainstay_peer_found(peer, &me, &options, &game.seat) != MAINSTAY_STATUS_NULL_POINTER) return 3;
        options.compare = prefers_late;
    }
    /* Each service has its flag, on by default. */
    for (uint32_t service = MAINSTAY_SERVICE_LAN; service <= MAINSTAY_SERVICE_ONLINE; service++) {
        bool supports = false;
        must(mainstay_peer_support(peer, service, &supports), "support");
        if (!supports) return 3;
        must(mainstay_peer_set_support(peer, service, false), "set support");
        must(mainstay_peer_support(peer, service, &supports), "support");
        if (supports) return 3;
        must(mainstay_peer_set_support(peer, service, true), "set support");
    }
    if (mainstay_peer_set_support(peer, 2, true) != MAINSTAY_STATUS_NOT_A_CHOICE) return 3;
    if (argc == 2 && strcmp(argv[1], "found") == 0) {
        session = me;
        session.bytes[0] ^= 0xff;
        must(mainstay_peer_found(peer, &session, &options, &game.seat), "found");
        must(mainstay_seat_can_be_host(game.seat, true), "can be host");
    } else if (argc == 4 && strcmp(argv[1], "join") == 0) {
        const char *doors[] = {argv[3]};
        read_id(argv[2], &session);
        must(mainstay_peer_join(peer, &session, &options, doors, 1, &game.seat), "join");
    } else if (argc == 3 && strcmp(argv[1], "announce") == 0) {
        session = me;
        must(mainstay_peer_found_lan(peer, &session, argv[2], &options, &game.seat), "found on the LAN");
        must(mainstay_seat_can_be_host(game.seat, true), "can be host");
    } else if (argc == 3 && strcmp(argv[1], "find") == 0) {
        find(peer, argv[2], &options, &game.seat);
    } else if ((argc == 3 || argc == 5) && strcmp(argv[1], "open") == 0) {
        MainstayOnline online = online_of(argc - 2, argv + 2);
        bool supports = false;
        must(mainstay_lobby_support(&online, &supports), "lobby support");
        if (!supports) return 3;
        const MainstayNewSession new_session = {.name = "a game in C", .is_hidden = true};
        must(mainstay_peer_found_online(peer, &online, &new_session, &options, &game.seat), "found online");
        must(mainstay_seat_set_joining(game.seat, true), "joining");
        must(mainstay_seat_set_searchable(game.seat, true), "searchable");
        must(mainstay_seat_can_be_host(game.seat, true), "can be host");
    } else if ((argc == 4 || argc == 6) && strcmp(argv[1], "enter") == 0) {
        MainstayOnline online = online_of(argc - 3, argv + 3);
        read_id(argv[2], &session);
        must(mainstay_peer_join_online(peer, &online, &session, &options, &game.seat), "join online");
    } else if (argc == 6 && strcmp(argv[1], "sit") == 0) {
        MainstayOnline online = {.url = argv[3], .authorities = read_file(argv[4]), .seat_token = read_file(argv[5])};
        read_id(argv[2], &session);
        must(mainstay_peer_join_online(peer, &online, &session, &options, &game.seat), "join online");
    } else if ((argc == 4 || argc == 6) && strcmp(argv[1], "offer") == 0) {
        MainstayOnline online = online_of(argc - 3, argv + 3);
        const MainstayAttribute attributes[] = {{.name = "mode", .value = argv[2]}, {.name = "map", .value = "old+harbour&more"}};
        const MainstayNewSession new_session = {.name = "found-by-mode", .attributes = attributes, .attributes_length = 2};
        must(mainstay_peer_found_online(peer, &online, &new_session, &options, &game.seat), "found online");
        must(mainstay_seat_can_be_host(game.seat, true), "can be host");
    } else if ((argc == 4 || argc == 6) && strcmp(argv[1], "seek") == 0) {
        MainstayOnline online = online_of(argc - 3, argv + 3);
        seek(&online, argv[2], &session);
        must(mainstay_peer_join_online(peer, &online, &session, &options, &game.seat), "join online");
    }
    if (game.seat == NULL) {
        fprintf(stderr, "usage: see above; or nobody has found what was looked for\n");
        return 2;
    }
    must(mainstay_seat_session(game.seat, &session), "session");
    /* Listeners come and go. */
    unsigned once = 0, never = 0;
    uint32_t of_once = 0, of_never = 0;
    must(mainstay_seat_add_listener(game.seat, "once", MAINSTAY_PRIORITY_ENGINE, listen_once, &once, &of_once), "add listener");
    must(mainstay_seat_add_listener(game.seat, "never", MAINSTAY_PRIORITY_ENGINE, listen, &never, &of_never), "add listener");
    must(mainstay_seat_remove_listener(game.seat, of_never), "remove listener");
    if (mainstay_seat_remove_listener(game.seat, of_never) != MAINSTAY_STATUS_NOTHING) return 3;
    if (mainstay_seat_add_listener(game.seat, "none", 9, listen, &never, &of_never) != MAINSTAY_STATUS_NOT_A_CHOICE) return 3;
    for (int i = 2; i < 65; i++) {
        MainstayStatus status = mainstay_seat_add_listener(game.seat, "many", 0, listen, &never, &of_never);
        if (status != (i < 64 ? MAINSTAY_STATUS_OK : MAINSTAY_STATUS_TOO_MANY_LISTENERS)) return 3;
    }
    while (of_never > of_once + 1) must(mainstay_seat_remove_listener(game.seat, of_never--), "remove listener");
    must(mainstay_seat_set_phase(game.seat, getenv("GATHERS") == NULL ? MAINSTAY_PHASE_STARTED : MAINSTAY_PHASE_GATHERING), "phase");
    must(mainstay_seat_set(game.seat, "net_show_new_host_hinting", "1"), "set");
    must(mainstay_seat_set(game.seat, "net_show_host_identificiation", "1"), "set");
    if (getenv("NAT") != NULL) must(mainstay_seat_set(game.seat, "net_hostHintingNATTypeOverride", getenv("NAT")), "set");
    /* What the header promises of wrong arguments. */
    if (mainstay_seat_set_phase(game.seat, 2) != MAINSTAY_STATUS_NOT_A_CHOICE) return 3;
    if (mainstay_peer_free(peer) != MAINSTAY_STATUS_SEATS_LEFT) return 3;
    if (mainstay_seat_hold(game.seat, 1, 9, NULL, 0) != MAINSTAY_STATUS_NOT_A_CHOICE) return 3;
    if (mainstay_seat_next(NULL, 0, NULL) != MAINSTAY_STATUS_NULL_POINTER) return 3;
    MainstayOptions large = {.size = 65};
    if (mainstay_peer_found(peer, &session, &large, &game.seat) != MAINSTAY_STATUS_NOT_A_CHOICE) return 3;

    printf("0 started ");
    print_id(&me);
    printf(" session ");
    print_id(&session);
    printf(" address %s\n", address);
    /* Of the turns in which nothing was told: counted with the others, they could all be odd. */
    unsigned long quiet = 0;
    for (;;) {
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
        MainstayReach reach;
        must(mainstay_peer_reach(peer, &reach), "reach");
        if (game.is_in && quiet++ % 4 == 0) {
            const uint8_t one = 1;
            must(mainstay_seat_play(game.seat, &one, 1), "play");
        }
        MainstayMember members[64];
        size_t members_length = 0, actors = 0;
        must(mainstay_seat_members(game.seat, members, 64, &members_length), "members");
        for (size_t i = 0; i < members_length; i++) {
            actors += members[i].has_actor;
            if (members[i].is_host != (memcmp(&members[i].peer, &shown.host, sizeof shown.host) == 0) && members_length == shown.members)
                members_length = 0;
        }
        MainstayPeerHint hints[2];
        size_t hints_length = 0;
        must(mainstay_seat_hints(game.seat, hints, 2, &hints_length), "hints");
        /* As host, once there is a member: nobody is better, and what was given is held. */
        if (game.is_host && game.acts && !game.has_asked && shown.members > 1 && getenv("GATHERS") == NULL) {
            game.has_asked = 1;
            game.tick += 1;
            must(mainstay_seat_hand_over(game.seat, NULL, MAINSTAY_HANDOVER_LOBBY, game.tick, (const uint8_t *)&game.counter,
                                         sizeof game.counter),
                 "hand over");
        }
        printf("%llu stands host ", (unsigned long long)game.counter);
        print_id(&shown.host);
        printf(" epoch %u members %zu voters %zu linked %zu next %d called %u fork %u relayed %zu nat %d seen %s role %d shows %d hints %zu hinted %d counted %zu actors %zu once %u never %u sends %u holds %llu handed %llu\n", shown.epoch,
               shown.members, shown.voters, shown.linked, (int)shown.has_anticipated, called, shown.fork, shown.relayed, (int)reach.nat,
               reach.seen_as[0] == 0 ? "-" : reach.seen_as, (int)shown.role, (int)shown.shows_identification, hints_length,
               hints_length > 0 ? (int)hints[0].hint.nat : -1, members_length, actors, once, never,
               hints_length > 0 ? hints[0].hint.upstream_bps : 0, (unsigned long long)shown.holds,
               (unsigned long long)shown.handed_on);
    }
}
