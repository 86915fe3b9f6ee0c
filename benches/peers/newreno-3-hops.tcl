# One endless NewReno flow in packets of 1500 B, with an acknowledgement per packet.
source [file join [file dirname [info script]] three-hops.tcl]

set tcp [new Agent/TCP/Newreno]
# The header of 40 B comes on top, and nothing but the network limits the window.
$tcp set packetSize_ 1460
$tcp set window_ 1000000
set sink [new Agent/TCPSink]
$ns attach-agent $a $tcp
$ns attach-agent $d $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"

# Packets are numbered from 0, and `ack_` is the last that is acknowledged.
measure {expr {[$tcp set ack_] + 1}}
