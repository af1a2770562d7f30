/*
 * Host migration for games that are not written in Rust.
 *
 * Ownership: what a function makes through an `out` pointer is the caller's, and is given back to the function named `..._free`
 * once. What an event points to belongs to its seat, until the next call of mainstay_seat_next or mainstay_seat_free with it.
 * Bytes and texts that are handed in are copied.
 *
 * Threads: a peer may be used from any thread, by one at a time; so may a seat. Listeners are called by mainstay_seat_next, on
 * the thread that calls it; while it is called a listener uses no seat, its own least of all, but mainstay_no_longer_needed and
 * mainstay_unregister: what it decides it does when mainstay_seat_next has returned. The library has a thread of its own, which calls
 * nothing of the game but its comparator (MAINSTAY_ORDER_GAME).
 *
 * Errors: every function that can fail answers with a MainstayStatus and leaves `out` alone where that is not OK;
 * mainstay_last_error tells why, for people, and by what code a lobby has refused. No panic
 * crosses: it becomes MAINSTAY_STATUS_PANICKED, and what it was called with is to be freed and not used any more.
 */

#ifndef MAINSTAY_PEER_H
#define MAINSTAY_PEER_H

/* Made by cbindgen from game/peer-ffi/src; tests/header.rs keeps it so. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// How long the name of a session is at most, the zero byte at its end included.
#define MAINSTAY_NAME_LENGTH 129

// How long the name of a session of a lobby is at most, the zero byte at its end included: 64 characters.
#define MAINSTAY_LISTED_NAME_LENGTH ((64 * 4) + 1)

// How long the value of an attribute is at most, the zero byte at its end included.
#define MAINSTAY_ATTRIBUTE_LENGTH 257

// How long an address is at most, the zero byte at its end included.
#define MAINSTAY_ADDRESS_LENGTH 64

// How long the code of a refusal is at most, the zero byte at its end included.
#define MAINSTAY_CODE_LENGTH 16

// How long the reason of an error is at most, the zero byte at its end included; what is longer is cut.
#define MAINSTAY_WHY_LENGTH 512

// What came of a call.
typedef enum MainstayStatus {
  // It is done.
  MAINSTAY_STATUS_OK = 0,
  // Nothing has happened in the time that was given.
  MAINSTAY_STATUS_NOTHING = 1,
  // A pointer that may not be null is.
  MAINSTAY_STATUS_NULL_POINTER = 2,
  // A text is not UTF-8.
  MAINSTAY_STATUS_NOT_TEXT = 3,
  // An address is not of the form `192.0.2.1:5555` or `[2001:db8::1]:5555`.
  MAINSTAY_STATUS_NOT_AN_ADDRESS = 4,
  // A number that stands for none of its choices.
  MAINSTAY_STATUS_NOT_A_CHOICE = 5,
  // The address is taken, or none of this machine's.
  MAINSTAY_STATUS_NOT_BOUND = 6,
  // The system gives no thread, no socket or no random bytes.
  MAINSTAY_STATUS_SYSTEM = 7,
  // A seat has 64 listeners at most.
  MAINSTAY_STATUS_TOO_MANY_LISTENERS = 8,
  // The peer is shut down.
  MAINSTAY_STATUS_CLOSING = 9,
  // Its seats are to be freed first.
  MAINSTAY_STATUS_SEATS_LEFT = 10,
  // The place for the answer is too short.
  MAINSTAY_STATUS_TOO_SHORT = 11,
  // A bug of the library: what it was called with is to be freed and not used any more.
  MAINSTAY_STATUS_PANICKED = 12,
  // The lobby refuses, and MainstayError has its code.
  MAINSTAY_STATUS_LOBBY_REFUSED = 13,
  // Nothing can be found or announced on the LAN: the system refuses multicast DNS, or a name is too long.
  MAINSTAY_STATUS_LAN = 14,
  // No lobby answers there: it may later.
  MAINSTAY_STATUS_LOBBY_UNREACHABLE = 15,
  // What answers there cannot prove that it is the lobby, and was told nothing.
  MAINSTAY_STATUS_LOBBY_UNTRUSTED = 16,
  // What answers there is no lobby.
  MAINSTAY_STATUS_NOT_A_LOBBY = 17,
  // A text holds no certificates of authorities in PEM form, or one that cannot be read.
  MAINSTAY_STATUS_NOT_AUTHORITIES = 18,
  // The lobby's address is none, or the entity token holds what no token does, such as the end of a line.
  MAINSTAY_STATUS_LOBBY_UNASKABLE = 19,
  // An attribute has a name or a value that no session of a lobby has, or there are too many.
  MAINSTAY_STATUS_NOT_AN_ATTRIBUTE = 20,
  // The peer has a seat in that session that is not over: it is to be left or freed first.
  MAINSTAY_STATUS_SEATED = 21,
  // The game has not read MAINSTAY_EVENT_KIND_ENTERED yet, or has read MAINSTAY_EVENT_KIND_OVER: there is no player.
  MAINSTAY_STATUS_NOT_IN = 22,
  // A deed or a message has more than 65,536 bytes.
  MAINSTAY_STATUS_TOO_LONG = 23,
  // Entities are listed from OnDemoteToClient until OnFinalise, by whoever is not the new host: at any other time nothing would come of it.
  MAINSTAY_STATUS_NOT_DEMOTED = 24,
} MainstayStatus;

// How others reach a peer, as far as that was found out.
typedef enum MainstayNat {
  // Nobody has found out, or the lobby has no two addresses to ask.
  MAINSTAY_NAT_UNKNOWN = 0,
  // Anybody reaches it.
  MAINSTAY_NAT_OPEN = 1,
  // Whoever it has written to reaches it.
  MAINSTAY_NAT_MODERATE = 2,
  // Only whoever it writes to, from a port that others cannot foresee.
  MAINSTAY_NAT_STRICT = 3,
} MainstayNat;

// For what a listener is called.
typedef enum MainstayStage {
  // `OnInitiate`
  MAINSTAY_STAGE_INITIATE = 0,
  // `OnDisconnectClient`
  MAINSTAY_STAGE_DISCONNECT_CLIENT = 1,
  // `OnDemoteToClient`: on whoever is not the new host.
  MAINSTAY_STAGE_DEMOTE_TO_CLIENT = 2,
  // `OnPromoteToServer`: on the new host alone.
  MAINSTAY_STAGE_PROMOTE_TO_SERVER = 3,
  // `OnReconnectClient`
  MAINSTAY_STAGE_RECONNECT_CLIENT = 4,
  // `OnFinalise`
  MAINSTAY_STAGE_FINALISE = 5,
  // `OnTerminate`
  MAINSTAY_STAGE_TERMINATE = 6,
  // `OnReset`
  MAINSTAY_STAGE_RESET = 7,
} MainstayStage;

// Why a migration began.
typedef enum MainstayCause {
  // The host has found a better one before the game began.
  MAINSTAY_CAUSE_LOBBY = 0,
  // The host has quit.
  MAINSTAY_CAUSE_CONTROLLED = 1,
  // The host is lost.
  MAINSTAY_CAUSE_CATASTROPHIC = 2,
  // This peer was host, and another has been certified meanwhile.
  MAINSTAY_CAUSE_FENCED = 3,
  // Two sides have met.
  MAINSTAY_CAUSE_MERGE = 4,
} MainstayCause;

// What happened. Which fields of a MainstayEvent hold something is said here; all others are zero, and what points to
// nothing is null.
typedef enum MainstayEventKind {
  // Nothing.
  MAINSTAY_EVENT_KIND_NOTHING = 0,
  // This peer is a member.
  MAINSTAY_EVENT_KIND_ENTERED = 1,
  // It is the host, and goes on from `parts`, in their order; without parts from what it has. `epoch`, `fork`.
  MAINSTAY_EVENT_KIND_LEAD = 2,
  // It obeys the host `peer`. `epoch`, `fork`.
  MAINSTAY_EVENT_KIND_FOLLOW = 3,
  // As host: whether the game steps on is in `acts`.
  MAINSTAY_EVENT_KIND_ACT = 4,
  // As host: the member `peer` is with it, on `channel`. `acts` says whether it plays something already, and `number` what: then no other
  // actor is made for it.
  MAINSTAY_EVENT_KIND_CONNECTED = 5,
  // As host: the member `peer` is none any more.
  MAINSTAY_EVENT_KIND_GONE = 6,
  // As host: the game up to `tick` is held by it and two others, or as many as can be host after it. Never at MAINSTAY_LEVEL_NONE.
  MAINSTAY_EVENT_KIND_DURABLE = 7,
  // As host: what `peer` did is in `bytes`; `number` counts that peer's. The next state has to hold it.
  MAINSTAY_EVENT_KIND_APPLY = 8,
  // As host: what was given as state, or asked for as handover, was not taken, for events were not read yet that it has to hold. Only
  // a snapshot is taken next.
  MAINSTAY_EVENT_KIND_BEHIND = 9,
  // As host: what was given as state is none; why is in `not_taken`, and as a text in `bytes`.
  MAINSTAY_EVENT_KIND_NOT_TAKEN = 10,
  // What this peer did as `number` is given up: too much waits.
  MAINSTAY_EVENT_KIND_INPUT_FORGOTTEN = 11,
  // The host `peer` tells another past than was heard before.
  MAINSTAY_EVENT_KIND_REWRITTEN = 12,
  // A host that no majority had confirmed is confirmed now. `epoch`, `fork`.
  MAINSTAY_EVENT_KIND_CONFIRMED = 13,
  // A migration has ended: `peer` is host now, `epoch`, `fork`; `acts` says whether that is this peer; `number` is how many
  // milliseconds it took, and `cause` why it began.
  MAINSTAY_EVENT_KIND_MIGRATED = 14,
  // A migration has failed, for a reason that is a text in `bytes` and has a `code`; `number` and `cause` as above.
  MAINSTAY_EVENT_KIND_TERMINATED = 15,
  // A console variable was not set; why is a text in `bytes`.
  MAINSTAY_EVENT_KIND_NOT_SET = 16,
  // The host says what is in `bytes`. `epoch`, `fork`.
  MAINSTAY_EVENT_KIND_FROM_HOST = 17,
  // The member `peer` says what is in `bytes`.
  MAINSTAY_EVENT_KIND_FROM_MEMBER = 18,
  // A migration is over and this peer is a client, or it was terminated: the entities in `entities` are not needed any more.
  MAINSTAY_EVENT_KIND_DISCARD = 19,
  // The session is over for this peer, for a reason that is a text in `bytes` and, but where the game left, has a `code`. Nothing comes
  // after.
  MAINSTAY_EVENT_KIND_OVER = 20,
  // As host: the game asked for a better one (mainstay_seat_hand_over), and nobody suits better; or whoever did
  // (MAINSTAY_EVENT_KIND_SOMEBODY_BETTER) does no more, or has gone. What it gave is held, if it was taken, and it goes on.
  MAINSTAY_EVENT_KIND_NOBODY_BETTER = 21,
  // How a migration goes on: told as each of its stages begins, and every second. `cause`; `acts` says whether listeners are called, and
  // `stage` for what: otherwise it waits for a new host or for its game. `number` is how many milliseconds it has taken, `tick` how many
  // it may take yet, and `bytes` are the names of the listeners that it waits for, a line each.
  MAINSTAY_EVENT_KIND_PROGRESS = 22,
  // As host: what it says carries `epoch` and `fork` from now on, and what it gave before does not count as held any more. What waits for
  // that waits for another piece: the game holds one at once, where it does not with every tick.
  MAINSTAY_EVENT_KIND_STATE_WANTED = 23,
  // As host, while players gather: `peer` suits better, and the session goes to it. The game steps no further and answers with its last
  // state (mainstay_seat_hand_over to that one, in the lobby). Where it has not within two seconds, what it held last goes along, and
  // what it did since is lost.
  MAINSTAY_EVENT_KIND_SOMEBODY_BETTER = 24,
  // As host: `number` more of what the game said is told to nobody, for too much waited already; by which `code`, and why as a text in
  // `bytes`. Told a few times a second at most.
  MAINSTAY_EVENT_KIND_NOT_SAID = 25,
  // As host of a session of a lobby: what the game said of it (`number`: 0 whether it is found, 1 whether newcomers are let in, 2 its
  // phase) is not listed so, for the lobby refused it for ten seconds; by which `code`, and why as a text in `bytes`.
  MAINSTAY_EVENT_KIND_NOT_LISTED = 26,
  // `number` more messages that the game said by MAINSTAY_WAY_STREAM do not come to `peer`, whose link has no room, or which has none; by which
  // `code`, and why as a text in `bytes`. Told once a second at most.
  MAINSTAY_EVENT_KIND_NOT_CARRIED = 27,
} MainstayEventKind;

// Why what a host's game gave is no state.
typedef enum MainstayNotTaken {
  // It was taken.
  MAINSTAY_NOT_TAKEN_TAKEN = 0,
  // With it there would be more than 256 KiB, or more than 256 parts, since the snapshot: a snapshot is to be given.
  MAINSTAY_NOT_TAKEN_TOO_LONG = 1,
  // There is no snapshot before it.
  MAINSTAY_NOT_TAKEN_NO_SNAPSHOT = 2,
  // This peer is no host whose game steps now: a snapshot is to be given when it steps again.
  MAINSTAY_NOT_TAKEN_NOT_NOW = 3,
  // The piece before it was not taken: a snapshot is to be given.
  MAINSTAY_NOT_TAKEN_GAP = 4,
  // It is of an earlier tick than the piece before it.
  MAINSTAY_NOT_TAKEN_EARLIER = 5,
} MainstayNotTaken;

// What a part of a game's state is.
typedef enum MainstayKind {
  // The whole game: nothing before it is needed.
  MAINSTAY_KIND_SNAPSHOT = 0,
  // What changed since the part before.
  MAINSTAY_KIND_DELTA = 1,
  // Something that must not be lost once it was shown.
  MAINSTAY_KIND_EVENT = 2,
} MainstayKind;

// What a peer is in a session: seed 000's "either 'HOST', 'ANTICIPATED NEW HOST' or 'MEMBER'".
typedef enum MainstayIdentification {
  // `MEMBER`
  MAINSTAY_IDENTIFICATION_MEMBER = 0,
  // `ANTICIPATED NEW HOST`
  MAINSTAY_IDENTIFICATION_ANTICIPATED_NEW_HOST = 1,
  // `HOST`
  MAINSTAY_IDENTIFICATION_HOST = 2,
} MainstayIdentification;

// What a side does that has lost its host, or its members, and has no majority.
typedef enum MainstayWithoutMajority {
  // It goes on, marked unconfirmed, and merges when the sides meet.
  MAINSTAY_WITHOUT_MAJORITY_FORK = 0,
  // It ends.
  MAINSTAY_WITHOUT_MAJORITY_END = 1,
  // It stands still and waits.
  MAINSTAY_WITHOUT_MAJORITY_HOLD = 2,
} MainstayWithoutMajority;

// By what hosts are chosen.
typedef enum MainstayOrder {
  // By NAT type, then active connections, then channel.
  MAINSTAY_ORDER_DOCUMENTED = 0,
  // As CRYENGINE 5.1 really does: by connections, ping, upstream, NAT type, channel.
  MAINSTAY_ORDER_CRYENGINE = 1,
  // As the game's own comparator says.
  MAINSTAY_ORDER_GAME = 2,
} MainstayOrder;

// How much of a game's state goes along.
typedef enum MainstayLevel {
  // The standbys are sent all of it, and nobody waits for them.
  MAINSTAY_LEVEL_ASYNCHRONOUS = 0,
  // Nothing, as in CRYENGINE: a new host goes on from what it has as a client.
  MAINSTAY_LEVEL_NONE = 1,
  // An event is told once it is held; everything else at once: what a host says by MAINSTAY_WAY_STREAM after it gave an event
  // waits until that is held, and what it says by MAINSTAY_WAY_DATAGRAM does not.
  MAINSTAY_LEVEL_DURABLE_EVENTS = 2,
  // Nothing is told before it is held: what a host says waits until what it gave before that is held.
  MAINSTAY_LEVEL_SYNCHRONOUS = 3,
} MainstayLevel;

// What a listener answers.
typedef enum MainstayAnswer {
  // All processing for this stage is complete.
  MAINSTAY_ANSWER_DONE = 0,
  // More is required: it is called again.
  MAINSTAY_ANSWER_WAIT = 1,
  // The migration shall end.
  MAINSTAY_ANSWER_VETO = 2,
} MainstayAnswer;

// To whom a game speaks.
typedef enum MainstayTo {
  // To its host.
  MAINSTAY_TO_HOST = 0,
  // As host, to every member.
  MAINSTAY_TO_MEMBERS = 1,
  // As host, to one.
  MAINSTAY_TO_MEMBER = 2,
} MainstayTo;

// How a message of the game travels.
typedef enum MainstayWay {
  // At once, and perhaps lost.
  MAINSTAY_WAY_DATAGRAM = 0,
  // Until it is there. Two messages may come in either order.
  MAINSTAY_WAY_STREAM = 1,
} MainstayWay;

// Why a host hands over.
typedef enum MainstayHandover {
  // Another is more suitable, before the game begins.
  MAINSTAY_HANDOVER_LOBBY = 0,
  // It quits.
  MAINSTAY_HANDOVER_LEAVES = 1,
} MainstayHandover;

// When a listener is called among others.
typedef enum MainstayPriority {
  // After the engine: most games.
  MAINSTAY_PRIORITY_POST_ENGINE = 0,
  // The engine.
  MAINSTAY_PRIORITY_ENGINE = 1,
  // Before it.
  MAINSTAY_PRIORITY_PRE_ENGINE = 2,
} MainstayPriority;

// How far a game is.
typedef enum MainstayPhase {
  // Its players gather.
  MAINSTAY_PHASE_GATHERING = 0,
  // They play, or are about to.
  MAINSTAY_PHASE_STARTED = 1,
} MainstayPhase;

// A lobby service.
typedef enum MainstayService {
  // `eCLS_LAN`
  MAINSTAY_SERVICE_LAN = 0,
  // `eCLS_Online`: its lobby has such a flag of its own, too (mainstay_lobby_support).
  MAINSTAY_SERVICE_ONLINE = 1,
} MainstayService;

// When another may be host of a session while its lobby still hears the last one.
typedef enum MainstayTakeover {
  // Once more than half of all members miss it.
  MAINSTAY_TAKEOVER_FAST = 0,
  // Not before its lease has run out: for what has lasting effects.
  MAINSTAY_TAKEOVER_STRICT = 1,
} MainstayTakeover;

// A search of a lobby.
typedef struct MainstayListing MainstayListing;

// A migration, as long as its listener is called.
typedef struct MainstayMigrating MainstayMigrating;

// One life of one process: a key, one UDP socket and a thread.
typedef struct MainstayPeer MainstayPeer;

// A look around on the LAN, which goes on until it is freed.
typedef struct MainstaySearch MainstaySearch;

// A place in one session.
typedef struct MainstaySeat MainstaySeat;

// A peer or a session: 16 bytes, compared byte by byte.
typedef struct MainstayId {
  // The bytes.
  uint8_t bytes[16];
} MainstayId;

// A session that somebody on this LAN hosts.
typedef struct MainstayFound {
  // Which.
  struct MainstayId session;
  // Its host.
  struct MainstayId host;
  // How many hosts it has had.
  uint32_t epoch;
  // How many since then without a majority.
  uint32_t fork;
  // How many play.
  uint32_t members;
  // How many it has at most.
  uint32_t size;
  // Whether it goes on with another host.
  bool migratable;
  // Whether newcomers are not let in (mainstay_seat_set_joining).
  bool is_closed;
  // For people: UTF-8, with a zero byte at its end.
  char name[MAINSTAY_NAME_LENGTH];
} MainstayFound;

// The network channel of a member: nobody else's, in whatever session of whatever host.
typedef struct MainstayChannel {
  // How many hosts the session had when it was given.
  uint32_t epoch;
  // How many since then without a majority.
  uint32_t fork;
  // Which of that host's.
  uint32_t number;
} MainstayChannel;

// What a peer tells of itself as a host.
typedef struct MainstayHint {
  // Its channel: what decides between equals.
  struct MainstayChannel channel;
  // Whether it may be host at all.
  bool can_be_host;
  // How others reach it.
  enum MainstayNat nat;
  // How many peers it has a live link to; 255 stands for more.
  uint8_t connections;
  // The mean round trip to them, in milliseconds; 65,535 where nobody has measured.
  uint16_t ping_ms;
  // What it can send, in bits a second; 0 where nobody has measured.
  uint32_t upstream_bps;
} MainstayHint;

// A game's own order: below 0 where the first would be the better host, above 0 where the second would, 0 where they are alike: then the
// channel tells them apart. It has to be total, to read nothing but its arguments, and to be the same on every peer. It is called
// by the library's own thread, at any time until the process ends, and may call nothing of the library.
typedef int32_t (*MainstayCompare)(const struct MainstayHint *one, const struct MainstayHint *other);

// Called by mainstay_seat_next for each stage, with what was registered as `user`. `state` is 0 the first time in a stage,
// and kept until the answer is MAINSTAY_ANSWER_DONE. Answers a MainstayAnswer; any other number is a veto.
typedef uint32_t (*MainstayListener)(void *user,
                                     const struct MainstayId *session,
                                     enum MainstayStage stage,
                                     uint32_t *state,
                                     const struct MainstayMigrating *migrating);

// What a session is, as whoever founds it says. All zero is what seed 000 describes, but not migratable. Whoever joins goes by what its host
// says, whatever its own options say: of those only MAINSTAY_ORDER_GAME with its number has to be the session's, or it is not let in
// (`MS-S246`). Which counts says mainstay_seat_terms.
typedef struct MainstayOptions {
  // Whether it goes on with another host (`CRYSESSION_CREATE_FLAG_MIGRATABLE`).
  bool migratable;
  // A MainstayWithoutMajority.
  uint32_t without_majority;
  // A MainstayOrder.
  uint32_t order;
  // For MAINSTAY_ORDER_GAME; else not read.
  MainstayCompare compare;
  // Which comparator that is: the number alone is told to others, and who has another is not let in. Else not read.
  uint32_t compare_number;
  // A MainstayLevel.
  uint32_t level;
  // How many members it has at most, up to 64; 0 is 64.
  uint32_t size;
  // Called for each stage of a migration; may be null.
  MainstayListener listener;
  // What the listener is called with. It has to outlive the seat.
  void *user;
} MainstayOptions;

// What is known of a migration while it runs (seed 000's `SHostMigrationInfo`).
typedef struct MainstayMigration {
  // Why it began.
  enum MainstayCause cause;
  // How often it was reset.
  uint32_t resets;
  // Under whom the game was played until then.
  struct MainstayId from;
  // Whether it is known under whom it goes on: from OnDemoteToClient or OnPromoteToServer on at the latest, until that one is lost, too.
  bool is_known;
  // Under whom, where it is known; else zeros.
  struct MainstayId to;
} MainstayMigration;

// Where a lobby is, and as whom this process comes to it. All zero but `url` is a player without a name, in a lobby that whomever this
// system trusts vouches for.
typedef struct MainstayOnline {
  // Its address, such as `https://games.example:7700`; `http` is answered to callers on the lobby's own host alone.
  const char *url;
  // Certificates in PEM form of who alone vouches for it: a studio's own authority, or `tls/ca.pem` of a control plane's data
  // directory. Null for whomever this system trusts.
  const char *authorities;
  // What a login of PlayFab's face gave this player (`EntityToken`): a lobby that other hosts reach asks for it. Null for none.
  const char *entity_token;
  // For a session that a match has made: the token of this player's seat in it, which the studio's service reads and hands on; it is
  // shown instead of the entity token. Null for none.
  const char *seat_token;
  // Whose process this is: read by lobbies that ask nobody for credentials. Null for a name that nobody else has.
  const char *player;
  // How others reach this peer, such as `192.0.2.1:5555`; without any, the address that the lobby's STUN responder sees it at, and
  // the one that it reaches the lobby from.
  const char *const *addresses;
  // How many.
  size_t addresses_length;
} MainstayOnline;

// What sessions of a lobby are found by, such as `mode` and `capture`.
typedef struct MainstayAttribute {
  // 1 to 64 letters, digits and `_ - .`.
  const char *name;
  // 256 bytes at most, without control characters.
  const char *value;
} MainstayAttribute;

// What a session is to be like. All zero is any, be it full or closed.
typedef struct MainstayWanted {
  // With room for so many more; 0 finds full and closed ones, too.
  uint32_t free;
  // With each of these attributes.
  const struct MainstayAttribute *attributes;
  // How many, 16 at most.
  size_t attributes_length;
} MainstayWanted;

// A session that a lobby lists, as it stood then. mainstay_peer_join_online joins it.
typedef struct MainstayListed {
  // Which.
  struct MainstayId session;
  // How many hosts it has had.
  uint32_t epoch;
  // How many play.
  uint32_t members;
  // How many it has at most.
  uint32_t size;
  // How many more there is room for: seats of players who are on their way are taken.
  uint32_t free;
  // Whether newcomers are let in, and not only those whom a match brings.
  bool open;
  // Whether it goes on with another host.
  bool migratable;
  // For people: UTF-8, with a zero byte at its end.
  char name[MAINSTAY_LISTED_NAME_LENGTH];
} MainstayListed;

// A session as it is made in a lobby. All zero but `name` is one that everybody finds and may come into.
typedef struct MainstayNewSession {
  // For people, 64 characters at most.
  const char *name;
  // What others find it by (mainstay_listing_start).
  const struct MainstayAttribute *attributes;
  // How many, 16 at most.
  size_t attributes_length;
  // Whether only whoever was told of it comes (mainstay_seat_set_searchable).
  bool is_hidden;
  // Whether newcomers are not let in (mainstay_seat_set_joining).
  bool is_closed;
  // A MainstayTakeover.
  uint32_t takeover;
} MainstayNewSession;

// How others see a peer.
typedef struct MainstayReach {
  // How strictly its router translates.
  enum MainstayNat nat;
  // At which address, with a zero byte at its end; empty where nothing has answered.
  char seen_as[MAINSTAY_ADDRESS_LENGTH];
} MainstayReach;

// One part of a game's state.
typedef struct MainstayPart {
  // What it is.
  enum MainstayKind kind;
  // Of which tick.
  uint64_t tick;
  // What the host gave.
  const uint8_t *bytes;
  // How many.
  size_t length;
} MainstayPart;

// What happened. What it points to lasts until the next call of mainstay_seat_next or mainstay_seat_free with its seat.
typedef struct MainstayEvent {
  // What.
  enum MainstayEventKind kind;
  // See `kind`.
  struct MainstayId peer;
  // How many hosts the session has had.
  uint32_t epoch;
  // How many since then without a majority; 0 of a certified host.
  uint32_t fork;
  // See `kind`.
  bool acts;
  // See `kind`.
  enum MainstayCause cause;
  // See `kind`.
  enum MainstayStage stage;
  // See `kind`.
  enum MainstayNotTaken not_taken;
  // See `kind`: such as `MS-S230` (docs/reference/error-codes.md). Ends with a zero byte.
  char code[MAINSTAY_CODE_LENGTH];
  // See `kind`.
  struct MainstayChannel channel;
  // See `kind`.
  uint64_t number;
  // See `kind`.
  uint64_t tick;
  // See `kind`.
  const uint8_t *bytes;
  // How many.
  size_t length;
  // See `kind`.
  const struct MainstayPart *parts;
  // How many.
  size_t parts_length;
  // See `kind`.
  const uint64_t *entities;
  // How many.
  size_t entities_length;
} MainstayEvent;

// How things stand.
typedef struct MainstayShown {
  // Whether this peer is the host.
  bool is_host;
  // What it is.
  enum MainstayIdentification role;
  // Whether that is to be drawn: `net_show_host_identificiation` is on.
  bool shows_identification;
  // Whom it obeys.
  struct MainstayId host;
  // How many hosts the session has had.
  uint32_t epoch;
  // How many since then without a majority.
  uint32_t fork;
  // Whether this peer is the host and no majority, nor the lobby, is behind it, as it has heard lately.
  bool is_unconfirmed;
  // Whether somebody could be host next.
  bool has_anticipated;
  // Who, if somebody could.
  struct MainstayId anticipated;
  // How many members there are, this peer included.
  size_t members;
  // How many of them have a say in who is host next: whoever has just come has none for some tenths of a second, and if the host is lost
  // meanwhile, who is left may be no majority. Under a lobby all of them.
  size_t voters;
  // To how many of them it has a link.
  size_t linked;
  // To how many of those only through the lobby's relay.
  size_t relayed;
  // How far this peer has its host's game: the tick of the newest state that it holds. As host its own.
  uint64_t holds;
  // How many bytes of the game it has sent others to hold so far, mostly as host to its standbys: before they are encrypted, and without headers.
  uint64_t handed_on;
} MainstayShown;

// What a session was made with, and goes by whoever is host.
typedef struct MainstayTerms {
  // Whether it goes on with another host.
  bool migratable;
  // What its sides do that have no majority.
  enum MainstayWithoutMajority without_majority;
  // By what hosts are chosen.
  enum MainstayOrder order;
  // Which comparator, for MAINSTAY_ORDER_GAME; else 0.
  uint32_t compare_number;
  // How much of the game goes along.
  enum MainstayLevel level;
  // How many members it has at most.
  uint32_t size;
} MainstayTerms;

// A member of a session.
typedef struct MainstayMember {
  // Who.
  struct MainstayId peer;
  // On which channel.
  struct MainstayChannel channel;
  // Whether it is the host.
  bool is_host;
  // Whether the game has given it an actor (mainstay_seat_bind_actor).
  bool has_actor;
  // Which, if it has.
  uint64_t actor;
} MainstayMember;

// What one of the others tells of itself.
typedef struct MainstayPeerHint {
  // Who.
  struct MainstayId peer;
  // What.
  struct MainstayHint hint;
} MainstayPeerHint;

// Why a call came to nothing.
typedef struct MainstayError {
  // What the call answered; MAINSTAY_STATUS_OK where none has failed on this thread yet.
  enum MainstayStatus status;
  // By what code the lobby has refused, such as `MS-G007` (docs/reference/error-codes.md); otherwise empty. Ends with a zero byte.
  char code[MAINSTAY_CODE_LENGTH];
  // For people: what, where and why, in UTF-8, with a zero byte at its end.
  char why[MAINSTAY_WHY_LENGTH];
} MainstayError;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Begins to look around on the LAN.
//
// # Safety
// `out` is a place for a pointer.
enum MainstayStatus mainstay_search_start(struct MainstaySearch **out);

// Looks for so many milliseconds more, and tells which sessions stand: `length` is how many there are, of which the first `capacity`
// are put at `out`. Two seconds find whoever is there.
//
// # Safety
// `search` is not freed and used by nobody else meanwhile, `out` has room for `capacity` sessions, `length` for a number.
enum MainstayStatus mainstay_search_list(struct MainstaySearch *search,
                                         uint32_t patience_ms,
                                         struct MainstayFound *out,
                                         size_t capacity,
                                         size_t *length);

// Ends a look around. Null is freed already.
//
// # Safety
// `search` is null, or of mainstay_search_start and not freed.
enum MainstayStatus mainstay_search_free(struct MainstaySearch *search);

// Founds a session that everybody on this LAN can find, whoever of those who came by mainstay_peer_join_lan is its host. `name` has at
// most 128 bytes. Where the LAN's service does not support migration (mainstay_peer_set_support) it does not move.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed, `name` a text that ends with a zero byte; the others point to what their types say.
enum MainstayStatus mainstay_peer_found_lan(const struct MainstayPeer *peer,
                                            const struct MainstayId *session,
                                            const char *name,
                                            const struct MainstayOptions *options,
                                            struct MainstaySeat **out);

// Joins a session that this look around has found: MAINSTAY_STATUS_NOTHING where it stands no more. What it was made with counts,
// whatever `options` say.
//
// # Safety
// `peer` is of mainstay_peer_start and `search` of mainstay_search_start, neither freed, and `search` used by nobody else meanwhile; the
// others point to what their types say.
enum MainstayStatus mainstay_peer_join_lan(const struct MainstayPeer *peer,
                                           struct MainstaySearch *search,
                                           const struct MainstayId *session,
                                           const struct MainstayOptions *options,
                                           struct MainstaySeat **out);

// While a listener is called: what is known of the migration.
//
// # Safety
// `migrating` is what the listener was called with, which has not returned; `out` is a place for it.
enum MainstayStatus mainstay_migration_of(const struct MainstayMigrating *migrating, struct MainstayMigration *out);

// While OnDemoteToClient runs, and then until OnFinalise has returned: "entities that will no longer be needed post-migration". They come back
// as MAINSTAY_EVENT_KIND_DISCARD, each once; of more than 65,536 the later ones are forgotten. In any other stage, and on the new host,
// MAINSTAY_STATUS_NOT_DEMOTED.
//
// # Safety
// `migrating` is what the listener was called with, which has not returned; `entities` points to `length` of them.
enum MainstayStatus mainstay_no_longer_needed(const struct MainstayMigrating *migrating,
                                              const uint64_t *entities,
                                              size_t length);

// While a listener is called: it unregisters itself. It is called no more once it has returned, whatever it answers, and nobody waits for it.
//
// # Safety
// `migrating` is what the listener was called with, which has not returned.
enum MainstayStatus mainstay_unregister(const struct MainstayMigrating *migrating);

// Registers a listener while a session runs (`AddHostMigrationEventListener`): it is called from the next migration on, and one that runs
// goes on without it. `name` is for people, `priority` a MainstayPriority; `out` is what it is removed by. There are 64 at most:
// MAINSTAY_STATUS_TOO_MANY_LISTENERS.
//
// # Safety
// `seat` is not freed and used by nobody else meanwhile, `name` a text that ends with a zero byte, `out` a place for a number; `user` goes
// with `listener` and outlives it.
enum MainstayStatus mainstay_seat_add_listener(struct MainstaySeat *seat,
                                               const char *name,
                                               uint32_t priority,
                                               MainstayListener listener,
                                               void *user,
                                               uint32_t *out);

// Unregisters a listener (`RemoveHostMigrationEventListener`): it is called no more, nobody waits for it, and its `user` may be freed. Not to
// be called by a listener: that one uses mainstay_unregister. Where there is none of that number, MAINSTAY_STATUS_NOTHING. The one that a seat
// was taken with has number 0.
//
// # Safety
// `seat` is not freed and used by nobody else meanwhile.
enum MainstayStatus mainstay_seat_remove_listener(struct MainstaySeat *seat,
                                                  uint32_t listener);

// Begins to search a lobby for sessions that were made with mainstay_peer_found_online. Nothing is asked before
// mainstay_listing_next.
//
// # Safety
// `online` and `wanted` point to what their types say, `out` is a place for a pointer.
enum MainstayStatus mainstay_listing_start(const struct MainstayOnline *online,
                                           const struct MainstayWanted *wanted,
                                           struct MainstayListing **out);

// The next session that fits, in no order that means anything: MAINSTAY_STATUS_NOTHING once all were told. Waits for the lobby, some
// seconds at most, where it has to be asked for more. What failed may be asked again.
//
// # Safety
// `listing` is of mainstay_listing_start, not freed and used by nobody else meanwhile, `out` a place for a session.
enum MainstayStatus mainstay_listing_next(struct MainstayListing *listing,
                                          struct MainstayListed *out);

// An attribute of the session that mainstay_listing_next told last, as a text that ends with a zero byte: MAINSTAY_ATTRIBUTE_LENGTH is
// always enough. MAINSTAY_STATUS_NOTHING where it has no such attribute.
//
// # Safety
// `listing` is of mainstay_listing_start and not freed, `name` a text that ends with a zero byte, `out` a place for `length` bytes.
enum MainstayStatus mainstay_listing_attribute(const struct MainstayListing *listing,
                                               const char *name,
                                               char *out,
                                               size_t length);

// Ends a search. Null is freed already.
//
// # Safety
// `listing` is null, or of mainstay_listing_start and not freed.
enum MainstayStatus mainstay_listing_free(struct MainstayListing *listing);

// Whether sessions of that lobby move: its own flag `eCLSF_SupportHostMigration`, which who runs it sets. Waits for its answer.
//
// # Safety
// `online` points to what its type says, `out` is a place for the answer.
enum MainstayStatus mainstay_lobby_support(const struct MainstayOnline *online,
                                           bool *out);

// Makes a session in a lobby, of which this peer is the first host: mainstay_seat_session says which, for the lobby makes its id. Where the
// online service or the lobby does not support migration it does not move. Waits for the lobby's answers, some seconds at most.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed; the others point to what their types say.
enum MainstayStatus mainstay_peer_found_online(const struct MainstayPeer *peer,
                                               const struct MainstayOnline *online,
                                               const struct MainstayNewSession *new_session,
                                               const struct MainstayOptions *options,
                                               struct MainstaySeat **out);

// Joins a session of a lobby: one that somebody has made there, or a match's, whose id is the match's. It has what it was made with,
// whatever `options` say. One that is on its way to another host is waited for, 15 s at most. A match's has no
// host at first: whichever of its players the lobby hears first is it, and is told MAINSTAY_EVENT_KIND_LEAD without parts.
// MAINSTAY_EVENT_KIND_ENTERED says that it is in.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed; the others point to what their types say.
enum MainstayStatus mainstay_peer_join_online(const struct MainstayPeer *peer,
                                              const struct MainstayOnline *online,
                                              const struct MainstayId *session,
                                              const struct MainstayOptions *options,
                                              struct MainstaySeat **out);

// Makes a key, binds a UDP socket at an address such as `0.0.0.0:0`, and starts a thread.
//
// # Safety
// `bind` is a text that ends with a zero byte, `out` a place for a pointer.
enum MainstayStatus mainstay_peer_start(const char *bind, struct MainstayPeer **out);

// Tells every other peer that this one goes, waits until that is sent, and frees it. Its seats are to be freed before: while
// one is left nothing happens, and the answer is MAINSTAY_STATUS_SEATS_LEFT. Null is freed already.
//
// # Safety
// `peer` is null, or of mainstay_peer_start and not freed.
enum MainstayStatus mainstay_peer_free(struct MainstayPeer *peer);

// Who this peer is.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed, `out` a place for an id.
enum MainstayStatus mainstay_peer_id(const struct MainstayPeer *peer, struct MainstayId *out);

// Where its socket is, as a text that ends with a zero byte: MAINSTAY_ADDRESS_LENGTH is always enough.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed, `out` a place for `length` bytes.
enum MainstayStatus mainstay_peer_address(const struct MainstayPeer *peer, char *out, size_t length);

// Whether sessions of a service move (`GetLobbyServiceFlag(..., eCLSF_SupportHostMigration)`), as this process has it: they do until
// mainstay_peer_set_support says otherwise. `service` is a MainstayService.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed, `out` a place for the answer.
enum MainstayStatus mainstay_peer_support(const struct MainstayPeer *peer,
                                          uint32_t service,
                                          bool *out);

// Sets it, also for what is played: where it is false, no session moves there whose host this peer is, and it does not go along where
// another host's moves. What it founds meanwhile is made so that it never does.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed.
enum MainstayStatus mainstay_peer_set_support(const struct MainstayPeer *peer,
                                              uint32_t service,
                                              bool supports);

// How others see this peer, and how strictly its router translates: known some seconds after it entered a session of a lobby that
// answers STUN, and as long as it runs.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed, `out` a place for the answer.
enum MainstayStatus mainstay_peer_reach(const struct MainstayPeer *peer,
                                        struct MainstayReach *out);

// Founds a session: this peer is its first host.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed; the others point to what their types say.
enum MainstayStatus mainstay_peer_found(const struct MainstayPeer *peer,
                                        const struct MainstayId *session,
                                        const struct MainstayOptions *options,
                                        struct MainstaySeat **out);

// Joins a session of which some member can be reached at one of these addresses. MAINSTAY_EVENT_KIND_ENTERED says that it is in.
//
// # Safety
// `peer` is of mainstay_peer_start and not freed, `doors` points to `doors_length` texts, each ending with a zero byte; the others
// point to what their types say.
enum MainstayStatus mainstay_peer_join(const struct MainstayPeer *peer,
                                       const struct MainstayId *session,
                                       const struct MainstayOptions *options,
                                       const char *const *doors,
                                       size_t doors_length,
                                       struct MainstaySeat **out);

// Leaves the session, and frees the seat. A host that wants no gap hands over first. Null is freed already.
//
// # Safety
// `seat` is null, or of a function that takes a seat and not freed.
enum MainstayStatus mainstay_seat_free(struct MainstaySeat *seat);

// What happened next, waiting for it so many milliseconds: MAINSTAY_STATUS_NOTHING if nothing did. Calls listeners.
//
// # Safety
// `seat` is not freed and used by nobody else meanwhile, `out` a place for an event.
enum MainstayStatus mainstay_seat_next(struct MainstaySeat *seat, uint32_t patience_ms, struct MainstayEvent *out);

// Which session: of one that was founded in a lobby the id that the lobby gave it, which others join by.
//
// # Safety
// `seat` is not freed, `out` a place for an id.
enum MainstayStatus mainstay_seat_session(const struct MainstaySeat *seat, struct MainstayId *out);

// Says whether this peer may be host of the session (`HOST_MIGRATION_CAN_BE_HOST`); before it is said, it may not. Said before
// MAINSTAY_EVENT_KIND_ENTERED, it counts from then on.
//
// # Safety
// `seat` is not freed.
enum MainstayStatus mainstay_seat_can_be_host(const struct MainstaySeat *seat,
                                              bool can);

// What this player can send, in bits a second, of which the order of CRYENGINE 5.1 and the game's own make use. Nothing measures it: a link
// shows what it carries only when it is full. 0, as it is until it is said, takes it back. Each change is told to everybody. Said before
// MAINSTAY_EVENT_KIND_ENTERED, it counts from then on.
//
// # Safety
// `seat` is not freed.
enum MainstayStatus mainstay_seat_set_upstream(const struct MainstaySeat *seat,
                                               uint32_t bits_per_second);

// How far this peer's game is, a MainstayPhase; before it says so it has started. While players gather the host gives the session, by itself,
// to whoever suits better: after 10 s in which nobody came or went, at most once in 30 s, and not while net_automigrate_host is 0 where it
// is. Each peer's game says it, for whoever is host goes by its own. In a lobby the session's phase is the host's.
//
// # Safety
// `seat` is not freed.
enum MainstayStatus mainstay_seat_set_phase(const struct MainstaySeat *seat,
                                            uint32_t phase);

// As host of a session of a lobby: whether searches find it. What others say is not heard.
//
// # Safety
// `seat` is not freed.
enum MainstayStatus mainstay_seat_set_searchable(const struct MainstaySeat *seat, bool searchable);

// As host: whether newcomers are let in, such as into a game that goes on; they are until it is said. In a lobby only the host is heard, and
// what it said stands under the next one. Elsewhere each peer's game says it, for whoever is host goes by its own; who was a member comes
// back all the same.
//
// # Safety
// `seat` is not freed.
enum MainstayStatus mainstay_seat_set_joining(const struct MainstaySeat *seat,
                                              bool open);

// Sets a console variable by its name. A wrong name or value comes back as MAINSTAY_EVENT_KIND_NOT_SET. Said before
// MAINSTAY_EVENT_KIND_ENTERED, it counts from then on.
//
// # Safety
// `seat` is not freed, `name` and `value` are texts that end with a zero byte.
enum MainstayStatus mainstay_seat_set(const struct MainstaySeat *seat, const char *name, const char *value);

// This peer's game does something: it goes to the host, whoever that is, until a state holds it, and comes out there as
// MAINSTAY_EVENT_KIND_APPLY, once and in its order, after the host's game has given a state (mainstay_seat_hold, at whatever level): a game
// that gives none is told of no deed. Before MAINSTAY_EVENT_KIND_ENTERED is read and after MAINSTAY_EVENT_KIND_OVER is, the answer is
// MAINSTAY_STATUS_NOT_IN; of more than 65,536 bytes MAINSTAY_STATUS_TOO_LONG.
//
// # Safety
// `seat` is not freed, `bytes` points to `length` of them.
enum MainstayStatus mainstay_seat_play(const struct MainstaySeat *seat,
                                       const uint8_t *bytes,
                                       size_t length);

// As host: the game is so far, and holds every MAINSTAY_EVENT_KIND_APPLY that was read. `kind` is a MainstayKind; the first state of a
// host is a snapshot, and so is the next after one that was not taken, and after 256 parts or 256 KiB.
//
// # Safety
// `seat` is not freed, `bytes` points to `length` of them.
enum MainstayStatus mainstay_seat_hold(const struct MainstaySeat *seat,
                                       uint64_t tick,
                                       uint32_t kind,
                                       const uint8_t *bytes,
                                       size_t length);

// As host: another shall be it: `to`, or the best where that is null; in the lobby that is only who suits better than this host, and otherwise,
// or where `to` cannot be it any more, MAINSTAY_EVENT_KIND_NOBODY_BETTER comes. `why` is a MainstayHandover; `bytes` are the whole game at its last tick.
//
// # Safety
// `seat` is not freed, `to` is null or points to an id, `bytes` points to `length` of them.
enum MainstayStatus mainstay_seat_hand_over(const struct MainstaySeat *seat,
                                            const struct MainstayId *to,
                                            uint32_t why,
                                            uint64_t tick,
                                            const uint8_t *bytes,
                                            size_t length);

// Says something of the game's own, for which nobody keeps anything: at most 65,536 bytes. `to` is a MainstayTo, `peer` who is meant by
// MAINSTAY_TO_MEMBER and else not read, `way` a MainstayWay. What a host says waits as the session's MainstayLevel says, 4,096 messages and
// 4 MiB at most: more is not sent, and MAINSTAY_EVENT_KIND_NOT_SAID tells so. What a member says to its host by MAINSTAY_WAY_STREAM waits while there is
// none, and is said to the next where the host gives the session away before its game has read it: 1,024 messages and 2 MiB. For each link 1,024 messages by MAINSTAY_WAY_STREAM wait, and
// 2 MiB: more is not sent there, and MAINSTAY_EVENT_KIND_NOT_CARRIED tells so.
//
// # Safety
// `seat` is not freed, `peer` points to an id where it is read, `bytes` points to `length` of them.
enum MainstayStatus mainstay_seat_say(const struct MainstaySeat *seat,
                                      uint32_t to,
                                      const struct MainstayId *peer,
                                      uint32_t way,
                                      const uint8_t *bytes,
                                      size_t length);

// As host: gives a member its actor, by a number of the game's own. Whoever is host next hears it with MAINSTAY_EVENT_KIND_CONNECTED.
//
// # Safety
// `seat` is not freed, `peer` points to an id.
enum MainstayStatus mainstay_seat_bind_actor(const struct MainstaySeat *seat,
                                             const struct MainstayId *peer,
                                             uint64_t actor);

// As host: throws somebody out.
//
// # Safety
// `seat` is not freed, `peer` points to an id.
enum MainstayStatus mainstay_seat_kick(const struct MainstaySeat *seat, const struct MainstayId *peer);

// Leaves; MAINSTAY_EVENT_KIND_OVER says when it has.
//
// # Safety
// `seat` is not freed.
enum MainstayStatus mainstay_seat_leave(const struct MainstaySeat *seat);

// How things stand: MAINSTAY_STATUS_NOTHING while this peer is no member.
//
// # Safety
// `seat` is not freed, `out` a place for the answer.
enum MainstayStatus mainstay_seat_shown(const struct MainstaySeat *seat, struct MainstayShown *out);

// What the session was made with, and goes by whoever is host: its founder's options, not this peer's. MAINSTAY_STATUS_NOTHING while this peer
// is no member.
//
// # Safety
// `seat` is not freed, `out` a place for the answer.
enum MainstayStatus mainstay_seat_terms(const struct MainstaySeat *seat,
                                        struct MainstayTerms *out);

// Who plays: `length` is how many there are, of whom the first `capacity` are put at `out`; a session has 64 at most.
// MAINSTAY_STATUS_NOTHING while this peer is no member.
//
// # Safety
// `seat` is not freed, `out` has room for `capacity` members, `length` for a number.
enum MainstayStatus mainstay_seat_members(const struct MainstaySeat *seat,
                                          struct MainstayMember *out,
                                          size_t capacity,
                                          size_t *length);

// The hint list, while `net_show_new_host_hinting` is on; none while it is off. Seed 000: a host has "a hint for every client in the game
// (excluding themselves), and each client will have a hint for each peer connected client (excluding themselves and the host)". `length` is
// how many there are, of which the first `capacity` are put at `out`.
//
// # Safety
// `seat` is not freed, `out` has room for `capacity` hints, `length` for a number.
enum MainstayStatus mainstay_seat_hints(const struct MainstaySeat *seat,
                                        struct MainstayPeerHint *out,
                                        size_t capacity,
                                        size_t *length);

// Seed 000's `SetChannelForMigratingPlayer`: the actor that plays on that channel. MAINSTAY_STATUS_NOTHING where none was given to it.
//
// # Safety
// `seat` is not freed, `channel` points to one, `actor` is a place for a number.
enum MainstayStatus mainstay_seat_actor_for_channel(const struct MainstaySeat *seat,
                                                    const struct MainstayChannel *channel,
                                                    uint64_t *actor);

// Why the last call that failed on this thread did: one that answered neither MAINSTAY_STATUS_OK nor MAINSTAY_STATUS_NOTHING.
//
// # Safety
// `out` is a place for an error.
enum MainstayStatus mainstay_last_error(struct MainstayError *out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MAINSTAY_PEER_H */
