"""The published tables of 21 November 2014, as an operator would have them in files."""

ATTACHES = """\
hour ending;2G attach requests (count)
08:00;738,279
09:00;14,053,511
10:00;24,395,071
11:00;24,663,454
12:00;17,360,687
"""
RATES_PER_S = (205.08, 3903.75, 6776.41, 6850.96, 4822.41)
"""The same per second, as published."""

PSP4 = """\
until   SLC 4 of STP 2 tx count   SLC 4 of STP 2 rx count
07:30   37,409    37,942
08:00   43,677    43,866
08:30   190,414   71,844
09:00   547,418   104,135
09:30   536,019   102,477
10:00   376,797   132,227
"""

DETACHES = """\
half-hour until,MS-initiated detaches per second,network-initiated detaches per second
06:30,136465,7400
07:00,149241,9557
07:30,165788,12630
08:00,179311,16963
08:30,125564,44759
09:00,112461,95299
09:30,240341,112461
10:00,288014,116298
10:30,203261,123300
11:00,67788,122945
"""
"""Headed "per second", as published; the numbers only fit counts per half-hour."""

ALARMS = """\
21.11.2014 08:13:14 STP-2 SLC-1 congested
21.11.2014 08:13:14 STP-2 SLC-2 congested
21.11.2014 08:13:14 STP-2 SLC-3 congested
21.11.2014 08:13:29 STP-2 SLC-4 congested
21.11.2014 08:18:47 STP-2 SLC-4 congestion cleared
21.11.2014 08:18:48 STP-2 SLC-4 congested
21.11.2014 08:23:00 STP-1 SLC-4 congested
21.11.2014 08:48:00 IMSIMGR CPU state warn
operator logged in at the console
"""
SUBSCRIBERS = 2_386_266
