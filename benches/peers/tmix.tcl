# Connection vectors in ns-2's own Tmix: ns tmix.tcl FILE SECONDS MBPS QUEUE
#
# Initiator - delay box - bottleneck - acceptor, 10 ms each way; what acceptors send waits in a queue of QUEUE packets (ns-2 lets
# one less wait). On standard error Tmix says what applications send and receive, and when; the last line is what the bottleneck
# carried. tests/test_tmix_ns2.py compares.
lassign $argv file seconds rate queue

remove-all-packet-headers
add-packet-header IP TCP
set ns [new Simulator]
$ns use-scheduler Heap
Agent/TCP set tcpTick_ 0.01
Agent/TCP set minrto_ 0.2
Agent/TCP set windowInit_ 2
# Slow start ends at the window; each connection then has its own.
Agent/TCP set window_ 10000
Agent/TCP/FullTcp set segsize_ 1460
Agent/TCP/FullTcp set nodelay_ true
Agent/TCP/FullTcp set segsperack_ 1

foreach name {initiator router acceptor} { set $name [$ns node] }
set box [$ns Tmix_DelayBox]
$box set-cvfile $file [$initiator id] [$acceptor id]
$box set-lossless
foreach {from to speed delay} "$initiator $box 1000 0ms $box $router $rate 10ms $router $acceptor 1000 0ms" {
    $ns duplex-link $from $to ${speed}Mb $delay DropTail
    $ns queue-limit $from $to 100000
    $ns queue-limit $to $from 100000
}
$ns queue-limit $router $box $queue
set monitor [$ns monitor-queue $router $box ""]

set tmix [new Tmix]
$tmix set-init $initiator
$tmix set-acc $acceptor
$tmix set-ID 7
$tmix set-cvfile $file
$tmix set-TCP Newreno
$tmix set-debug 4

proc report {} {
    global monitor
    puts "arrived [$monitor set parrivals_] dropped [$monitor set pdrops_] bytes [$monitor set bdepartures_]"
    exit 0
}
$ns at 0.0 "$tmix start"
$ns at $seconds report
$ns run
