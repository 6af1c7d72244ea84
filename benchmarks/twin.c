/* A plain C twin of the batch kernel, for the laboratory scenarios: the same arithmetic in the same order on the same
 * memory, so that speed can be compared with what a C compiler makes of it and results can be compared bit for bit.
 *
 * It covers what those scenarios use: one gate, servers with a single transaction, paced demand, laboratory ladder,
 * closed population, no timeline, no churn. layout.h holds the constants of envs/model/kernels/layout.py.
 * Compile with -ffp-contract=off: a fused multiply-add would round differently.
 */
#include <math.h>
#include <stdint.h>
#include "layout.h"

#ifndef T
#define T 32
#endif

typedef int64_t i64;
#define ROWS(offset) ((double (*)[T])(m + (offset)))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define EACH for (int b = 0; b < T; b++)

enum { D_MEAN, D_DRAW, D_PART, UNIFORM, TERM, CUMULATED };

static inline uint64_t mix_key(i64 step, i64 element)
{
    uint64_t z = (uint64_t)step * 0x9E3779B97F4A7C15u;
    z += (uint64_t)(element + 1) * 0xD1B54A32D192ED03u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint32_t hash_row(uint32_t low, uint32_t high, uint32_t key_low, uint32_t key_high)
{
    uint32_t h = low ^ key_low;
    h = (h ^ (h >> 16)) * 0x7FEB352Du;
    h = h + (high ^ key_high);
    h = (h ^ (h >> 15)) * 0x846CA68Bu;
    h = (h ^ (h >> 16)) * 0x9E485565u;
    return h ^ (h >> 15);
}

static inline double exp_minus(double x)
{
    double y = x * 0.125;
    double p = 1.0 - y / 9.0;
    p = 1.0 - p * y / 8.0;
    p = 1.0 - p * y / 7.0;
    p = 1.0 - p * y / 6.0;
    p = 1.0 - p * y / 5.0;
    p = 1.0 - p * y / 4.0;
    p = 1.0 - p * y / 3.0;
    p = 1.0 - p * y / 2.0;
    p = 1.0 - p * y;
    p *= p;
    p *= p;
    return p * p;
}

static void draw_poisson(double *restrict m, const i64 *plan, i64 step, i64 element)
{
    double (*d)[T] = ROWS(plan[P_SCRATCH]);
    double (*storm)[T] = ROWS(plan[P_STORM]);
    uint64_t key = mix_key(step, element);
    uint32_t key_low = (uint32_t)key, key_high = (uint32_t)(key >> 32);
    int small = 0, large = 0;
    EACH {
        uint32_t h = hash_row((uint32_t)storm[S_SEED_LOW][b], (uint32_t)storm[S_SEED_HIGH][b], key_low, key_high);
        int exact = d[D_MEAN][b] < 8.0;
        small += exact;
        large += !exact;
        d[UNIFORM][b] = ((double)h + 0.5) * 0x1p-32;
    }
    if (large)
        EACH {
            uint32_t h = (uint32_t)(d[UNIFORM][b] * 0x1p32 - 0.5);
            i64 total = (i64)(h & 255) + ((h >> 8) & 255) + ((h >> 16) & 255) + (h >> 24);
            double x = ((double)total - 510.0) * 0.006765875086793228;
            double z = x * (0.9490332780957845 + 0.018642382500609254 * x * x);
            double mean = MAX(d[D_MEAN][b], 8.0);
            double cube = 1.0 - 1.0 / (9.0 * mean) + z / (3.0 * sqrt(mean));
            cube = MAX(cube, 0.0);
            d[D_DRAW][b] = mean * cube * cube * cube;
        }
    if (small) {
        EACH {
            int exact = d[D_MEAN][b] < 8.0;
            double nothing = exp_minus(MIN(d[D_MEAN][b], 8.0));
            d[TERM][b] = nothing;
            d[CUMULATED][b] = exact ? nothing : 2.0;
            d[D_DRAW][b] = exact ? 0.0 : d[D_DRAW][b];
        }
        for (int n = 1; n < 64; n++) {
            int above = 0;
            double share = 1.0 / n;
            EACH {
                int more = d[UNIFORM][b] > d[CUMULATED][b];
                above += more;
                d[D_DRAW][b] += more ? 1.0 : 0.0;
                d[TERM][b] *= d[D_MEAN][b] * share;
                d[CUMULATED][b] += d[TERM][b];
            }
            if (!above)
                break;
        }
    }
}

static void advance(double *restrict m, i64 offset, i64 ring_offset, i64 mask, i64 step, int purging)
{
    double (*q)[T] = ROWS(offset);
    double (*ring)[T] = ROWS(ring_offset);
    EACH {
        i64 patience = (i64)q[Q_PATIENCE][b];
        i64 past = step - MAX(patience, 1);
        double aged = ring[past & mask][b];
        double older = purging ? aged : ring[(past - 1) & mask][b];
        q[Q_START][b] = q[Q_PATIENCE][b] > 0.0 ? 0.5 * (aged + older) : q[Q_ADMITTED_SUM][b];
    }
    EACH {
        double admitted = q[Q_ADMITTED_SUM][b], served = q[Q_SERVED_SUM][b];
        double low = MAX(served, q[Q_DEADLINE][b]);
        double deadline = MAX(q[Q_DEADLINE][b], q[Q_START][b]);
        double start = MAX(low, deadline);
        double head = purging ? start : served;
        double reached = MIN(head + q[Q_DRAW][b], admitted);
        double fresh = MAX(reached - start, 0.0);
        double room = MAX(q[Q_CAPACITY][b] - (admitted - reached), 0.0);
        double later = MIN(q[Q_LATER_IN][b], room);
        double others = q[Q_IN][b] - q[Q_LATER_IN][b];
        double first = MIN(others, room - later);
        double taken = later + first;
        double expired = start - low, over = q[Q_IN][b] - taken;
        q[Q_PASS][b] = others > 0.0 ? first / others : 1.0;
        q[Q_PASS_LATER][b] = q[Q_LATER_IN][b] > 0.0 ? later / q[Q_LATER_IN][b] : 1.0;
        q[Q_LOW][b] = low;
        q[Q_START][b] = start;
        q[Q_NEXT][b] = MAX(reached, start);
        q[Q_DEADLINE][b] = deadline;
        q[Q_SERVED_SUM][b] = reached;
        q[Q_ADMITTED_SUM][b] = admitted + taken;
        q[Q_EXPIRED][b] = expired;
        q[Q_FRESH][b] = fresh;
        q[Q_TAKEN][b] = taken;
        q[Q_OVER][b] = over;
        q[Q_SUM_OFFERED][b] += q[Q_IN][b];
        q[Q_SUM_EXPIRED][b] += expired;
        q[Q_SUM_FRESH][b] += fresh;
        q[Q_SUM_STALE][b] += reached - head - fresh;
        q[Q_SUM_OVER][b] += over;
        q[Q_PEAK][b] = MAX(q[Q_PEAK][b], admitted + taken - reached);
    }
    EACH ring[step & mask][b] = q[Q_ADMITTED_SUM][b];
}

static void collect(double *restrict m, i64 offset, i64 ring_offset, i64 lines_offset, i64 mask, i64 step, i64 payload,
                    i64 inflow_offset, i64 out_offset)
{
    double (*q)[T] = ROWS(offset);
    double (*ring)[T] = ROWS(ring_offset);
    double (*lines)[T] = ROWS(lines_offset);
    double (*inflow)[T] = ROWS(inflow_offset);
    double (*out)[T] = ROWS(out_offset);
    for (i64 k = 0; k < 2 * payload; k++)
        EACH out[k][b] = 0.0;
    EACH {
        double position = q[Q_LOW][b], start = q[Q_START][b], target = q[Q_NEXT][b];
        i64 pointer = MAX((i64)q[Q_POINTER][b], step - mask);
        while (position < target) {
            i64 slot = pointer & mask;
            double reached = MIN(ring[slot][b], target);
            if (reached > position) {
                double expired = MAX(MIN(reached, start) - position, 0.0);
                double fresh = MAX(reached - MAX(position, start), 0.0);
                for (i64 k = 0; k < payload; k++) {
                    double line = lines[slot * payload + k][b];
                    out[k][b] += fresh * line;
                    out[payload + k][b] += expired * line;
                }
                position = reached;
            }
            pointer += position < target;
        }
        q[Q_POINTER][b] = (double)(q[Q_ADMITTED_SUM][b] - q[Q_TAKEN][b] <= target ? step : pointer);
    }
    i64 first = (step & mask) * payload;
    for (i64 k = 0; k < payload; k++)
        EACH lines[first + k][b] = q[Q_TAKEN][b] > 0.0 ? inflow[k][b] * q[Q_PASS][b] / q[Q_TAKEN][b] : 0.0;
}

static inline void put_short(double *restrict m, const i64 *plan, int b, i64 lane, double n, i64 low, i64 high, i64 step)
{
    i64 lanes = plan[P_COHORTS], mask = plan[P_SHORT_MASK], end = plan[P_END];
    double (*ring)[T] = ROWS(plan[P_SHORT]);
    double (*stock)[T] = ROWS(plan[P_SHORT_STOCK]);
    stock[lane][b] += n;
    i64 first = step + MAX(low, 1);
    i64 last = MAX(step + high, first + 1);
    double rate = n / (double)(last - first);
    if (first <= end) {
        ring[(first & mask) * lanes + lane][b] += rate;
        if (last <= end)
            ring[(last & mask) * lanes + lane][b] -= rate;
    }
}

static inline double elapsed(double age, double low, double high)
{
    double share = age > low ? (age - low) / (high - low) : 0.0;
    return age >= high ? 1.0 : share;
}

static void silence(double *restrict m, const i64 *plan, i64 start, int gave_up, i64 step)
{
    i64 cohorts = plan[P_COHORTS];
    double (*payload)[T] = ROWS(start);
    double (*proc)[T] = ROWS(plan[P_PROC]);
    double (*storm)[T] = ROWS(plan[P_STORM]);
    EACH {
        double total = 0.0;
        for (i64 k = 0; k < cohorts; k++)
            total += payload[k][b];
        storm[S_AGE][b] = total > 0.0 ? rint((double)step - payload[cohorts][b] / total) : 0.0;
    }
    for (i64 c = 0; c < plan[P_CLASSES]; c++) {
        double (*p)[T] = ROWS(plan[P_CLASS] + c * C_COUNT * T);
        const i64 *entry = plan + plan[P_CLASS_TABLE] + c * PC_COUNT;
        for (i64 k = entry[PC_FIRST]; k < entry[PC_FIRST] + entry[PC_ATTEMPTS]; k++)
            EACH {
                double n = payload[k][b];
                i64 age = (i64)storm[S_AGE][b];
                if (n <= 0.0)
                    continue;
                proc[k][b] -= n;
                i64 low = (i64)p[C_SILENT_LOW][b] - age, high = (i64)p[C_SILENT_HIGH][b] - age;
                double past = low < 1 ? elapsed(1.0, (double)low, (double)high) : 0.0;
                if (gave_up && p[C_RETRY_IS_RESPONSE][b] > 0.0)
                    past = 1.0;
                if (past > 0.0)
                    put_short(m, plan, b, k, n * past, 1, 2, step);
                if (past < 1.0)
                    put_short(m, plan, b, k, n * (1.0 - past), low, high, step);
            }
    }
}

static void refuse(double *restrict m, const i64 *plan, i64 start, i64 step)
{
    double (*payload)[T] = ROWS(start);
    double (*proc)[T] = ROWS(plan[P_PROC]);
    for (i64 c = 0; c < plan[P_CLASSES]; c++) {
        double (*p)[T] = ROWS(plan[P_CLASS] + c * C_COUNT * T);
        const i64 *entry = plan + plan[P_CLASS_TABLE] + c * PC_COUNT;
        for (i64 k = entry[PC_FIRST]; k < entry[PC_FIRST] + entry[PC_ATTEMPTS]; k++)
            EACH {
                double n = payload[k][b];
                if (n <= 0.0)
                    continue;
                proc[k][b] -= n;
                put_short(m, plan, b, k, n, (i64)p[C_REFUSED_LOW][b], (i64)p[C_REFUSED_HIGH][b], step);
            }
    }
}

static void fire_long(double *restrict m, const i64 *plan, i64 step)
{
    i64 count = plan[P_CLASSES] * T;
    double *ring = m + plan[P_LONG] + (step & plan[P_LONG_MASK]) * count;
    double *level = m + plan[P_LONG_LEVEL], *stock = m + plan[P_LONG_STOCK], *fired = m + plan[P_FIRED_LONG];
    for (i64 i = 0; i < count; i++) {
        level[i] += ring[i];
        ring[i] = 0.0;
        double n = MIN(level[i], stock[i]);
        n = n >= 1e-12 ? n : 0.0;
        stock[i] -= n;
        fired[i] = n;
    }
}

static void fire_drawn(double *restrict m, const i64 *plan, i64 step)
{
    i64 cohorts = plan[P_COHORTS];
    double (*ring)[T] = ROWS(plan[P_SHORT] + (step & plan[P_SHORT_MASK]) * cohorts * T);
    double (*level)[T] = ROWS(plan[P_SHORT_LEVEL]);
    double (*stock)[T] = ROWS(plan[P_SHORT_STOCK]);
    double (*debt)[T] = ROWS(plan[P_SHORT_DEBT]);
    double (*fired)[T] = ROWS(plan[P_FIRED_SHORT]);
    double (*d)[T] = ROWS(plan[P_SCRATCH]);
    EACH {
        d[D_MEAN][b] = 0.0;
        d[D_PART][b] = 0.0;
    }
    for (i64 c = 0; c < plan[P_CLASSES]; c++) {
        double (*p)[T] = ROWS(plan[P_CLASS] + c * C_COUNT * T);
        const i64 *entry = plan + plan[P_CLASS_TABLE] + c * PC_COUNT;
        for (i64 k = entry[PC_FIRST]; k < entry[PC_FIRST] + entry[PC_ATTEMPTS]; k++)
            EACH {
                level[k][b] += ring[k][b];
                ring[k][b] = 0.0;
                double now = level[k][b];
                double share = now > 1e-12 ? now / MAX(stock[k][b] - debt[k][b], now) : 1.0;
                double evening = p[C_SCATTER][b] > 0.0 ? MAX(p[C_SCATTER][b], share) : 0.0;
                double n = MAX(now + evening * debt[k][b], 0.0);
                n = MIN(n, stock[k][b]);
                fired[k][b] = n;
                d[D_MEAN][b] += p[C_SCATTER][b] > 0.0 ? n : 0.0;
                d[D_PART][b] += p[C_SCATTER][b] > 0.0 ? stock[k][b] : 0.0;
            }
    }
    EACH d[D_MEAN][b] = d[D_PART][b] >= 1.0 ? d[D_MEAN][b] : 0.0;
    draw_poisson(m, plan, step, TIMERS * STREAMS + SERVICE);
    for (i64 c = 0; c < plan[P_CLASSES]; c++) {
        double (*p)[T] = ROWS(plan[P_CLASS] + c * C_COUNT * T);
        const i64 *entry = plan + plan[P_CLASS_TABLE] + c * PC_COUNT;
        for (i64 k = entry[PC_FIRST]; k < entry[PC_FIRST] + entry[PC_ATTEMPTS]; k++)
            EACH {
                int drawn = (p[C_SCATTER][b] > 0.0) & (d[D_MEAN][b] > 0.0);
                double part = drawn ? d[D_DRAW][b] / d[D_MEAN][b] : 1.0;
                double n = MIN(fired[k][b] * part, stock[k][b]);
                n = n >= 1e-12 ? n : 0.0;
                debt[k][b] += level[k][b] - n;
                stock[k][b] -= n;
                fired[k][b] = n;
            }
    }
}

static void request(double *restrict m, const i64 *plan, i64 step)
{
    i64 cohorts = plan[P_COHORTS], classes = plan[P_CLASSES];
    double (*kpi)[T] = ROWS(plan[P_KPI]);
    double (*storm)[T] = ROWS(plan[P_STORM]);
    double (*arrive)[T] = ROWS(plan[P_ARRIVE]);
    double (*shorts)[T] = ROWS(plan[P_FIRED_SHORT]);
    double (*longs)[T] = ROWS(plan[P_FIRED_LONG]);
    double (*idle)[T] = ROWS(plan[P_IDLE]);
    double (*proc)[T] = ROWS(plan[P_PROC]);
    fire_drawn(m, plan, step);
    fire_long(m, plan, step);
    for (i64 k = 0; k < cohorts; k++)
        EACH arrive[k][b] = shorts[k][b];
    EACH {
        storm[S_DEMAND_DRAW][b] = (double)step >= storm[S_DEMAND_FROM][b] ? storm[S_DEMAND][b] : 0.0;
        storm[S_WAITING][b] = idle[0][b];
    }
    for (i64 c = 1; c < classes; c++)
        EACH storm[S_WAITING][b] += idle[c][b];
    for (i64 c = 0; c < classes; c++) {
        i64 first = plan[plan[P_CLASS_TABLE] + c * PC_COUNT + PC_FIRST];
        EACH {
            double switched = MIN(storm[S_DEMAND_DRAW][b], storm[S_WAITING][b]);
            double part = switched > 0.0 ? switched / storm[S_WAITING][b] : 0.0;
            double on = part * idle[c][b];
            idle[c][b] = part < 1.0 ? idle[c][b] - on : 0.0;
            arrive[first][b] += longs[c][b] + on;
        }
    }
    EACH kpi[K_STEP_ATTEMPTS][b] = 0.0;
    for (i64 k = 0; k < cohorts; k++)
        EACH {
            kpi[K_STEP_ATTEMPTS][b] += arrive[k][b];
            proc[k][b] += arrive[k][b];
        }
    EACH arrive[cohorts][b] = kpi[K_STEP_ATTEMPTS][b] * (double)step;
}

static void pace(double *restrict m, const i64 *plan, i64 step)
{
    i64 share = plan[P_COHORTS] + 1;
    double (*kpi)[T] = ROWS(plan[P_KPI]);
    double (*q)[T] = ROWS(plan[P_GATE]);
    double (*storm)[T] = ROWS(plan[P_STORM]);
    double (*arrive)[T] = ROWS(plan[P_ARRIVE]);
    double (*out)[T] = ROWS(plan[P_GATE_OUT]);
    double (*to)[T] = ROWS(plan[P_RELEASE]);
    double (*d)[T] = ROWS(plan[P_SCRATCH]);
    EACH {
        q[Q_IN][b] = kpi[K_STEP_ATTEMPTS][b];
        q[Q_DRAW][b] = q[Q_MEAN][b];
    }
    advance(m, plan[P_GATE], plan[P_GATE_RING], plan[P_GATE_MASK], step, 1);
    collect(m, plan[P_GATE], plan[P_GATE_RING], plan[P_GATE_LINES], plan[P_GATE_MASK], step, share, plan[P_ARRIVE],
            plan[P_GATE_OUT]);
    int expired = 0, over = 0;
    EACH {
        kpi[K_STEP_ADMITTED][b] = q[Q_FRESH][b];
        kpi[K_EXPIRED][b] += q[Q_EXPIRED][b];
        expired += q[Q_EXPIRED][b] > 0.0;
        over += q[Q_OVER][b] > 0.0;
    }
    for (i64 k = 0; k < share; k++)
        EACH to[k][b] += out[k][b];
    if (expired)
        silence(m, plan, plan[P_GATE_OUT] + share * T, 0, step);
    if (over)
        for (int action = DROP; action <= REJECT_FAILURE; action++) {
            int any = 0;
            EACH {
                int concerned = (q[Q_OVER][b] > 0.0) & (storm[S_GATE_ACTION][b] == action);
                d[D_PART][b] = concerned ? q[Q_OVER][b] / q[Q_IN][b] : 0.0;
                any += concerned;
            }
            if (!any)
                continue;
            for (i64 k = 0; k < share; k++)
                EACH out[k][b] = arrive[k][b] * d[D_PART][b];
            int counter = action == DROP ? K_DROPPED : action == REJECT_FAILURE ? K_REFUSED_GATE_FAILURE : K_REFUSED_CONGESTION;
            EACH {
                double sum = 0.0;
                for (i64 k = 0; k < share - 1; k++)
                    sum += out[k][b];
                kpi[counter][b] += sum;
            }
            if (action == DROP)
                silence(m, plan, plan[P_GATE_OUT], 0, step);
            else
                refuse(m, plan, plan[P_GATE_OUT], step);
        }
}

static void serve(double *restrict m, const i64 *plan, i64 server, i64 step)
{
    const i64 *e = plan + plan[P_SERVER_TABLE] + server * PS_COUNT;
    i64 cohorts = plan[P_COHORTS], payload = e[PS_WIDTH], mask = e[PS_MASK], delay_mask = e[PS_DELAY_MASK];
    double (*q)[T] = ROWS(e[PS_BLOCK]);
    double (*kpi)[T] = ROWS(plan[P_KPI]);
    double (*d)[T] = ROWS(plan[P_SCRATCH]);
    double (*inflow)[T] = ROWS(e[PS_INFLOW]);
    double (*out)[T] = ROWS(e[PS_OUT]);
    double (*fail)[T] = ROWS(plan[P_REFUSE]);
    EACH {
        q[Q_FOREIGN_IN][b] = 0.0;
        q[Q_IN][b] = 0.0;
        q[Q_LATER_IN][b] = 0.0;
    }
    for (i64 k = 0; k < cohorts; k++)
        EACH q[Q_IN][b] += inflow[k][b];
    EACH {
        kpi[K_STEP_SESSIONS][b] += server == plan[P_SESSIONS] ? q[Q_IN][b] : 0.0;
        q[Q_FOREIGN_IN][b] += q[Q_BURST][b];
        q[Q_BURST][b] = 0.0;
        q[Q_IN][b] += q[Q_FOREIGN_IN][b];
        d[D_MEAN][b] = q[Q_MEAN][b];
    }
    draw_poisson(m, plan, step, (FIRST_SERVER + e[PS_ELEMENT]) * STREAMS + SERVICE);
    EACH q[Q_DRAW][b] = d[D_DRAW][b];
    advance(m, e[PS_BLOCK], e[PS_RING], mask, step, 0);
    double (*own)[T] = ROWS(e[PS_OWN_RING]);
    double (*lost_ring)[T] = ROWS(e[PS_LOST_RING]);
    double (*served)[T] = ROWS(e[PS_SERVED_RING]);
    i64 now = step & mask;
    EACH {
        double foreign = q[Q_IN][b] > 0.0 ? q[Q_FOREIGN_IN][b] / q[Q_IN][b] : 0.0;
        own[now][b] = 1.0 - foreign;
        lost_ring[now][b] = q[Q_OVER][b] * (1.0 - q[Q_REFUSES][b]) * (1.0 - foreign);
        served[now][b] = q[Q_SERVED_SUM][b];
        q[Q_REPEATED][b] = 0.0;
    }
    collect(m, e[PS_BLOCK], e[PS_RING], e[PS_LINES], mask, step, payload, e[PS_INFLOW], e[PS_OUT]);
    int over = 0, refused = 0;
    EACH {
        over += q[Q_OVER][b] > 0.0;
        refused += (q[Q_OVER][b] > 0.0) & (q[Q_REFUSES][b] > 0.0);
    }
    if (over)
        for (i64 k = 0; k < payload; k++)
            EACH inflow[k][b] *= 1.0 - q[Q_PASS][b];
    if (e[PS_DELAY] >= 0) {
        double (*delay)[T] = ROWS(e[PS_DELAY]);
        EACH {
            i64 answer = ((step + (i64)q[Q_LATENCY][b]) & delay_mask) * 2 * payload;
            i64 failure = ((step + (i64)(q[Q_TIMER][b] - q[Q_PATIENCE][b])) & delay_mask) * 2 * payload + payload;
            for (i64 k = 0; k < payload; k++) {
                delay[answer + k][b] += out[k][b];
                delay[failure + k][b] += out[payload + k][b];
            }
        }
        if (over > refused)
            EACH {
                i64 failure = ((step + (i64)q[Q_TIMER][b]) & delay_mask) * 2 * payload + payload;
                for (i64 k = 0; k < payload; k++)
                    delay[failure + k][b] += (1.0 - q[Q_REFUSES][b]) * inflow[k][b];
            }
        i64 due = (step & delay_mask) * 2 * payload;
        for (i64 k = 0; k < 2 * payload; k++)
            EACH {
                out[k][b] = delay[due + k][b];
                delay[due + k][b] = 0.0;
            }
    }
    if (refused)
        for (i64 k = 0; k < payload; k++)
            EACH fail[k][b] += q[Q_REFUSES][b] * inflow[k][b];
    double (*to)[T] = ROWS(e[PS_TO0]);
    for (i64 k = 0; k < payload; k++)
        EACH inflow[k][b] = 0.0;
    for (i64 k = 0; k < payload; k++)
        EACH {
            to[k][b] += out[k][b];
            fail[k][b] += out[payload + k][b];
        }
}

static void conclude(double *restrict m, const i64 *plan, i64 step)
{
    i64 cohorts = plan[P_COHORTS];
    double (*kpi)[T] = ROWS(plan[P_KPI]);
    double (*storm)[T] = ROWS(plan[P_STORM]);
    double (*accepted)[T] = ROWS(plan[P_ACCEPT]);
    double (*refused)[T] = ROWS(plan[P_REFUSE]);
    double (*registered)[T] = ROWS(plan[P_REGISTERED]);
    double (*proc)[T] = ROWS(plan[P_PROC]);
    int yes = 0, no = 0, late = 0;
    EACH {
        storm[S_YES][b] = 0.0;
        storm[S_NO][b] = 0.0;
    }
    for (i64 k = 0; k < cohorts; k++)
        EACH {
            storm[S_YES][b] += accepted[k][b];
            storm[S_NO][b] += refused[k][b];
        }
    EACH {
        yes += storm[S_YES][b] > 0.0;
        no += storm[S_NO][b] > 0.0;
        kpi[K_REFUSED_NETWORK][b] += storm[S_NO][b];
        kpi[K_STEP_SESSIONS][b] += plan[P_SESSIONS] == -1 ? storm[S_YES][b] : 0.0;
    }
    if (yes) {
        EACH {
            storm[S_AGE][b] = storm[S_YES][b] > 0.0 ? (double)step - accepted[cohorts][b] / storm[S_YES][b] : 0.0;
            storm[S_LATE][b] = 0.0;
        }
        for (i64 c = 0; c < plan[P_CLASSES]; c++) {
            double (*p)[T] = ROWS(plan[P_CLASS] + c * C_COUNT * T);
            const i64 *entry = plan + plan[P_CLASS_TABLE] + c * PC_COUNT;
            for (i64 k = entry[PC_FIRST]; k < entry[PC_FIRST] + entry[PC_ATTEMPTS]; k++)
                EACH {
                    double gone = elapsed(storm[S_AGE][b], p[C_RESPONSE_LOW][b], p[C_RESPONSE_HIGH][b]);
                    double served = accepted[k][b] * (1.0 - gone);
                    double rest = accepted[k][b] - served;
                    registered[c][b] += served;
                    proc[k][b] -= served;
                    kpi[K_SUCCESSES][b] += served;
                    accepted[k][b] = rest;
                    storm[S_LATE][b] += rest;
                }
        }
        EACH {
            late += storm[S_LATE][b] > 0.0;
            kpi[K_LATE][b] += storm[S_LATE][b];
            accepted[cohorts][b] = storm[S_LATE][b] * ((double)step - storm[S_AGE][b]);
        }
        if (late)
            silence(m, plan, plan[P_ACCEPT], 1, step);
    }
    if (no)
        refuse(m, plan, plan[P_REFUSE], step);
    for (i64 k = 0; k <= cohorts; k++)
        EACH {
            accepted[k][b] = 0.0;
            refused[k][b] = 0.0;
        }
}

static void copy(double *restrict m, i64 source, i64 target, i64 rows, int b)
{
    for (i64 row = 0; row < rows; row++)
        ROWS(target)[row][b] = ROWS(source)[row][b];
}

static void count(double *restrict m, const i64 *plan, i64 step)
{
    double (*k)[T] = ROWS(plan[P_KPI]);
    double (*storm)[T] = ROWS(plan[P_STORM]);
    double (*registered)[T] = ROWS(plan[P_REGISTERED]);
    EACH k[K_WITHOUT][b] = registered[0][b];
    for (i64 c = 1; c < plan[P_CLASSES]; c++)
        EACH k[K_WITHOUT][b] += registered[c][b];
    EACH k[K_WITHOUT][b] = storm[S_POPULATION][b] - k[K_WITHOUT][b];
    EACH {
        k[K_ATTEMPTS][b] += k[K_STEP_ATTEMPTS][b];
        k[K_ADMITTED][b] += k[K_STEP_ADMITTED][b];
        k[K_SESSIONS][b] += k[K_STEP_SESSIONS][b];
        k[K_BIN_ATTEMPTS][b] += k[K_STEP_ATTEMPTS][b];
        k[K_BIN_ADMITTED][b] += k[K_STEP_ADMITTED][b];
        k[K_BIN_SESSIONS][b] += k[K_STEP_SESSIONS][b];
        k[K_STEP_SESSIONS][b] = 0.0;
        k[K_LOST][b] += k[K_WITHOUT][b];
    }
    if ((step + 1) % plan[P_BIN] == 0)
        EACH {
            k[K_PEAK_ATTEMPTS][b] = MAX(k[K_PEAK_ATTEMPTS][b], k[K_BIN_ATTEMPTS][b]);
            k[K_PEAK_ADMITTED][b] = MAX(k[K_PEAK_ADMITTED][b], k[K_BIN_ADMITTED][b]);
            k[K_PEAK_SESSIONS][b] = MAX(k[K_PEAK_SESSIONS][b], k[K_BIN_SESSIONS][b]);
            double later = k[K_T][b] >= 0.0 ? k[K_BIN_ATTEMPTS][b] : 0.0;
            k[K_SECOND_PEAK][b] = MAX(k[K_SECOND_PEAK][b], later);
            k[K_BIN_ATTEMPTS][b] = 0.0;
            k[K_BIN_ADMITTED][b] = 0.0;
            k[K_BIN_SESSIONS][b] = 0.0;
        }
    EACH if (k[K_OVER][b] < 0.0) {
        double without = k[K_WITHOUT][b];
        if (without >= k[K_PEAK_WITHOUT][b]) {
            k[K_PEAK_WITHOUT][b] = without;
            k[K_T50][b] = k[K_T75][b] = k[K_T95][b] = -1.0;
        } else {
            if (k[K_T50][b] < 0.0 && without <= 0.5 * k[K_PEAK_WITHOUT][b])
                k[K_T50][b] = (double)step;
            if (k[K_T75][b] < 0.0 && without <= 0.25 * k[K_PEAK_WITHOUT][b])
                k[K_T75][b] = (double)step;
            if (k[K_T95][b] < 0.0 && without <= 0.05 * k[K_PEAK_WITHOUT][b])
                k[K_T95][b] = (double)step;
        }
        k[K_STORMED][b] = 1.0;
        if (k[K_T][b] < 0.0 && without < 0.5)
            k[K_T][b] = (double)step;
        if (without < 1e-6 && k[K_T][b] >= 0.0 && step > plan[P_LAST_EVENT]) {
            k[K_OVER][b] = (double)step;
            i64 final = plan[P_FINAL];
            copy(m, plan[P_KPI], final, K_COUNT, b);
            final += K_COUNT * T;
            copy(m, plan[P_GATE], final, Q_COUNT, b);
            for (i64 server = 0; server < plan[P_SERVERS]; server++) {
                final += Q_COUNT * T;
                copy(m, plan[plan[P_SERVER_TABLE] + server * PS_COUNT + PS_BLOCK], final, Q_COUNT, b);
            }
        }
    }
}

/* Advance the tile at `m` by `steps` steps from step `first` on. */
void run(double *restrict m, const i64 *plan, i64 first, i64 steps)
{
    for (i64 step = first; step < first + steps; step++) {
        if ((step - first) % 64 == 0) {
            int over = 0;
            EACH over += ROWS(plan[P_KPI])[K_OVER][b] >= 0.0;
            if (over == T)
                return;
        }
        request(m, plan, step);
        pace(m, plan, step);
        for (i64 server = 0; server < plan[P_SERVERS]; server++)
            serve(m, plan, server, step);
        conclude(m, plan, step);
        count(m, plan, step);
    }
}
