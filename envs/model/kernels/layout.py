"""Where everything of a tile lies: names for rows of the blocks and for entries of the plan.

A *tile* is a fixed number of storms that are advanced together, innermost in every loop. All its numbers lie in
one float64 array: blocks of rows (one row per quantity, e.g. one per cohort, and one column per storm) and rings
(one or more rows per past or future step). The *plan* is the int64 table of offsets and counts that says what a
scenario has; it is the same for every storm of a batch.

A *cohort* is a class, an attempt number and the number of the send within the attempt (GPRS handsets repeat an
unanswered request). Cohorts are in order of the send, then the class, then the attempt: most storms never come to a
second send, so all cohorts in use lie in front. A *payload* is one number per cohort plus, last, the sum over its
requests of the step in which their handsets sent them, so that the mean age travels with the counts.
"""

# ruff: noqa: E501

# -- plan: scalars ---------------------------------------------------------------------------------------------
(
    P_COHORTS,  # cohorts in all, K
    P_ATTEMPTS,  # attempts of all classes together: as many cohorts for each send within an attempt
    P_CLASSES,  # subscriber classes, C
    P_SERVERS,  # servers with a queue
    P_END,  # last step of the horizon
    P_STOCHASTIC,  # 1: servers and Poisson arrivals draw; 0: exact means
    P_CHECK,  # 1: check conservation in every step; 2: also owners in queues against procedures
    P_CLOSED,  # 1: laboratory population, over when nobody is left
    P_PACED,  # 1: demand is paced, 0: Poisson
    P_SESSIONS,  # server whose own inflow are the create-session requests, -1: the accepts, -2: none
    P_CHURN,  # 1: some class power-cycles
    P_BIN,  # steps per bin of the peak counters
    P_RECORD,  # steps between two records, 0: none
    P_HEALTH,  # steps of unbroken health that make a storm over
    P_COUNT_FROM,  # step from which T counts
    P_TRIGGER,  # step of the trigger
    P_STEADY_FROM,  # first step of the window that gives the steady level
    P_EVENTS,  # rows of the event table
    P_LAST_EVENT,  # step after which no event is left
    P_KPI,  # offset: block of counters
    P_STORM,  # offset: block of per-storm scalars
    P_CLASS,  # offset: blocks of class parameters, one after another
    P_GATE,  # offset: queue block of the gate, -1: no gate
    P_GATE_RING,  # offset: ring of the gate's cumulative admissions
    P_GATE_LINES,  # offset: ring of lines: what one request taken into the gate in a step consisted of
    P_GATE_MASK,  # ring length - 1
    P_EVENT,  # offset: event table
    P_ARRIVE,  # offset: payload of this step's requests
    P_RELEASE,  # offset: where released requests go (first server's inflow or P_ACCEPT)
    P_ACCEPT,  # offset: payload of this step's completed attaches
    P_REFUSE,  # offset: payload of this step's refusals behind the gate
    P_GATE_OUT,  # offset: payload released, then payload expired
    P_FIRED_SHORT,  # offset: K rows, what the short wheel fires in this step
    P_FIRED_LONG,  # offset: C rows
    P_FINAL,  # offset: copies of the counters and queue blocks of storms that are over
    P_PROC,  # offset: K rows, stock in procedures
    P_SHORT,  # offset: ring of the short wheel, K rows per step
    P_SHORT_MASK,
    P_SHORT_LEVEL,  # offset: firing rates, then stocks
    P_SHORT_STOCK,
    P_SHORT_DEBT,  # scheduled so far less fired so far
    P_UNIFORM,  # 1: all storms of the batch have the same timers, so a timer's place on a ring is the same for all
    P_SCATTER,  # 1: some class has timers with a spread
    P_LONG,  # offset: ring of the long wheel, C rows per step
    P_LONG_MASK,
    P_LONG_LEVEL,
    P_LONG_STOCK,
    P_REGISTERED,  # offset: C rows
    P_IDLE,  # offset: C rows
    P_SCRATCH,  # offset: rows of scratch for draws
    P_RECORD_WIDTH,  # quantities in a record
    P_SIZE,  # float64 numbers per tile
    P_PROFILE_POINTS,  # points of the activity profile
    P_PROFILE,  # offset: steps of the points, then values [1/step] at the points
    P_FLAGGED,  # offset: one row per class, registered but to be confirmed
    P_DETACHED,  # offset: one row per class, whose refresh failed in this step
    P_PUT_OFF,  # offset: ring of the wheel of refreshes put off, C rows per step
    P_PUT_OFF_MASK,  # 0: refreshes are never put off
    P_PUT_OFF_LEVEL,
    P_PUT_OFF_STOCK,
    P_PUT_OFF_FIRED,  # offset: C rows, refreshes due in this step
    P_IMSIMGR,  # offset: block of the IMSI manager, -1: none
    P_ALARMS,  # offset: log of alarms
    P_LINKS,  # signalling links, 0: none
    P_LINKS_PER_STP,
    P_MESSAGES,  # kinds of message on the links, M
    P_ATTACH_MESSAGES,  # of which belong to an attach, first in order
    P_LINK,  # offset: banks of links, in each a row per quantity with a number per link and storm
    P_LINK_RING,  # offset: per bank a ring of each link's cumulative admissions
    P_LINK_SCRATCH,  # offset: per bank rows of scratch for draws, with a number per link and storm
    P_LINE_ROWS,  # rows of a line: a number per kind, then per kind of an attach the sum of the steps in which its handsets sent their requests, and of the squares
    P_LINK_LINES,  # offset: ring of lines: what one message taken in a step, by whichever link, consisted of
    P_LINK_MASK,
    P_LOST_RING,  # offset: ring of requests that will time out
    P_SEND,  # offset: rows of a line, to be sent in this step
    P_ANSWERED,  # offset: rows of a line, answered in time in this step
    P_FAILED,  # offset: one row per kind, timed out in this step
    P_POOL,  # offset: for each kind a payload, who waits at this message
    P_PARTS,  # offset: five rows per kind, what becomes of those who wait
    P_CLASS_TABLE,  # plan index of the class table
    P_SERVER_TABLE,  # plan index of the server table
    P_CORE,  # plan index of the table of the elements beyond the attach chain, see ``core_layout``
    P_YOUNGEST,  # [step] of the batch in which its youngest storm began; P_END counts from it
    P_COUNT,
) = range(84)

# -- plan: one entry per class ---------------------------------------------------------------------------------
(
    PC_FIRST,  # its first cohort
    PC_ATTEMPTS,  # attempt limit
    PC_LIMITED,  # 1: attempts are limited and the long timer follows; 0: the same cohort again
    PC_SENDS,  # requests within an attempt while no answer comes
    PC_GROUP,  # class of the scenario that it belongs to
    PC_PRIORITY,  # 1: passes beside the gate and is never barred
    PC_BROKEN,  # 1: the network refuses it whatever it does
    PC_COUNT,
) = range(8)

# -- plan: one entry per server --------------------------------------------------------------------------------
(
    PS_BLOCK,  # offset: queue block
    PS_INFLOW,  # offset: payload of this step's inflow
    PS_STAGES,  # transactions that use this server
    PS_WIDTH,  # rows of its payloads: stages * (K + 1)
    PS_RING,  # offset: ring of cumulative admissions
    PS_LINES,  # offset: ring of lines: what one entry admitted in a step consisted of
    PS_MASK,  # ring length - 1
    PS_DELAY,  # offset: ring of delayed answers (success payload, then failure payload); -1: none
    PS_DELAY_MASK,
    PS_OUT,  # offset: success payload, then failure payload
    PS_REPEATS,  # 1: requests are repeated while unanswered
    PS_LOST_RING,  # offset: ring of own requests lost at a full buffer
    PS_OWN_RING,  # offset: ring of the own share of each step's admissions
    PS_SERVED_RING,  # offset: ring of cumulative service
    PS_REPEAT_TO,  # server that receives the repeats, -1: they are only counted
    PS_ELEMENT,  # number of the element in draws
    PS_TO0,  # offset of the success destination of each stage (up to 4)
    PS_TO1,
    PS_TO2,
    PS_TO3,
    PS_FAIL,  # offset of the payload of those whose question failed
    PS_COUNT,
) = range(22)

# -- queue block: gate and servers -----------------------------------------------------------------------------
(
    Q_MEAN,  # [1/step] what it can serve now: the rate below times the share below
    Q_BASE,  # [1/step] rate with all its nodes
    Q_UP,  # share of it that is there: of the nodes that are left, 0 while it is stalled
    Q_GONE,  # [nodes] lost
    Q_CAPACITY,  # [entries] buffer
    Q_PATIENCE,  # [steps] age at which an entry times out, 0: no answer is ever in time
    Q_LATENCY,  # [steps] delay of an answer
    Q_REFUSES,  # 1: a full buffer refuses at once, 0: it says nothing
    Q_TIMER,  # [steps] the requester's own timer (patience + latency)
    Q_FOREIGN,  # [1/step] mean of foreign messages
    Q_REPEAT,  # [steps] between repeats of an unanswered request
    Q_REPEATS,  # at most so many repeats
    Q_ADMITTED_SUM,  # cumulative admissions, A
    Q_SERVED_SUM,  # cumulative service (purged entries included), D
    Q_DEADLINE,  # entries up to here have timed out, X
    Q_POINTER,  # [step] oldest step whose line may hold unserved entries
    Q_BURST,  # foreign messages waiting to arrive in the next step
    Q_LOST,  # own requests lost on the way in this step: repeated like those lost at a full buffer
    Q_DRAW,  # what can be served in this step
    Q_IN,  # offered in this step
    Q_FOREIGN_IN,  # of which foreign
    Q_LATER_IN,  # of which follow an answer that this server gave in the step before
    Q_LOW,  # first entry that was neither served nor timed out before this step
    Q_START,  # the same after ageing
    Q_NEXT,  # service reaches up to here
    Q_EXPIRED,  # timed out in this step
    Q_FRESH,  # served in time in this step
    Q_TAKEN,  # admitted in this step
    Q_PASS,  # admitted share of the other requests
    Q_PASS_LATER,  # admitted share of those
    Q_OVER,  # found the buffer full in this step
    Q_REPEATED,  # repeats in this step
    Q_SUM_OFFERED,
    Q_SUM_FRESH,
    Q_SUM_STALE,
    Q_SUM_EXPIRED,
    Q_SUM_OVER,
    Q_SUM_REPEATED,
    Q_PEAK,  # largest number of entries waiting
    Q_COUNT,
) = range(40)

# -- per-storm scalars -----------------------------------------------------------------------------------------
(
    S_SEED_LOW,
    S_SEED_HIGH,
    S_DEMAND,  # [1/step] arrivals of idle subscribers
    S_DEMAND_DRAW,  # drawn for this step
    S_DEMAND_FROM,  # [step]
    S_WAITING,  # idle subscribers before this step's demand
    S_GATE_ACTION,  # 0 drop, 1 reject with cause congestion, 2 reject with cause network failure
    S_T3346_LOW,  # [steps] back-off sent with cause congestion, 0: none
    S_T3346_HIGH,
    S_POPULATION,
    S_ACTIVITY,  # scale of the activity profile
    S_ANSWER_LOSS,  # share of answers lost on a congested link
    S_ALARMS,  # alarms logged so far
    S_SETTLED,  # 1: what the links share holds; 0: an alarm or a link has changed since
    S_FREE,  # links without alarm of the STP at hand
    S_UP,  # links in service of the STP at hand
    S_WORKING,  # links in service that are not dead, of the STP at hand
    S_LOSS,  # of which with the alarm up; share of the STP's answers that are lost
    S_STPS,  # STPs with a link in service
    S_TOTAL,  # messages sent in this step
    S_EXPIRED,  # messages that timed out in this step on any link
    S_FRESH,  # answered, of those queued in the step before
    S_FRESH_LOST,  # of which the answer was lost
    S_DISCARDED,  # messages discarded in this step
    S_SQUARES,  # sum of the squares of the steps in which this step's accepted handsets had sent
    S_ALARM,  # links whose congestion alarm is up
    S_BAND,  # [subscribers] allowed above the steady level
    S_YES,  # accepts of this step
    S_NO,  # refusals of this step
    S_LATE,  # accepts of this step that came too late
    S_AGE,  # [steps] mean age of this step's accepts
    S_SLOPE_FROM,  # [step] activity: the part of the profile on which the storm is
    S_SLOPE_TO,  # [step]
    S_SLOPE_LOW,  # [1/step] at its begin
    S_SLOPE_HIGH,  # [1/step] at its end
    S_SLOPE_NEXT,  # [step] from which on to look for the next part
    S_SENDS,  # sends within an attempt that any storm of the tile has come to; in the first column only
    S_OFFSET,  # [step] of the batch in which this storm began
    S_STEP,  # [step] of this storm: the batch's less the offset
    S_APART,  # 1: the storms of the tile began in different steps; in the first column only
    S_PUT_OFF,  # [steps] within which the refresh of a subscriber who has become active is put off
    S_COUNT,
) = range(42)

# -- class block -----------------------------------------------------------------------------------------------
(
    C_REFUSED_LOW,  # [steps] next try after a refusal
    C_REFUSED_HIGH,
    C_SILENT_LOW,  # [steps] next try after sending, when no answer came
    C_SILENT_HIGH,
    C_REFUSED_LONG_LOW,  # [steps] the same after the last attempt
    C_REFUSED_LONG_HIGH,
    C_RESEND_LOW,  # [steps] next send within the attempt, after sending
    C_RESEND_HIGH,
    C_SILENT_LONG_LOW,
    C_SILENT_LONG_HIGH,
    C_RESPONSE_LOW,  # [steps] an answer this old finds the handset gone
    C_RESPONSE_HIGH,
    C_RETRY_IS_RESPONSE,  # 1: the response timer is the retry timer (laboratory ladder)
    C_HONOURS,  # share that honours T3346
    C_CHURN,  # [1/step] power-cycles of a registered subscriber
    C_SIZE,
    C_POWER_SHARE,  # share that power-cycles rather than wait for the long timer
    C_POWER_LOW,  # [steps] after which they do
    C_POWER_HIGH,
    C_REATTACH,  # [steps] within which a detached subscriber attaches again
    C_SCATTER,  # [1/step] rate at which chance in timers evens out, 0: timers without a spread, no chance
    C_COUNT,
) = range(22)

# -- counters --------------------------------------------------------------------------------------------------
(
    K_ATTEMPTS,
    K_ADMITTED,
    K_SUCCESSES,
    K_REFUSED_CONGESTION,
    K_REFUSED_GATE_FAILURE,
    K_REFUSED_NETWORK,
    K_DROPPED,
    K_EXPIRED,
    K_LATE,
    K_OVERLOAD,  # lost before the gate by the IMSI manager
    K_REFRESHES,  # location refreshes begun
    K_REFRESHES_FAILED,
    K_DETACH_NETWORK,
    K_DETACH_SUBSCRIBER,
    K_SESSIONS,  # create-session requests, repeats included
    K_STEP_ATTEMPTS,
    K_STEP_ADMITTED,
    K_STEP_SESSIONS,
    K_BIN_ATTEMPTS,
    K_BIN_ADMITTED,
    K_BIN_SESSIONS,
    K_PEAK_ATTEMPTS,  # largest count in a bin
    K_PEAK_ADMITTED,
    K_PEAK_SESSIONS,
    K_SECOND_PEAK,  # largest count of attempts in a bin after T
    K_WITHOUT,  # subscribers without service now
    K_PEAK_WITHOUT,
    K_LOST,  # subscriber-steps without service
    K_STEADY_SUM,
    K_STEADY,
    K_T50,  # [step], -1: not yet
    K_T75,
    K_T95,
    K_T,
    K_STORMED,  # 1: health was lost
    K_HEALTHY_SINCE,  # [step], -1: unhealthy
    K_OVER,  # [step] after which nothing can happen, -1: not yet
    K_ERROR,  # largest relative conservation error seen
    K_COUNT,
) = range(39)

# -- event table -----------------------------------------------------------------------------------------------
(
    E_STEP,  # when (per storm)
    E_UNTIL,  # end of a ramp (per storm); the same step: a jump
    E_VALUE,  # new value, share, count (per storm)
    E_START,  # value at the start of the ramp
    E_EXTRA,  # spread [steps] of a mass detach
    E_KIND,  # same for all storms
    E_TARGET,  # server number or class number (-1: all)
    E_COUNT,
) = range(8)

(
    EVENT_RATE,
    EVENT_LATENCY,
    EVENT_FOREIGN,
    EVENT_BURST,
    EVENT_DETACH,
    EVENT_HLR_RESET,
    EVENT_LINK_RESET,
    EVENT_LINK_DOWN,
    EVENT_LINK_UP,
    EVENT_LINK_RATE,
    EVENT_ACTIVITY,
) = range(11)

# -- link block ------------------------------------------------------------------------------------------------
(
    L_MEAN,  # [1/step] what the STP takes
    L_WINDOW,  # [messages] receive buffer of the peer
    L_TRICKLE,  # [1/step] what a closed window still lets through: the peer keeps announcing small windows
    L_UPDATES,  # 1: the peer tells when its window opens; 0: only an expiry finds out
    L_SET,  # [messages] queue above which the link is congested (START)
    L_CLEAR,  # [messages] queue at or below which it is not (STOP)
    L_QUEUE,  # [messages] queue beyond which messages are discarded
    L_RTO_MIN,  # [steps]
    L_RTO_INITIAL,  # [steps]
    L_RTO_MAX,  # [steps]
    L_RETRANSMISSIONS,  # association fails beyond so many
    L_PATIENCE,  # [steps] MAP timer
    L_DOWN,  # 0 in service, 1 out of service, 2 dead but not yet found out
    L_ADMITTED,  # cumulative admissions, A
    L_SERVED,  # cumulative service by the STP, D
    L_DEADLINE,  # entries up to here have timed out, X
    L_POINTER,  # [step]
    L_PEER,  # [messages] in the peer's buffer
    L_STALLED,  # 1: window closed, waiting for an expiry or an update
    L_RTO,  # [steps] present RTO
    L_TIMER,  # [steps] until the next expiry
    L_EXPIRIES,  # expiries in a row without progress
    L_CONGESTED,  # 1: congestion alarm up
    L_SHARE,  # share of new messages that the link gets
    L_BACK,  # share of its STP's answers that come over the link
    L_LOSS,  # share of the answers to its messages that are lost
    L_IN,
    L_MARK,  # scratch: the state that the log of alarms is to say; how the storm's messages are to be found
    L_START,
    L_NEXT,
    L_EXPIRED,
    L_FRESH,
    L_DIRECT,  # answered, of those queued in the step before
    L_DIRECT_LOST,  # of which the answer was lost
    L_SUM_TX,
    L_SUM_RX,
    L_SUM_RX_BASE,  # service already answered
    L_SUM_LOST,
    L_SUM_STALE,
    L_SUM_FRESH,
    L_SUM_CONGESTED,  # steps with the alarm up
    L_SUM_STALLS,
    L_FLUSH,  # 1: empty the queue in this step
    L_HOLD,  # [steps] for which a link is free of congestion before the log of alarms says so
    L_CALM,  # [steps] for which it has been
    L_LOGGED,  # 1: up by the log
    L_OUT,  # 1: out of service by the log
    L_ACK_DELAY,  # [steps] for which the peer may hold an acknowledgement back
    L_TX_BEFORE,  # sent until the step before
    L_RESENT,  # cumulative resends of what had arrived
    L_COUNT,
) = range(51)

# -- block of the IMSI manager ---------------------------------------------------------------------------------
(
    I_BASE,  # [1/step] load without requests
    I_REQUEST,  # cost of a request
    I_REFUSAL,  # cost of a refusal
    I_DROP,  # cost of a drop
    I_CAPACITY,  # [1/step]
    I_SMOOTH,  # share of a new value in the smoothed one
    I_WARN,  # utilisation above which the state is warn
    I_OVER,
    I_REFUSALS,  # refusals of the step before
    I_DROPS,
    I_LOST,  # share of this step's requests that is lost
    I_UTILISATION,  # smoothed, 1: all of the capacity
    I_STATE,  # 0 normal, 1 warn, 2 over
    I_PEAK,
    I_EXTRA,  # work of this step beside requests
    I_ROOM,  # work that may wait
    I_BACKLOG,  # work that waits
    I_COUNT,
) = range(18)

LINK_ATTACH = 4
"""Messages of an attach over signalling links."""

ALARM_LOG = 256
"""Alarms kept per storm."""
(
    A_STEP,
    A_ELEMENT,  # link number, ALARM_DOWN + link number, or ALARM_IMSIMGR
    A_EDGE,  # 1 set, 0 cleared
    A_COUNT,
) = range(4)
ALARM_IMSIMGR = 1000
ALARM_DOWN = 10_000

# -- records ---------------------------------------------------------------------------------------------------
RECORD_COUNTERS = K_SESSIONS + 1
"""A record holds the first counters, then the number without service, then per queue: waiting, stale waiting, served in time, served stale, over."""
RECORD_PER_QUEUE = 5

GATE, DEMAND, TIMERS, REFRESH, LINKS = 1, 2, 3, 4, 1024
"""Numbers of elements in draws; servers follow from FIRST_SERVER."""
FIRST_SERVER = 8
SERVICE, FOREIGN, STREAMS = 0, 1, 64
"""Streams of an element, and how many it may have."""

DROP, REJECT_CONGESTION, REJECT_FAILURE = 0, 1, 2
"""Gate actions, as in S_GATE_ACTION."""

NEVER = 1e15
"""[steps] a time that does not come; [entries] a buffer without limit."""
