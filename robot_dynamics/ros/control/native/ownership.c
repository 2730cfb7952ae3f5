/* See ownership.h. */
#include "ownership.h"

static const int64_t PAUSE = 500000000;         /* a longer one between two looks: the process stood still [ns] */
static const int64_t AFTER_PAUSE = 1000000000;  /* so long after a pause another sender has the better right [ns] */
static const int64_t EPISODE = 1000000000;      /* silence of others after which they begin anew [ns] */
static const int64_t NEW = 5000000000;          /* so long a node that was activated is a newcomer [ns] */
/* Duration of the efforts of others after which a node yields: a newcomer before one that has been active for longer,
 * and of equals the one with the greater identity [ns]. */
static const int64_t YIELD[2][2] = {{500000000, 0}, {100000000, 300000000}}; /* [newcomer][smaller identity]; 0: never */
static const int64_t DISPUTE = 700000000;       /* duration after which the other will not yield [ns] */

void rd_host_identify(rd_host *host, const uint8_t *own)
{
    memcpy(host->ownership.own, own, RD_SENDER_BYTES);
}

void rd_host_claim(rd_host *host, int64_t steady)
{
    rd_ownership *ownership = &host->ownership;
    pthread_mutex_lock(&host->guard.lock);
    ownership->right = RD_OWNS;
    ownership->paused = ownership->newcomer = 0;
    ownership->claimed = steady;
    ownership->imposed = 0;
    ownership->began = ownership->last = RD_NO_EPOCH;
    ownership->resumed = RD_NO_EPOCH;
    pthread_mutex_unlock(&host->guard.lock);
}

void rd_host_alive(rd_host *host, int64_t steady)
{
    rd_ownership *ownership = &host->ownership;
    if (ownership->looked != RD_NO_EPOCH && steady - ownership->looked > PAUSE) {
        ownership->resumed = steady;
    }
    ownership->looked = steady;
}

/* Fall silent: no effort, no brake command and no fail-safe output leaves any more. */
static void yield_to_others(rd_host *host)
{
    host->loop.active = 0;
    host->loop.ending = RD_GOES_ON;
    host->loop.safe = NULL;
    host->guard.messages = NULL;
}

void rd_host_heard(rd_host *host, const uint8_t *sender, int64_t steady)
{
    rd_ownership *ownership = &host->ownership;
    pthread_mutex_lock(&host->guard.lock);
    ownership->efforts += 1;
    if (ownership->last == RD_NO_EPOCH || steady - ownership->last > EPISODE) {
        ownership->began = steady;
        ownership->right = ownership->right == RD_DISPUTED ? RD_OWNS : ownership->right;
    }
    ownership->last = steady;
    memcpy(ownership->sender, sender, RD_SENDER_BYTES);
    if (host->loop.active && ownership->right != RD_YIELDED) {
        const int paused = ownership->resumed != RD_NO_EPOCH && steady - ownership->resumed < AFTER_PAUSE;
        const int64_t lasted = steady - ownership->began;
        const int newcomer = steady - ownership->claimed < NEW;
        const int smaller = memcmp(ownership->own, sender, RD_SENDER_BYTES) < 0;
        const int brakes = atomic_load(&ownership->brake) >= 0;
        /* A reset does not end a dispute that goes on. */
        const int reset = !brakes && host->loop.session && !host->loop.session->core->trip.latched;
        const int goes_on = lasted >= DISPUTE && (ownership->right != RD_DISPUTED || reset);
        const int yields = lasted >= YIELD[newcomer][smaller] && (newcomer || !smaller);
        if (paused || yields) {
            ownership->right = RD_YIELDED;
            ownership->paused = paused;
            ownership->newcomer = newcomer && !paused;
            yield_to_others(host);
        } else if (goes_on) {
            ownership->right = RD_DISPUTED;
            ownership->disputes += 1;
            if (!brakes && host->loop.session) {
                rd_core_protect(host->loop.session->core, RD_DISPUTE);
            }
        }
    }
    pthread_mutex_unlock(&host->guard.lock);
}

static int speaks(const rd_host *host)
{
    return host->loop.active || host->loop.safe;
}

/* True if the brakes shall be engaged: also where nobody controls, but not before a robot that halts has come to rest. */
static int engaged(const rd_host *host)
{
    const rd_ownership *ownership = &host->ownership;
    const int asked = atomic_load(&ownership->brake), ending = host->loop.ending;
    const int front = ending == RD_COMES_TO_REST ? ownership->brake_kept || asked == 2 : asked || ending;
    return front || ownership->imposed || !host->loop.active || host->loop.safe;
}

void rd_host_heard_brake(rd_host *host, int engage)
{
    rd_ownership *ownership = &host->ownership;
    if (atomic_load(&ownership->brake) < 0 || !speaks(host) || engage == engaged(host)) {
        return;
    }
    if (engage) {
        /* Releasing brakes that somebody engages would be a quarrel: they stay engaged until the front has stopped the
         * robot and releases them again. */
        ownership->imposed = 1;
        atomic_fetch_add(&ownership->braked, 1);
    } else {
        atomic_fetch_add(&ownership->released, 1);
    }
    ownership->brake_sent = -1; /* send this node's own command at once */
}

void rd_host_brake(rd_host *host, int engage)
{
    atomic_store(&host->ownership.brake, engage);
}

int rd_host_brake_command(rd_host *host, int64_t steady)
{
    rd_ownership *ownership = &host->ownership;
    const int brake = atomic_load(&ownership->brake);
    if (brake < 0) {
        return -1;
    }
    if (!host->loop.ending) {
        ownership->brake_kept = brake;
    }
    if (brake && ownership->imposed) {
        ownership->imposed = 2;                 /* the front keeps them engaged by itself */
    } else if (!brake && ownership->imposed == 2) {
        ownership->imposed = 0;
    }
    if (!speaks(host)) {
        /* The last command is to engage; who yields leaves it to the owner. */
        const int last = ownership->spoke && ownership->right != RD_YIELDED;
        ownership->spoke = 0;
        ownership->brake_sent = -1;
        return last ? 1 : -1;
    }
    const int command = engaged(host);
    if (ownership->spoke && command == ownership->brake_sent && steady - ownership->brake_at < RD_REPEAT_BRAKE) {
        return -1;
    }
    ownership->spoke = 1;
    ownership->brake_sent = command;
    ownership->brake_at = steady;
    return command;
}

void rd_host_others(rd_host *host, rd_others *others)
{
    rd_ownership *ownership = &host->ownership;
    pthread_mutex_lock(&host->guard.lock);
    *others = (rd_others){
        .efforts = ownership->efforts,
        .disputes = ownership->disputes,
        .last = ownership->last,
        .right = ownership->right,
        .paused = ownership->paused,
        .newcomer = ownership->newcomer,
        .braked = atomic_load(&ownership->braked),
        .released = atomic_load(&ownership->released),
    };
    memcpy(others->sender, ownership->sender, RD_SENDER_BYTES);
    pthread_mutex_unlock(&host->guard.lock);
}
