# What both ns-2 scenarios share: three hops there and three back, 100 Mbit/s and 100 packets each, 20 ms for a round trip.
# As `three_hops` of src/main.rs. Nothing is traced, and packets carry the headers that are needed and no other.

remove-all-packet-headers
add-packet-header Flags IP TCP RTP

set ns [new Simulator]
foreach name {a b c d} { set $name [$ns node] }
foreach {from to delay} {a b 3ms b c 3ms c d 4ms} {
    $ns duplex-link [set $from] [set $to] 100Mb $delay DropTail
    $ns queue-limit [set $from] [set $to] 100
    $ns queue-limit [set $to] [set $from] 100
}

# Nanoseconds that this process has had of a processor.
proc processor_time {} {
    set file [open /proc/self/schedstat]
    set time [lindex [gets $file] 0]
    close $file
    return $time
}

# Runs 100 s and prints, for benches/src/peers.rs, the packets that `count` makes of it and the seconds of processor time.
proc measure {count} {
    global ns
    $ns at 100.0 "$ns halt"
    set before [processor_time]
    $ns run
    set seconds [expr {([processor_time] - $before) / 1e9}]
    puts "[uplevel #0 $count] $seconds"
}
