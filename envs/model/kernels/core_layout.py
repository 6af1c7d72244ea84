"""Where the elements beyond the attach chain lie: their part of the plan, and one block of rows per storm.

The kernel compiles them only for networks that have any of them (``core`` is not None), so they cost others nothing.
"""

# -- plan: core table, at plan[P_CORE] ---------------------------------------------------------------------------
(
    X_BLOCK,  # offset: core block
    X_DRA,  # 1: there is a Diameter agent
    X_PEERS,  # peers of the agent; the first is the own gateway
    X_PEER,  # offset: peer blocks, one after another
    X_GX,  # offset: payload on its way to the agent, Gx CCR-I
    X_GY,  # offset: the same, Gy
    X_GX_FAILED,  # offset: payload whose Gx question failed
    X_GY_FAILED,
    X_GX_NEXT,  # offset: where a request goes on without Gx
    X_GY_NEXT,
    X_PCRF,  # server number, -1: none
    X_OCS,
    X_MATE,
    X_DATABASE,
    X_MME,
    X_GATEWAY,
    X_OVER_RING,  # offset: two rings, cumulative losses at the full buffers of PCRF and OCS
    X_OVER_MASK,
    X_HELD,  # offset: one row per class, barred
    X_CHURN,  # offset: one row per class, power-cycles before the profile's factor [1/step]
    X_PROFILE,  # offset: steps of the points, then factors at the points
    X_POINTS,  # points of the profile, 0: none
    X_PRIORITY,  # 1: some class passes beside the gate
    X_ASIDE,  # offset: payload that passes beside the gate
    X_BROKEN,  # 1: some class is refused by the network whatever it does
    X_BROKEN_AT,  # offset: payload from which it is taken
    X_UNKNOWN,  # 1: the HLR asks about subscribers that the node does not know
    X_DDN,  # 1: downlink data notifications
    X_COUNT,
) = range(29)

# -- Gx and Gy messages at the agent -----------------------------------------------------------------------------
CCR_I, CCR_U, CCR_T, GY, MESSAGES = 0, 1, 2, 3, 4
"""Kinds of message, and how many there are; Gy is one kind."""
TOTAL, BUCKETS = 4, 5
"""The bucket of all kinds together, and how many buckets a peer has."""
BANDS = 5
"""Bands of the dynamic limit."""

# -- core block --------------------------------------------------------------------------------------------------
# Rows up to N_RECORDED go into a record.
N_CPU = 0  # session database, 1: all of it
N_THROTTLE = 1  # [percentage points] dynamic limit
N_PENDING_GX = 2  # transactions waiting for the policy server
N_PENDING_GY = 3
N_OFFERED = 4  # messages to the agent, cumulative
N_LIMITED = 5  # beyond a limit
N_BUSY_GX = 6  # Gx turned away because the agent was busy: rated capacity, pending limit, pool
N_BUSY_GY = 7
N_ENDINGS_LOST = 8  # CCR-T that did not get through: sessions that stay in the policy server
N_DEGRADED = 9  # sessions that went on without policy or charging
N_RETRIED = 10  # questions asked again at the mate
N_BROADCASTS = 11  # unknown-subscriber requests sent to all session managers
N_SINGLE = 12  # to one
N_UNKNOWN_DROPPED = 13
N_BROADCAST_ON = 14  # 1: broadcasting now
N_DDN_SENT = 15
N_DDN_DROPPED = 16
N_DDN_FACTOR = 17  # [percent] of low-priority notifications dropped now
N_HELD = 18  # subscribers barred
N_BARRED = 19  # share of the requests that are barred
N_MME_CPU = 20  # smoothed
N_BROKEN_REFUSED = 21
N_LOST_NODES = 22  # of all servers
N_RECORDED = 23
# Knobs and parameters of the agent.
N_PER_S = 23  # steps per second
N_ACTION = 24  # what happens to the excess: 0 drop, 1 3002, 2 3004, 3 5012
N_LIMIT = 25  # five rows: ingress limits of a peer per kind, then of all [1/step]
N_DEPTH = 30  # [messages] bucket depth, 0: one second of the limit
N_EGRESS = 31  # five rows: to the policy servers per kind (row of GY: to the OCS), then policy servers in all [1/step]
N_EGRESS_TOKENS = 36
N_RATED = 41  # [1/step]
N_RATED_TOKENS = 42
N_PCRF_PENDING = 43  # [transactions] pending limits and the pool
N_OCS_PENDING = 44
N_POOL = 45
N_UPDATES = 46  # [1/step] CCR-U per registered subscriber
N_ENDED = 47  # sessions that ended in this step
N_WRITE_U = 48  # writes per CCR-U
N_WRITE_T = 49
# Shares of the own gateway's questions in this step: passed, beyond a limit; the rest found the agent busy.
N_PASS_GX = 50
N_OVER_GX = 51
N_PASS_GY = 52
N_OVER_GY = 53
# Dynamic limit.
N_DYNAMIC = 54  # 1: on
N_BAND_FROM = 55  # five rows [share of the CPU]
N_BAND_POINTS = 60  # five rows [percentage points]
N_HOLD = 65  # [steps]
N_STEP = 66  # [percentage points]
N_CALM = 67  # [steps] below the lowest band, -1: not below
N_SAMPLE = 68  # [steps] between samples
N_CPU_BASE = 69
N_CPU_SERVED = 70  # writes served up to the last sample
N_CPU_PEAK = 71
N_THROTTLE_PEAK = 72
N_PENDING_PEAK = 73
# Failure handling: 0 terminate, 1 continue, 2 retry.
N_GX_ACTION = 74
N_GY_ACTION = 75
# Unknown-subscriber requests.
N_UNKNOWN = 76  # [1/step]
N_THRESHOLD = 77  # utilisation at which broadcasts stop; above 1: never
N_MANAGERS = 78  # session managers
N_BROADCAST_COST = 79  # work per session manager asked
N_BOOTED = 80  # [step] of the last start
# Downlink data notifications.
N_DDN = 81  # [1/step]
N_DDN_SURGE = 82  # of surges, in this step
N_UNKNOWN_BASE = 83  # [1/step] while no event says otherwise
N_DDN_LOW_SHARE = 84  # share above the watermark
N_DDN_LIMIT = 85  # [notifications] per window
N_DDN_WINDOW = 86  # [steps]
N_DDN_FIRST_FACTOR = 87  # [percent]
N_DDN_INCREMENT = 88
N_DDN_POLL = 89  # [steps]
N_DDN_TIME = 90  # [steps]
N_DDN_STABLE = 91  # [steps]
N_DDN_RELEASE_10 = 92  # 1: the MME says how much
N_DDN_DELAY = 93  # [steps]
N_DDN_OVERLOAD = 94  # utilisation of the MME
N_DDN_COST = 95  # messages at the MME per notification
N_DDN_IN_WINDOW = 96  # sent in this window
N_DDN_SINCE = 97  # [step] from which throttling is on, -1: off
N_DDN_SEEN = 98  # sent and dropped in this stabilisation period
N_DDN_POLLS = 99  # messages that polling cost
N_DDN_MANAGERS = 100
N_DDN_STARTS = 101  # times that throttling began
N_DDN_FACTOR_PEAK = 102
N_DDN_UNTIL = 103  # [step] end of a throttle asked for by the MME
# Barring, failure domains.
N_STAGES = 104  # stages of a release
N_STAGES_LEFT = 105
N_STAGE_NEXT = 106  # [step]
N_STAGE_STEPS = 107
N_STAGE_SPREAD = 108
N_RECOVERY = 109  # share of sessions that survive the loss of their node
N_DOMAINS = 110  # nodes among which subscribers and capacity are split
N_HELD_PEAK = 111
N_MME_SMOOTH = 112
N_MME_SERVED = 113  # served up to the step before
N_MME_PEAK = 114
N_THROTTLE_RISES = 115  # times that the dynamic limit became tighter
N_DONE_GX = 116  # cumulative transactions with the policy server that hold no slot any more
N_DONE_GY = 117
N_MME_LOAD = 118  # smoothed, before it is kept within 0 and 1
N_CPU_LUCK = 119  # [writes] mean less drawn capacity since the last sample, of steps that had work enough
N_CPU_BEFORE = 120  # writes served up to the step before
N_COUNT = 121

# -- peer block --------------------------------------------------------------------------------------------------
B_DYNAMIC = 0  # 1: the dynamic limit applies
B_MEAN = 1  # four rows: messages of its own [1/step]
B_BURST = 5  # four rows: messages of bursts, in this step
B_TOKENS = 9  # five rows
B_OTHER = 14  # four rows: messages of this step that belong to none of the subscribers counted here
B_OFFERED = 18  # four rows
B_PASSED = 22  # four rows
B_SUM_OFFERED = 26  # four rows
B_SUM_PASSED = 30  # four rows
B_COUNT = 34

# -- events, beyond those of ``layout`` --------------------------------------------------------------------------
(
    EVENT_PEER_BURST,
    EVENT_FLUSH,
    EVENT_SWITCH_ON,
    EVENT_STALL,
    EVENT_NODE_LOSS,
    EVENT_NODE_RESTART,
    EVENT_HOLD,
    EVENT_RELEASE,
    EVENT_UNKNOWN,
    EVENT_DDN,
    EVENT_REBOOT,
    EVENT_RECONNECT,
) = range(100, 112)
FIRST_CORE_EVENT = 100

PEERS, DDNS, UNKNOWNS = 40, 41, 42
"""Numbers of elements in draws."""
